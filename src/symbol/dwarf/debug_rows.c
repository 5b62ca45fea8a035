/* Lines of source and the addresses where their statements begin, by the line tables of debug information. */
#include "symbol/dwarf/debug_program_internal.h"

#include <stdlib.h>
#include <string.h>

struct row_search {
	struct debug_program *program;
	const char *file;
	uint32_t first, last;
	const struct debug_function *within;
	struct debug_rows *found;
};

/* Does the row belong to `within` itself? In functions inlined there it doesn't, but for the line of the call. */
static bool belongs(const struct row_search *search, uint64_t address, uint32_t line)
{
	Dwarf_Die unit, scopes[SCOPES_MAX];
	size_t count, at = 0;

	if (!search->within)
		return true;
	count = debug_scopes(search->program, address, &unit, scopes);
	while (at < count && dwarf_dieoffset(&scopes[at]) != search->within->die)
		at++;
	if (at == count)
		return false;
	for (at++; at < count; at++) {
		Dwarf_Attribute attribute;
		Dwarf_Word call = 0;
		if (dwarf_tag(&scopes[at]) != DW_TAG_inlined_subroutine)
			continue;
		return dwarf_attr(&scopes[at], DW_AT_call_line, &attribute) && dwarf_formudata(&attribute, &call) == 0 && call == line;
	}
	return true;
}

static void consider_row(struct row_search *search, Dwarf_Line *row)
{
	Dwarf_Addr address;
	int line;
	bool begins = false, end = false;
	const char *file = dwarf_linesrc(row, NULL, NULL);

	if (!file || dwarf_lineaddr(row, &address) != 0 || dwarf_lineno(row, &line) != 0 || dwarf_linebeginstatement(row, &begins) != 0 ||
	    dwarf_lineendsequence(row, &end) != 0 || !begins || end)
		return;
	if (line <= 0 || (uint32_t)line < search->first || (uint32_t)line > search->last || !debug_path_matches(file, search->file) ||
	    !belongs(search, address, (uint32_t)line))
		return;
	vec_push(&search->found->items, (struct debug_row){file, (uint32_t)line, address});
}

static int compare_rows(const void *a, const void *b)
{
	const struct debug_row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void sort_rows(struct debug_rows *rows)
{
	size_t to = 0;

	if (!rows->items.len)
		return;
	qsort(rows->items.data, rows->items.len, sizeof(*rows->items.data), compare_rows);
	for (size_t i = 1; i < rows->items.len; i++)
		if (compare_rows(&rows->items.data[to], &rows->items.data[i]))
			rows->items.data[++to] = rows->items.data[i];
	rows->items.len = to + 1;
}

void debug_program_rows(struct debug_program *program, const char *file, uint32_t first, uint32_t last, const struct debug_function *within,
			struct debug_rows *ret)
{
	struct row_search search = {program, file, first, last, within, ret};
	Dwarf_CU *cu = NULL;
	Dwarf_Lines *lines;
	Dwarf_Files *files;
	size_t count, file_count;

	for (Dwarf_Off at = 0; dwarf_next_lines(program->file.dwarf, at, &at, &cu, &files, &file_count, &lines, &count) == 0;)
		for (size_t i = 0; i < count; i++)
			consider_row(&search, dwarf_onesrcline(lines, i));
	sort_rows(ret);
}

uint32_t debug_program_line_at(struct debug_program *program, uint64_t address)
{
	Dwarf_Die unit, scopes[SCOPES_MAX];
	size_t count = debug_scopes(program, address, &unit, scopes);
	struct debug_function function;
	int line = 0;

	if (count && debug_program_outer_function(program, address, &function) && function.entry == address && function.line)
		return function.line;
	Dwarf_Lines *lines;
	size_t rows;
	if (!count || dwarf_getsrclines(&unit, &lines, &rows) != 0)
		return 0;
	for (size_t i = 0; i < rows; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		Dwarf_Addr at;
		bool begins = false;
		if (dwarf_lineaddr(row, &at) == 0 && at == address && dwarf_linebeginstatement(row, &begins) == 0 && begins)
			return dwarf_lineno(row, &line) == 0 && line > 0 ? (uint32_t)line : 0;
	}
	return 0;
}

/* The compiler marks the place, or else it is the second row: the first is that of the opening brace. */
uint64_t debug_program_body(struct debug_program *program, const struct debug_function *function)
{
	Dwarf_Die unit, scopes[SCOPES_MAX];
	Dwarf_Lines *lines;
	size_t count, scope_count = debug_scopes(program, function->entry, &unit, scopes);
	uint64_t second = 0;

	if (!scope_count || dwarf_getsrclines(&unit, &lines, &count) != 0)
		return function->entry;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		bool marked = false;
		if (dwarf_lineaddr(row, &address) != 0 || address <= function->entry || address >= function->end)
			continue;
		if (dwarf_lineprologueend(row, &marked) == 0 && marked)
			return address;
		if (!second)
			second = address;
	}
	return second ? second : function->entry;
}
