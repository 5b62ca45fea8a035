/* The line number program. It runs a small machine over rising addresses and writes a row for each place where the line changes; an end of
 * a sequence is a row too. Sequences are of different pieces of code and come in any order:
 *
 *	rows       a0 a1 a2 a3 end | b0 b1 end | c0 c1 c2 end
 *	sequences  sorted by where they begin; in one of them the last row at or before the address counts
 */
#include "symbol/dwarf/dwarf_lines.h"

#include "base/formats/leb128.h"
#include "base/mem.h"
#include "base/search.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 26, FILES_MAX = 1 << 20, FORMATS_MAX = 256 };

struct line_row {
	uint64_t address;
	uint32_t line, file;
};

struct sequence {
	uint64_t low, high;
	size_t first, count;
};

struct file_name {
	const char *name;
	const char *full; /* NULL until it is asked for */
	uint64_t directory;
};

struct dwarf_lines {
	struct arena *arena;
	const char *directory; /* of the compiler */
	uint16_t version;
	VEC(struct line_row) rows;
	VEC(struct sequence) sequences;
	VEC(const char *) directories; /* until version 4: number 1 first */
	VEC(struct file_name) files;
};

/* The header of the program, and the machine's registers. */
struct program {
	struct dwarf_lines *lines;
	struct dwarf_unit unit; /* with the sizes of this table */
	struct cursor at;
	uint8_t minimum_length, operations_max, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operand_counts; /* of standard opcodes, from number 1 */
	uint64_t address;
	uint32_t operation, line, file;
	size_t first; /* row of this sequence */
};

/* ---- tables of names ---- */

static void read_old_names(struct dwarf_lines *lines, struct cursor *at)
{
	const char *name;
	while ((name = cursor_string(at)) && *name && lines->directories.len < FILES_MAX)
		vec_push(&lines->directories, name);
	while ((name = cursor_string(at)) && *name && lines->files.len < FILES_MAX) {
		uint64_t directory = leb128_unsigned(at);
		leb128_unsigned(at);
		leb128_unsigned(at);
		vec_push(&lines->files, (struct file_name){.name = name, .directory = directory});
	}
}

/* A table of DWARF 5: which contents in which forms an entry has, and the entries. */
static void read_names(struct program *program, bool files)
{
	struct cursor *at = &program->at;
	struct dwarf_attribute formats[FORMATS_MAX];
	unsigned int format_count = cursor_u8(at);
	for (unsigned int i = 0; i < format_count; i++) {
		formats[i].name = (uint16_t)leb128_unsigned(at);
		formats[i].form = (uint16_t)leb128_unsigned(at);
		formats[i].implicit = 0;
	}
	uint64_t count = leb128_unsigned(at);
	for (uint64_t i = 0; i < count && i < FILES_MAX && !at->failed && format_count; i++) {
		struct file_name file = {0};
		for (unsigned int j = 0; j < format_count; j++) {
			struct dwarf_value value = dwarf_value_read(&program->unit, at, &formats[j]);
			if (formats[j].name == DW_LNCT_path)
				file.name = value.text;
			else if (formats[j].name == DW_LNCT_directory_index)
				file.directory = value.number;
		}
		if (at->failed)
			break;
		if (files)
			vec_push(&program->lines->files, file);
		else
			vec_push(&program->lines->directories, file.name);
	}
}

/* Reads the header and leaves the cursor at the first opcode. */
static bool read_header(struct program *program)
{
	struct cursor *at = &program->at;
	uint64_t length = dwarf_length_read(at, &program->unit.offset_size);
	if (at->failed)
		return false;
	at->end = at->at + length;
	uint16_t version = cursor_u16(at);
	if (version >= 5)
		cursor_u16(at); /* sizes of addresses and segments */
	uint64_t header = dwarf_offset_read(at, program->unit.offset_size);
	if (at->failed || version < 2 || version > 5 || header > cursor_left(at))
		return false;
	const uint8_t *opcodes = at->at + header;
	program->minimum_length = cursor_u8(at);
	program->operations_max = version >= 4 ? cursor_u8(at) : 1;
	cursor_u8(at); /* default of is_stmt */
	program->line_base = (int8_t)cursor_u8(at);
	program->line_range = cursor_u8(at);
	program->opcode_base = cursor_u8(at);
	program->operand_counts = cursor_bytes(at, program->opcode_base ? program->opcode_base - 1u : 0);
	program->lines->version = version;
	if (at->failed || !program->line_range || !program->opcode_base)
		return false;
	if (version >= 5) {
		read_names(program, false);
		read_names(program, true);
	} else {
		read_old_names(program->lines, at);
	}
	if (!program->operations_max)
		program->operations_max = 1;
	at->at = opcodes;
	at->failed = false;
	return true;
}

/* ---- the machine ---- */

static void begin_sequence(struct program *program)
{
	program->address = 0;
	program->operation = 0;
	program->line = program->file = 1;
	program->first = program->lines->rows.len;
}

static void add_row(struct program *program)
{
	vec_push(&program->lines->rows, (struct line_row){program->address, program->line, program->file});
}

static void end_sequence(struct program *program)
{
	struct dwarf_lines *lines = program->lines;
	size_t count = lines->rows.len - program->first;
	uint64_t low = count ? lines->rows.data[program->first].address : 0;
	if (count && low && program->address > low)
		vec_push(&lines->sequences, (struct sequence){low, program->address, program->first, count});
	else
		lines->rows.len = program->first;
	begin_sequence(program);
}

/* Several operations can share an instruction's address (VLIW processors): `operations_max` is 1 elsewhere. */
static void advance(struct program *program, uint64_t operations)
{
	if (program->operations_max == 1) {
		program->address += operations * program->minimum_length;
		return;
	}
	uint64_t all = program->operation + operations;
	program->address += program->minimum_length * (all / program->operations_max);
	program->operation = (uint32_t)(all % program->operations_max);
}

static void run_extended(struct program *program)
{
	struct cursor *at = &program->at;
	uint64_t length = leb128_unsigned(at);
	const uint8_t *bytes = cursor_bytes(at, length);
	if (!bytes || !length)
		return;
	struct cursor operand = cursor_init(bytes + 1, length - 1, at->swap);
	switch (bytes[0]) {
	case DW_LNE_end_sequence:
		end_sequence(program);
		break;
	case DW_LNE_set_address:
		program->address = length == 9 ? cursor_u64(&operand) : length == 5 ? cursor_u32(&operand) : cursor_u16(&operand);
		program->operation = 0;
		break;
	default:
		break;
	}
}

static void run_standard(struct program *program, unsigned int opcode)
{
	struct cursor *at = &program->at;
	switch (opcode) {
	case DW_LNS_copy:
		add_row(program);
		break;
	case DW_LNS_advance_pc:
		advance(program, leb128_unsigned(at));
		break;
	case DW_LNS_advance_line:
		program->line += (uint32_t)leb128_signed(at);
		break;
	case DW_LNS_set_file:
		program->file = (uint32_t)leb128_unsigned(at);
		break;
	case DW_LNS_const_add_pc:
		advance(program, (255u - program->opcode_base) / program->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		program->address += cursor_u16(at);
		program->operation = 0;
		break;
	default:
		for (unsigned int i = 0; i < program->operand_counts[opcode - 1]; i++)
			leb128_unsigned(at);
	}
}

static void run(struct program *program)
{
	struct cursor *at = &program->at;
	begin_sequence(program);
	while (at->at < at->end && !at->failed && program->lines->rows.len < ROWS_MAX) {
		unsigned int opcode = *at->at++;
		if (opcode >= program->opcode_base) {
			unsigned int special = opcode - program->opcode_base;
			advance(program, special / program->line_range);
			program->line += (uint32_t)(program->line_base + (int)(special % program->line_range));
			add_row(program);
		} else if (opcode) {
			run_standard(program, opcode);
		} else {
			run_extended(program);
		}
	}
	program->lines->rows.len = program->first;
}

static int compare_sequences(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;
	return x->low < y->low ? -1 : x->low > y->low;
}

struct dwarf_lines *dwarf_lines_create(const struct dwarf_unit *unit, struct arena *arena)
{
	struct dwarf_lines *lines = mem_zalloc(sizeof(*lines));
	lines->arena = arena;
	lines->directory = unit->directory;
	struct program program = {.lines = lines, .unit = *unit, .at = dwarf_cursor(unit->file, DWARF_LINE, unit->lines)};
	if (unit->lines != UINT64_MAX && !program.at.failed && read_header(&program))
		run(&program);
	if (lines->sequences.len)
		qsort(lines->sequences.data, lines->sequences.len, sizeof(*lines->sequences.data), compare_sequences);
	return lines;
}

void dwarf_lines_destroy(struct dwarf_lines *lines)
{
	if (!lines)
		return;
	vec_deinit(&lines->rows);
	vec_deinit(&lines->sequences);
	vec_deinit(&lines->directories);
	vec_deinit(&lines->files);
	free(lines);
}

/* ---- questions ---- */

static const struct sequence *find_sequence(const struct dwarf_lines *lines, uint64_t address)
{
	size_t after = partition_point(i, lines->sequences.len, lines->sequences.data[i].low <= address);
	return after && address < lines->sequences.data[after - 1].high ? &lines->sequences.data[after - 1] : NULL;
}

bool dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address, uint32_t *ret_line, uint32_t *ret_file)
{
	const struct sequence *sequence = find_sequence(lines, address);
	if (!sequence)
		return false;
	const struct line_row *rows = lines->rows.data + sequence->first;
	size_t after = partition_point(i, sequence->count, rows[i].address <= address);
	if (!after)
		return false;
	*ret_line = rows[after - 1].line;
	*ret_file = rows[after - 1].file;
	return true;
}

/* Number 0 is the compiler's directory in all versions. */
static const char *directory_of(const struct dwarf_lines *lines, uint64_t number)
{
	if (lines->version < 5) {
		if (!number)
			return lines->directory;
		number--;
	}
	return number < lines->directories.len ? lines->directories.data[number] : NULL;
}

static const char *full_name(struct dwarf_lines *lines, const struct file_name *file)
{
	const char *directory = directory_of(lines, file->directory), *base = lines->directory;
	if (*file->name == '/' || !directory || !*directory)
		return file->name;
	if (*directory == '/' || !base || !*base || base == directory)
		return arena_printf(lines->arena, "%s/%s", directory, file->name);
	return arena_printf(lines->arena, "%s/%s/%s", base, directory, file->name);
}

const char *dwarf_lines_file(struct dwarf_lines *lines, uint64_t number)
{
	if (lines->version < 5)
		number--;
	if (number >= lines->files.len || !lines->files.data[number].name)
		return NULL;
	struct file_name *file = &lines->files.data[number];
	if (!file->full)
		file->full = full_name(lines, file);
	return file->full;
}
