/* Machine code as text: the instruction at the sampled address, and the blocks of code between the branches of a branch stack.
 *
 *	from 3 → to 3 ═══ from 2 → to 2 ═══ from 1 → to 1 ═══ sampled address          oldest branch first
 *	         block            block            last block
 */
#include "analysis/script/internal.h"

#include "analysis/branch_counters.h"
#include "base/text.h"
#include "symbol/code/code_file.h"
#include "symbol/code/disasm.h"

#include <string.h>

enum { BLOCK_MAX = 16384, INSTRUCTION_MAX = 16, MISSED_JUMP = 128 };

/* The code of files, and how to take it apart: one for each thread that prints. */
struct script_code {
	struct map64 files; /* by dso: struct code_file *, or NO_CODE */
	struct disasm *disasm;
	bool no_disasm;
};

static const char NO_CODE;

void script_code_destroy(struct script_code *code)
{
	if (!code)
		return;
	map64_each (slot, &code->files)
		if (map64_pointer(slot) != &NO_CODE)
			code_file_close(map64_pointer(slot));
	map64_deinit(&code->files);
	disasm_close(code->disasm);
	free(code);
}

/* Code that can't be had is left out without a word: most often it is the kernel's, of another boot. */
static struct code_file *file_of(struct script_text *text, struct dso *dso)
{
	if (!text->code)
		text->code = mem_zalloc(sizeof(*text->code));
	uint64_t *slot = map64_insert(&text->code->files, (uintptr_t)dso, NULL);
	if (!*slot) {
		struct code_file *file = NULL;
		error_free(code_file_open(text->resolver, dso, &file));
		*slot = file ? (uintptr_t)file : (uintptr_t)&NO_CODE;
		if (file && !text->code->disasm && !text->code->no_disasm) {
			struct error *error = disasm_open(code_file_arch(file), DISASM_ATT, &text->code->disasm);
			text->code->no_disasm = error != NULL;
			error_free(error);
		}
	}
	return *slot == (uintptr_t)&NO_CODE ? NULL : (struct code_file *)(uintptr_t)*slot;
}

/* Up to `size` bytes from `ip` on; how many there are. They stay until the next call for the same file. */
static size_t read_code(struct script_text *text, const struct script_sample *at, uint64_t ip, uint64_t size, const uint8_t **ret)
{
	struct frame frame;
	struct code_range range;
	script_resolve_data(text, at, ip, &frame);
	struct code_file *file = frame.map ? file_of(text, frame.map->dso) : NULL;
	if (!file || text->code->no_disasm || !code_file_read(file, frame.dso_addr, size, &range))
		return 0;
	*ret = range.bytes;
	return range.size < size ? range.size : size;
}

static bool decode(struct script_text *text, uint64_t ip, const uint8_t *bytes, size_t size, struct instruction *ret)
{
	struct code code = {.bytes = bytes, .size = size < INSTRUCTION_MAX ? size : INSTRUCTION_MAX, .address = ip};
	return size && disasm_next(text->code->disasm, &code, ret) && ret->kind != INSTRUCTION_BAD;
}

static bool sampled_instruction(struct script_text *text, const struct script_sample *at, struct instruction *ret)
{
	const uint8_t *bytes;
	size_t size = read_code(text, at, at->sample->ip, INSTRUCTION_MAX, &bytes);
	return decode(text, at->sample->ip, bytes, size, ret);
}

void script_print_insnlen(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	struct instruction instruction;
	strbuf_printf(out, " ilen: %u", sampled_instruction(text, at, &instruction) ? instruction.size : 0);
}

static void add_bytes(const struct instruction *instruction, struct strbuf *out)
{
	for (unsigned int i = 0; i < instruction->size; i++)
		strbuf_printf(out, " %02x", instruction->bytes[i]);
}

/* "callq sum+0x0 [0x401115]": a place to go to has its function, where that is known. */
static void add_assembly(struct script_text *text, const struct script_sample *at, const struct instruction *instruction,
			 struct strbuf *out)
{
	struct frame frame = {0};
	if (instruction->has_target && str_starts_with(instruction->operands, "0x"))
		script_resolve_data(text, at, instruction->target, &frame);
	if (!frame.symbol) {
		instruction_add_text(instruction, out);
		strbuf_add_str(out, *instruction->operands ? "" : " ");
		return;
	}
	strbuf_printf(out, "%s ", instruction->mnemonic);
	text_add_safe(out, frame.symbol->name, strlen(frame.symbol->name));
	strbuf_printf(out, "+0x%lx [%#lx]", frame.dso_addr - frame.symbol->start, instruction->target);
}

void script_print_insn(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	struct instruction instruction;
	if (!sampled_instruction(text, at, &instruction))
		return;
	if (text->options.disassemble) {
		strbuf_add_char(out, ' ');
		add_assembly(text, at, &instruction, out);
		return;
	}
	strbuf_add_str(out, " insn:");
	add_bytes(&instruction, out);
}

void script_print_disasm(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	struct instruction instruction;
	if (!sampled_instruction(text, at, &instruction))
		return;
	strbuf_add(out, "\t\t", 2);
	add_assembly(text, at, &instruction, out);
}

/* Blocks of a branch stack. */
struct code_blocks {
	struct script_text *text;
	const struct script_sample *at;
	struct strbuf *out;
	const struct symbol *symbol; /* of the last label */
	uint64_t cycles;
};

/* The bytes of a block and of an instruction behind it. 0: it can't be shown. */
static size_t read_block(struct code_blocks *blocks, uint64_t start, uint64_t end, const uint8_t **ret)
{
	if (!start || !end || end < start || end - start > BLOCK_MAX - INSTRUCTION_MAX)
		return 0;
	return read_code(blocks->text, blocks->at, start, end - start + INSTRUCTION_MAX, ret);
}

static bool in_kernel(const struct code_blocks *blocks, uint64_t address)
{
	return address >= blocks->text->machine->kernel_start;
}

/* "	function+17:" where another function begins. */
static void add_label(struct code_blocks *blocks, uint64_t ip)
{
	struct frame frame;
	script_resolve_data(blocks->text, blocks->at, ip, &frame);
	if (!frame.symbol || frame.symbol == blocks->symbol)
		return;
	blocks->symbol = frame.symbol;
	strbuf_add_char(blocks->out, '\t');
	text_add_safe(blocks->out, frame.symbol->name, strlen(frame.symbol->name));
	if (frame.dso_addr != frame.symbol->start)
		strbuf_printf(blocks->out, "%+d", (int)(frame.dso_addr - frame.symbol->start));
	strbuf_add_str(blocks->out, ":\n");
}

/* "insn: 90 " and, where asked for, "	ilen: 1". Without an instruction there: "<bad>". */
static unsigned int add_instruction(struct code_blocks *blocks, uint64_t ip, const uint8_t *bytes, size_t size, int width)
{
	struct instruction instruction;
	struct strbuf *out = blocks->out;
	bool good = decode(blocks->text, ip, bytes, size, &instruction);
	strbuf_printf(out, "\t%016lx\t", ip);
	size_t start = out->len;
	if (good && (blocks->text->options.disassemble || script_shows(blocks->at->plan, SCRIPT_BRSTACKDISASM))) {
		add_assembly(blocks->text, blocks->at, &instruction, out);
	} else if (good) {
		strbuf_add_str(out, "insn:");
		add_bytes(&instruction, out);
		strbuf_add_char(out, ' ');
	} else {
		strbuf_add_str(out, "<bad>");
	}
	if (out->len - start < (size_t)width)
		strbuf_add_chars(out, ' ', (size_t)width - (out->len - start));
	if (script_shows(blocks->at->plan, SCRIPT_BRSTACKINSNLEN))
		strbuf_printf(out, "\tilen: %u", good ? instruction.size : 0);
	return good ? instruction.size : 0;
}

/* "br_cntr: AAB", a letter each time that an event happened; with names and numbers where more is to be told. */
static void add_counters(struct code_blocks *blocks, const struct branch_entry *branch)
{
	const struct sample *sample = blocks->at->sample;
	const struct reader *reader = blocks->text->session->reader;
	const struct event *event;
	unsigned int width = branch_counters_width(&reader->features), at = 0, shift = 0;
	char letter;
	if (!sample->branch_counters)
		return;
	uint64_t counts = sample->branch_counters[branch - sample->branches];
	strbuf_add_str(blocks->out, "\tbr_cntr: ");
	while ((event = branch_counters_next(&reader->events, blocks->at->event, &at, &letter))) {
		uint64_t count = shift < 64 ? counts >> shift & ((1ull << width) - 1) : 0;
		shift += width;
		if (!blocks->text->options.verbose) {
			strbuf_add_chars(blocks->out, letter, count);
			continue;
		}
		text_add_safe(blocks->out, event->name, strlen(event->name));
		strbuf_printf(blocks->out, " %llu ", (unsigned long long)count);
	}
}

/* The branch at the end of a block; `count`: instructions of the block, 0 when it isn't known. */
static void add_jump(struct code_blocks *blocks, const struct branch_entry *branch, const uint8_t *bytes, size_t size, unsigned int count)
{
	uint64_t cycles = branch_cycles(branch);
	add_instruction(blocks, branch->from, bytes, size, 30);
	if (script_shows(blocks->at->plan, SCRIPT_BRCNTR))
		add_counters(blocks, branch);
	strbuf_printf(blocks->out, "\t#%s%s%s%s", branch->flags & 2 ? " PRED" : "", branch->flags & 1 ? " MISPRED" : "",
		      branch->flags & 4 ? " INTX" : "", branch->flags & 8 ? " ABORT" : "");
	if (cycles) {
		blocks->cycles += cycles;
		strbuf_printf(blocks->out, " %lu cycles [%lu]", cycles, blocks->cycles);
		if (count)
			strbuf_printf(blocks->out, " %.2f IPC", (double)((float)count / (float)cycles));
	}
	strbuf_add_char(blocks->out, '\n');
}

static void add_block(struct code_blocks *blocks, uint64_t start, const struct branch_entry *branch, const uint8_t *bytes, size_t size)
{
	unsigned int count = 0, length;
	for (uint64_t offset = 0; offset < size; offset += length) {
		uint64_t ip = start + offset;
		add_label(blocks, ip);
		count++;
		if (ip == branch->from) {
			add_jump(blocks, branch, bytes + offset, size - offset, count);
			return;
		}
		if (ip > branch->from)
			break;
		length = add_instruction(blocks, ip, bytes + offset, size - offset, 0);
		strbuf_add_char(blocks->out, '\n');
		if (!length)
			break;
	}
	strbuf_add_str(blocks->out, "\tmismatch of LBR data and executable\n");
}

/* From the newest branch up to the sampled address. A branch or two may be missing in between: then until the next one. */
static void add_last_block(struct code_blocks *blocks, uint64_t start)
{
	uint64_t end = blocks->at->sample->ip;
	const uint8_t *bytes;
	if (end < start)
		end = start + MISSED_JUMP;
	size_t size = read_block(blocks, start, end, &bytes);
	add_label(blocks, start);
	if (!size) {
		size = read_block(blocks, blocks->at->sample->ip, blocks->at->sample->ip, &bytes);
		if (!size)
			return;
		add_instruction(blocks, blocks->at->sample->ip, bytes, size, 0);
		strbuf_add_char(blocks->out, '\n');
		return;
	}
	unsigned int length;
	for (uint64_t offset = 0; offset <= end - start && offset < size; offset += length) {
		struct instruction instruction;
		length = add_instruction(blocks, start + offset, bytes + offset, size - offset, 0);
		strbuf_add_char(blocks->out, '\n');
		if (!length)
			return;
		bool goes = decode(blocks->text, start + offset, bytes + offset, size - offset, &instruction) &&
			    instruction.kind != INSTRUCTION_OTHER;
		if (goes && start + offset != blocks->at->sample->ip) {
			strbuf_add_str(blocks->out, "\t... not reaching sample ...\n");
			return;
		}
	}
}

void script_print_brstackinsn(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct branch_entry *entries = at->sample->branches;
	uint64_t count = at->sample->branch_count, most = text->options.max_blocks;
	struct code_blocks blocks = {.text = text, .at = at, .out = out};
	const uint8_t *bytes;
	if (!count)
		return;
	strbuf_add_char(out, '\n');
	if (most && count > most + 1)
		count = most + 1;
	/* What led to the oldest branch isn't known. */
	size_t size = read_block(&blocks, entries[count - 1].from, entries[count - 1].from, &bytes);
	if (size) {
		add_label(&blocks, entries[count - 1].from);
		add_jump(&blocks, &entries[count - 1], bytes, size, 0);
	}
	for (uint64_t i = count - 1; i-- > 0;) {
		uint64_t start = entries[i + 1].to;
		/* The way into the kernel may not have been recorded: the block ends where it came back from. */
		if (in_kernel(&blocks, start) != in_kernel(&blocks, entries[i].from) && i > 0)
			i--;
		if (in_kernel(&blocks, start) == in_kernel(&blocks, entries[i].from) &&
		    (size = read_block(&blocks, start, entries[i].from, &bytes)))
			add_block(&blocks, start, &entries[i], bytes, size);
	}
	if (entries[0].from != at->sample->ip && !(entries[0].flags & 8))
		add_last_block(&blocks, entries[0].to);
}

void script_print_brstackdisasm(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (!script_shows(at->plan, SCRIPT_BRSTACKINSN))
		script_print_brstackinsn(text, at, out);
}
