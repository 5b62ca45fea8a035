/* The file, offset = virtual address from the code on:
 *
 *	ELF header | segment | code | .eh_frame | .eh_frame_hdr | note | symbols | strings | lines … | section headers
 *
 * Call frame information counts from its own place, so it must lie where the compiler has put it: behind the code, at the next multiple of
 * 8. Lines are DWARF 4: one unit, whose line program is made of the dump's entries. Always the 64-bit form, in the byte order of the dump.
 * Sources of the format: the System V ABI (gABI chapters 4 and 5), the DWARF 4 standard, sections 6.2 and 7.5. */
#include "symbol/code/code_image.h"

#include "base/hash.h"

#include <elf.h>
#include <string.h>

enum { SECTIONS_MAX = 11, TEXT_SECTION = 1 };

struct image {
	struct strbuf *out;
	size_t begin; /* of the file in `out` */
	bool swap;
	Elf64_Shdr sections[SECTIONS_MAX];
	unsigned int count;
	struct strbuf names; /* of sections */
};

static void put(struct strbuf *out, uint64_t value, unsigned int size, bool swap)
{
	bool big = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	for (unsigned int i = 0; i < size; i++)
		strbuf_add_char(out, (char)(value >> 8 * (big ? size - 1 - i : i)));
}

static void put_uleb(struct strbuf *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		strbuf_add_char(out, (char)(value | 0x80));
	strbuf_add_char(out, (char)value);
}

static void put_sleb(struct strbuf *out, int64_t value)
{
	for (; value < -0x40 || value > 0x3f; value >>= 7)
		strbuf_add_char(out, (char)(value | 0x80));
	strbuf_add_char(out, (char)(value & 0x7f));
}

static uint64_t position(const struct image *image)
{
	return image->out->len - image->begin;
}

static void align(struct image *image, unsigned int to)
{
	strbuf_add_chars(image->out, '\0', -position(image) & (to - 1));
}

/* A section that begins here; its size is known at the next call of end_section(). */
static Elf64_Shdr *begin_section(struct image *image, const char *name, uint32_t type, uint64_t flags, unsigned int alignment)
{
	Elf64_Shdr *section = &image->sections[image->count++];
	align(image, alignment);
	*section = (Elf64_Shdr){
		.sh_name = (Elf64_Word)image->names.len,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags & SHF_ALLOC ? position(image) : 0,
		.sh_offset = position(image),
		.sh_addralign = alignment,
	};
	strbuf_add(&image->names, name, strlen(name) + 1);
	return section;
}

static void end_section(struct image *image)
{
	Elf64_Shdr *section = &image->sections[image->count - 1];
	section->sh_size = position(image) - section->sh_offset;
}

/* ---- lines ---- */

struct line_program {
	struct strbuf files; /* entries of the table */
	struct strbuf body;
	uint64_t last_file, last_line, last_distance;
	const char *file_name;
	uint64_t count;
};

enum { LINE_BASE = -5, LINE_RANGE = 14, OPCODE_BASE = 13 };
enum { OP_COPY = 1, OP_ADVANCE_PC = 2, OP_ADVANCE_LINE = 3, OP_SET_FILE = 4, OP_END_SEQUENCE = 1, OP_SET_ADDRESS = 2 };

/* Entries come sorted by file in long stretches: a file that comes again gets another entry in the table. */
static void add_line(struct line_program *program, const char *file, uint32_t line, uint64_t distance)
{
	if (!program->file_name || strcmp(program->file_name, file)) {
		strbuf_add(&program->files, file, strlen(file) + 1);
		strbuf_add_chars(&program->files, '\0', 3); /* directory, time, size: unknown */
		strbuf_add_char(&program->body, OP_SET_FILE);
		put_uleb(&program->body, ++program->last_file);
		program->file_name = file;
	}
	strbuf_add_char(&program->body, OP_ADVANCE_LINE);
	put_sleb(&program->body, (int64_t)line - (int64_t)program->last_line);
	strbuf_add_char(&program->body, OP_ADVANCE_PC);
	put_uleb(&program->body, distance - program->last_distance);
	strbuf_add_char(&program->body, OP_COPY);
	program->last_line = line;
	program->last_distance = distance;
	program->count++;
}

static void make_line_program(const struct jitdump *dump, const struct jitdump_code *code, struct line_program *program)
{
	struct jitdump_lines lines;
	*program = (struct line_program){.last_line = 1};
	strbuf_add_char(&program->body, 0);
	put_uleb(&program->body, 9);
	strbuf_add_char(&program->body, OP_SET_ADDRESS);
	put(&program->body, CODE_IMAGE_TEXT, 8, dump->swap);
	jitdump_lines_begin(dump, code, &lines);
	while (jitdump_lines_next(&lines))
		if (lines.file && *lines.file && lines.distance >= program->last_distance && lines.distance < code->size)
			add_line(program, lines.file, lines.line, lines.distance);
	strbuf_add_char(&program->body, OP_ADVANCE_PC);
	put_uleb(&program->body, code->size - program->last_distance);
	strbuf_add_char(&program->body, 0);
	put_uleb(&program->body, 1);
	strbuf_add_char(&program->body, OP_END_SEQUENCE);
}

static void add_debug_line(struct image *image, const struct line_program *program)
{
	static const uint8_t operands[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	enum { HEADER = 6 + sizeof(operands) }; /* from behind header_length to the directories */
	uint64_t header = HEADER + 1 + program->files.len + 1;
	struct strbuf *out = image->out;
	begin_section(image, ".debug_line", SHT_PROGBITS, 0, 1);
	put(out, 2 + 4 + header + program->body.len, 4, image->swap);
	put(out, 4, 2, image->swap);
	put(out, header, 4, image->swap);
	const uint8_t fixed[] = {1, 1, 1, (uint8_t)LINE_BASE, LINE_RANGE, OPCODE_BASE};
	strbuf_add(out, fixed, sizeof(fixed));
	strbuf_add(out, operands, sizeof(operands));
	strbuf_add_char(out, 0); /* no directories */
	strbuf_add(out, strbuf_str(&program->files), program->files.len);
	strbuf_add_char(out, 0);
	strbuf_add(out, program->body.data, program->body.len);
	end_section(image);
}

/* A unit without anything in it: where its code and its lines are. */
static void add_unit(struct image *image, const struct jitdump_code *code)
{
	enum { COMPILE_UNIT = 0x11, STMT_LIST = 0x10, LOW_PC = 0x11, HIGH_PC = 0x12, FORM_ADDR = 1, FORM_DATA8 = 7, FORM_OFFSET = 0x17 };
	static const uint8_t abbreviations[] = {1,	   COMPILE_UNIT, 0,	     STMT_LIST, FORM_OFFSET, LOW_PC,
						FORM_ADDR, HIGH_PC,	 FORM_DATA8, 0,		0,	     0};
	struct strbuf *out = image->out;
	begin_section(image, ".debug_info", SHT_PROGBITS, 0, 1);
	put(out, 2 + 4 + 1 + 1 + 4 + 8 + 8, 4, image->swap);
	put(out, 4, 2, image->swap);
	put(out, 0, 4, image->swap);
	strbuf_add_char(out, 8);
	strbuf_add_char(out, 1);
	put(out, 0, 4, image->swap);
	put(out, CODE_IMAGE_TEXT, 8, image->swap);
	put(out, code->size, 8, image->swap);
	end_section(image);
	begin_section(image, ".debug_abbrev", SHT_PROGBITS, 0, 1);
	strbuf_add(out, abbreviations, sizeof(abbreviations));
	end_section(image);
}

static void add_lines(struct image *image, const struct jitdump *dump, const struct jitdump_code *code)
{
	struct line_program program;
	make_line_program(dump, code, &program);
	if (program.count && program.body.len + program.files.len < UINT32_MAX / 2) {
		add_debug_line(image, &program);
		add_unit(image, code);
	}
	strbuf_deinit(&program.files);
	strbuf_deinit(&program.body);
}

/* ---- the rest ---- */

static void add_code(struct image *image, const struct jitdump *dump, const struct jitdump_code *code)
{
	struct jitdump_unwind unwind;
	strbuf_add_chars(image->out, '\0', CODE_IMAGE_TEXT - position(image));
	begin_section(image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 16);
	strbuf_add(image->out, dump->mapping.data + code->offset, code->size);
	end_section(image);
	if (!jitdump_unwind(dump, code, &unwind))
		return;
	begin_section(image, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 8);
	strbuf_add(image->out, unwind.eh_frame, unwind.size);
	end_section(image);
	begin_section(image, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 1);
	strbuf_add(image->out, unwind.eh_frame + unwind.size, unwind.table_size);
	end_section(image);
}

static struct buildid make_id(const struct jitdump *dump, const struct jitdump_code *code)
{
	struct buildid id = {.size = sizeof(id.data)};
	uint64_t parts[3];
	for (uint64_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i] = hash_mix(hash_id(code->name, strlen(code->name), i) +
				    3 * hash_id(dump->mapping.data + code->offset, code->size, i));
	memcpy(id.data, parts, sizeof(id.data));
	return id;
}

static void add_note(struct image *image, const struct buildid *id)
{
	struct strbuf *out = image->out;
	begin_section(image, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 4);
	put(out, sizeof(ELF_NOTE_GNU), 4, image->swap);
	put(out, id->size, 4, image->swap);
	put(out, NT_GNU_BUILD_ID, 4, image->swap);
	strbuf_add(out, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
	strbuf_add(out, id->data, id->size);
	end_section(image);
}

static void add_symbol(struct image *image, const struct jitdump_code *code)
{
	struct strbuf *out = image->out;
	Elf64_Shdr *symbols = begin_section(image, ".symtab", SHT_SYMTAB, 0, 8);
	symbols->sh_entsize = sizeof(Elf64_Sym);
	symbols->sh_link = image->count;
	symbols->sh_info = 1; /* the first that isn't local */
	strbuf_add_chars(out, '\0', sizeof(Elf64_Sym));
	put(out, 1, 4, image->swap);
	strbuf_add_char(out, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	strbuf_add_char(out, STV_DEFAULT);
	put(out, TEXT_SECTION, 2, image->swap);
	put(out, CODE_IMAGE_TEXT, 8, image->swap);
	put(out, code->size, 8, image->swap);
	end_section(image);
	begin_section(image, ".strtab", SHT_STRTAB, 0, 1);
	strbuf_add_char(out, 0);
	strbuf_add(out, code->name, strlen(code->name) + 1);
	end_section(image);
}

static void add_section_names(struct image *image)
{
	begin_section(image, ".shstrtab", SHT_STRTAB, 0, 1);
	strbuf_add(image->out, image->names.data, image->names.len);
	end_section(image);
}

static void put_section_headers(struct image *image)
{
	align(image, 8);
	for (unsigned int i = 0; i < image->count; i++) {
		const Elf64_Shdr *section = &image->sections[i];
		put(image->out, section->sh_name, 4, image->swap);
		put(image->out, section->sh_type, 4, image->swap);
		put(image->out, section->sh_flags, 8, image->swap);
		put(image->out, section->sh_addr, 8, image->swap);
		put(image->out, section->sh_offset, 8, image->swap);
		put(image->out, section->sh_size, 8, image->swap);
		put(image->out, section->sh_link, 4, image->swap);
		put(image->out, section->sh_info, 4, image->swap);
		put(image->out, section->sh_addralign, 8, image->swap);
		put(image->out, section->sh_entsize, 8, image->swap);
	}
}

/* The headers of the file and of its one segment, which holds everything up to the last section that belongs to memory. */
static void make_headers(const struct image *image, uint16_t machine, uint64_t sections_at, struct strbuf *head)
{
	bool big = image->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__), swap = image->swap;
	const uint8_t ident[EI_NIDENT] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, big ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT};
	uint64_t end = CODE_IMAGE_TEXT;
	for (unsigned int i = 0; i < image->count; i++)
		if (image->sections[i].sh_flags & SHF_ALLOC)
			end = image->sections[i].sh_offset + image->sections[i].sh_size;
	strbuf_add(head, ident, sizeof(ident));
	put(head, ET_DYN, 2, swap);
	put(head, machine, 2, swap);
	put(head, EV_CURRENT, 4, swap);
	put(head, CODE_IMAGE_TEXT, 8, swap); /* entry */
	put(head, sizeof(Elf64_Ehdr), 8, swap);
	put(head, sections_at, 8, swap);
	put(head, 0, 4, swap); /* flags */
	put(head, sizeof(Elf64_Ehdr), 2, swap);
	put(head, sizeof(Elf64_Phdr), 2, swap);
	put(head, 1, 2, swap);
	put(head, sizeof(Elf64_Shdr), 2, swap);
	put(head, image->count, 2, swap);
	put(head, image->count - 1, 2, swap); /* the names of sections are the last one */
	put(head, PT_LOAD, 4, swap);
	put(head, PF_R | PF_X, 4, swap);
	for (int i = 0; i < 3; i++)
		put(head, CODE_IMAGE_TEXT, 8, swap); /* offset and addresses */
	put(head, end - CODE_IMAGE_TEXT, 8, swap);
	put(head, end - CODE_IMAGE_TEXT, 8, swap);
	put(head, 16, 8, swap);
}

void code_image_make(const struct jitdump *dump, const struct jitdump_code *code, struct strbuf *out, struct buildid *ret_id)
{
	struct image image = {.out = out, .begin = out->len, .swap = dump->swap, .count = 1};
	struct strbuf head = {0};
	strbuf_add_char(&image.names, 0); /* of section 0, which is none */
	strbuf_add_chars(out, '\0', sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
	*ret_id = make_id(dump, code);
	add_code(&image, dump, code);
	add_note(&image, ret_id);
	add_symbol(&image, code);
	add_lines(&image, dump, code);
	add_section_names(&image);
	align(&image, 8);
	uint64_t sections_at = position(&image);
	put_section_headers(&image);
	make_headers(&image, dump->machine, sections_at, &head);
	memcpy(out->data + image.begin, head.data, head.len);
	strbuf_deinit(&head);
	strbuf_deinit(&image.names);
}
