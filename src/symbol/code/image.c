#include "symbol/code/image.h"

#include <string.h>

void image_begin(struct image *image, struct strbuf *out, bool swap)
{
	*image = (struct image){.out = out, .begin = out->len, .swap = swap, .count = 1};
	strbuf_add_char(&image->names, 0); /* of section 0, which is none */
	strbuf_add_chars(out, '\0', sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
}

void image_put(struct strbuf *out, uint64_t value, unsigned int size, bool swap)
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

uint64_t image_position(const struct image *image)
{
	return image->out->len - image->begin;
}

static void align(struct image *image, unsigned int to)
{
	strbuf_add_chars(image->out, '\0', -image_position(image) & (to - 1));
}

Elf64_Shdr *image_begin_section(struct image *image, const char *name, uint32_t type, uint64_t flags, unsigned int alignment)
{
	Elf64_Shdr *section = &image->sections[image->count++];
	align(image, alignment);
	*section = (Elf64_Shdr){
		.sh_name = (Elf64_Word)image->names.len,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags & SHF_ALLOC ? image_position(image) : 0,
		.sh_offset = image_position(image),
		.sh_addralign = alignment,
	};
	strbuf_add(&image->names, name, strlen(name) + 1);
	return section;
}

void image_end_section(struct image *image)
{
	Elf64_Shdr *section = &image->sections[image->count - 1];
	section->sh_size = image_position(image) - section->sh_offset;
}

/* ---- lines ---- */

enum { LINE_BASE = -5, LINE_RANGE = 14, OPCODE_BASE = 13 };
enum { OP_COPY = 1, OP_ADVANCE_PC = 2, OP_ADVANCE_LINE = 3, OP_SET_FILE = 4, OP_END_SEQUENCE = 1, OP_SET_ADDRESS = 2 };

void image_lines_add(struct image_lines *program, const char *file, uint32_t line, uint64_t distance)
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

void image_lines_begin(struct image_lines *lines, bool swap)
{
	*lines = (struct image_lines){.last_line = 1};
	strbuf_add_char(&lines->body, 0);
	put_uleb(&lines->body, 9);
	strbuf_add_char(&lines->body, OP_SET_ADDRESS);
	image_put(&lines->body, IMAGE_TEXT, 8, swap);
}

static void add_debug_line(struct image *image, const struct image_lines *program)
{
	static const uint8_t operands[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	enum { HEADER = 6 + sizeof(operands) }; /* from behind header_length to the directories */
	uint64_t header = HEADER + 1 + program->files.len + 1;
	struct strbuf *out = image->out;
	image_begin_section(image, ".debug_line", SHT_PROGBITS, 0, 1);
	image_put(out, 2 + 4 + header + program->body.len, 4, image->swap);
	image_put(out, 4, 2, image->swap);
	image_put(out, header, 4, image->swap);
	const uint8_t fixed[] = {1, 1, 1, (uint8_t)LINE_BASE, LINE_RANGE, OPCODE_BASE};
	strbuf_add(out, fixed, sizeof(fixed));
	strbuf_add(out, operands, sizeof(operands));
	strbuf_add_char(out, 0); /* no directories */
	strbuf_add(out, strbuf_str(&program->files), program->files.len);
	strbuf_add_char(out, 0);
	strbuf_add(out, program->body.data, program->body.len);
	image_end_section(image);
}

/* A unit without anything in it: where its code and its lines are. */
static void add_unit(struct image *image, uint64_t size)
{
	enum { COMPILE_UNIT = 0x11, STMT_LIST = 0x10, LOW_PC = 0x11, HIGH_PC = 0x12, FORM_ADDR = 1, FORM_DATA8 = 7, FORM_OFFSET = 0x17 };
	static const uint8_t abbreviations[] = {1,	   COMPILE_UNIT, 0,	     STMT_LIST, FORM_OFFSET, LOW_PC,
						FORM_ADDR, HIGH_PC,	 FORM_DATA8, 0,		0,	     0};
	struct strbuf *out = image->out;
	image_begin_section(image, ".debug_info", SHT_PROGBITS, 0, 1);
	image_put(out, 2 + 4 + 1 + 1 + 4 + 8 + 8, 4, image->swap);
	image_put(out, 4, 2, image->swap);
	image_put(out, 0, 4, image->swap);
	strbuf_add_char(out, 8);
	strbuf_add_char(out, 1);
	image_put(out, 0, 4, image->swap);
	image_put(out, IMAGE_TEXT, 8, image->swap);
	image_put(out, size, 8, image->swap);
	image_end_section(image);
	image_begin_section(image, ".debug_abbrev", SHT_PROGBITS, 0, 1);
	strbuf_add(out, abbreviations, sizeof(abbreviations));
	image_end_section(image);
}

void image_add_lines(struct image *image, struct image_lines *lines, uint64_t size)
{
	strbuf_add_char(&lines->body, OP_ADVANCE_PC);
	put_uleb(&lines->body, size - lines->last_distance);
	strbuf_add_char(&lines->body, 0);
	put_uleb(&lines->body, 1);
	strbuf_add_char(&lines->body, OP_END_SEQUENCE);
	if (lines->count && lines->body.len + lines->files.len < UINT32_MAX / 2) {
		add_debug_line(image, lines);
		add_unit(image, size);
	}
	strbuf_deinit(&lines->files);
	strbuf_deinit(&lines->body);
}

/* ---- the rest ---- */

size_t image_add_note(struct image *image, const struct buildid *id)
{
	struct strbuf *out = image->out;
	image_begin_section(image, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 4);
	image_put(out, sizeof(ELF_NOTE_GNU), 4, image->swap);
	image_put(out, id->size, 4, image->swap);
	image_put(out, NT_GNU_BUILD_ID, 4, image->swap);
	strbuf_add(out, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
	size_t at = out->len;
	strbuf_add(out, id->data, id->size);
	image_end_section(image);
	return at;
}

void image_add_symbols(struct image *image, const struct image_symbol *symbols, size_t count, const struct strbuf *strings)
{
	struct strbuf *out = image->out;
	Elf64_Shdr *section = image_begin_section(image, ".symtab", SHT_SYMTAB, 0, 8);
	section->sh_entsize = sizeof(Elf64_Sym);
	section->sh_link = image->count;
	section->sh_info = 1; /* the first that isn't local */
	strbuf_add_chars(out, '\0', sizeof(Elf64_Sym));
	for (size_t i = 0; i < count; i++) {
		image_put(out, symbols[i].name, 4, image->swap);
		strbuf_add_char(out, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
		strbuf_add_char(out, STV_DEFAULT);
		image_put(out, IMAGE_TEXT_SECTION, 2, image->swap);
		image_put(out, symbols[i].address, 8, image->swap);
		image_put(out, symbols[i].size, 8, image->swap);
	}
	image_end_section(image);
	image_begin_section(image, ".strtab", SHT_STRTAB, 0, 1);
	strbuf_add(out, strings->data, strings->len);
	image_end_section(image);
}

static void add_section_names(struct image *image)
{
	image_begin_section(image, ".shstrtab", SHT_STRTAB, 0, 1);
	strbuf_add(image->out, image->names.data, image->names.len);
	image_end_section(image);
}

static void put_section_headers(struct image *image)
{
	align(image, 8);
	for (unsigned int i = 0; i < image->count; i++) {
		const Elf64_Shdr *section = &image->sections[i];
		image_put(image->out, section->sh_name, 4, image->swap);
		image_put(image->out, section->sh_type, 4, image->swap);
		image_put(image->out, section->sh_flags, 8, image->swap);
		image_put(image->out, section->sh_addr, 8, image->swap);
		image_put(image->out, section->sh_offset, 8, image->swap);
		image_put(image->out, section->sh_size, 8, image->swap);
		image_put(image->out, section->sh_link, 4, image->swap);
		image_put(image->out, section->sh_info, 4, image->swap);
		image_put(image->out, section->sh_addralign, 8, image->swap);
		image_put(image->out, section->sh_entsize, 8, image->swap);
	}
}

/* The headers of the file and of its one segment. */
static void make_headers(const struct image *image, uint16_t machine, uint64_t sections_at, uint64_t end, struct strbuf *head)
{
	bool big = image->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__), swap = image->swap;
	const uint8_t ident[EI_NIDENT] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, big ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT};
	strbuf_add(head, ident, sizeof(ident));
	image_put(head, ET_DYN, 2, swap);
	image_put(head, machine, 2, swap);
	image_put(head, EV_CURRENT, 4, swap);
	image_put(head, IMAGE_TEXT, 8, swap); /* entry */
	image_put(head, sizeof(Elf64_Ehdr), 8, swap);
	image_put(head, sections_at, 8, swap);
	image_put(head, 0, 4, swap); /* flags */
	image_put(head, sizeof(Elf64_Ehdr), 2, swap);
	image_put(head, sizeof(Elf64_Phdr), 2, swap);
	image_put(head, 1, 2, swap);
	image_put(head, sizeof(Elf64_Shdr), 2, swap);
	image_put(head, image->count, 2, swap);
	image_put(head, image->count - 1, 2, swap); /* the names of sections are the last one */
	image_put(head, PT_LOAD, 4, swap);
	image_put(head, PF_R | PF_X, 4, swap);
	for (int i = 0; i < 3; i++)
		image_put(head, IMAGE_TEXT, 8, swap); /* offset and addresses */
	image_put(head, end - IMAGE_TEXT, 8, swap);
	image_put(head, end - IMAGE_TEXT, 8, swap);
	image_put(head, 16, 8, swap);
}

void image_end(struct image *image, uint16_t machine, uint64_t end)
{
	struct strbuf head = {0};
	add_section_names(image);
	align(image, 8);
	uint64_t sections_at = image_position(image);
	put_section_headers(image);
	make_headers(image, machine, sections_at, end, &head);
	memcpy(image->out->data + image->begin, head.data, head.len);
	strbuf_deinit(&head);
	strbuf_deinit(&image->names);
}
