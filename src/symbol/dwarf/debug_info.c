/* Debug information of a file: a list of its units' address ranges; and of a unit, when an address in it is first asked for, its functions
 * and its lines. Each unit has a lock, so that several threads make the tables of several units at a time.
 */
#include "symbol/dwarf/debug_info.h"

#include "base/arena.h"
#include "base/formats/leb128.h"
#include "base/mem.h"
#include "symbol/dwarf/dwarf_functions.h"
#include "symbol/dwarf/dwarf_lines.h"
#include "symbol/dwarf/dwarf_split.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* A unit with code. */
struct compiled {
	pthread_mutex_t lock; /* guards what follows; `unit` is set before */
	struct dwarf_unit *unit;
	bool read;
	struct dwarf_unit *whole; /* the split unit where there is one, else `unit` */
	struct dwarf_functions functions;
	struct dwarf_lines *lines;
	struct arena arena; /* names */
};

struct debug_info {
	struct dwarf_source *file;
	struct dwarf_split *split;
	struct compiled *compiled;
	size_t count;
	struct dwarf_range_list ranges; /* owner: number in `compiled` */
};

/* ---- units ---- */

/* Ranges from .debug_aranges, for units that don't tell their own: older compilers, where code is in several sections. `wanted`: by the
 * number of the unit in the file, its number in `compiled` + 1. */
static void add_address_table(struct debug_info *info, struct cursor *at, const uint32_t *wanted)
{
	const uint8_t *start = at->at;
	uint8_t offset_size;
	uint64_t length = dwarf_length_read(at, &offset_size);
	if (at->failed)
		return;
	struct cursor table = cursor_init(at->at, length, at->swap);
	at->at += length;
	uint16_t version = cursor_u16(&table);
	uint64_t offset = dwarf_offset_read(&table, offset_size);
	uint8_t size = cursor_u8(&table);
	uint8_t segment = cursor_u8(&table);
	size_t header = (size_t)(table.at - start);
	if (table.failed || version != 2 || segment || (size != 4 && size != 8))
		return;
	cursor_bytes(&table, (2 * size - header % (2 * size)) % (2 * size));  /* pairs are aligned to their size */
	struct dwarf_unit *unit = dwarf_unit_at(info->file, offset + header); /* any place behind the unit's own header serves */
	if (!unit || unit->offset != offset || !wanted[unit - info->file->units])
		return;
	while (cursor_left(&table)) {
		uint64_t low = dwarf_offset_read(&table, size), count = dwarf_offset_read(&table, size);
		if (low && low + count > low)
			vec_push(&info->ranges, (struct dwarf_range){low, low + count, wanted[unit - info->file->units] - 1, 0});
		if (table.failed)
			break;
	}
}

static void index_units(struct debug_info *info)
{
	struct dwarf_source *file = info->file;
	uint32_t *without_ranges = mem_zalloc_array(file->unit_count + 1, sizeof(*without_ranges));
	info->compiled = mem_zalloc_array(file->unit_count + 1, sizeof(*info->compiled));
	for (size_t i = 0; i < file->unit_count; i++) {
		struct dwarf_unit *unit = &file->units[i];
		struct dwarf_entry entry;
		if ((unit->type != DW_UT_compile && unit->type != DW_UT_skeleton) || !dwarf_unit_open(unit, &entry))
			continue;
		struct compiled *compiled = &info->compiled[info->count];
		size_t before = info->ranges.len;
		compiled->unit = unit;
		pthread_mutex_init(&compiled->lock, NULL);
		dwarf_entry_ranges(unit, &entry, (uint32_t)info->count++, 0, &info->ranges);
		if (info->ranges.len == before)
			without_ranges[i] = (uint32_t)info->count;
	}
	struct cursor at = dwarf_cursor(file, DWARF_ARANGES, 0);
	while (!at.failed && cursor_left(&at))
		add_address_table(info, &at, without_ranges);
	free(without_ranges);
	dwarf_ranges_sort(&info->ranges);
}

struct debug_info *debug_info_open(const char *path)
{
	struct dwarf_source *file = dwarf_source_open(path, false);
	if (!file)
		return NULL;
	struct debug_info *info = mem_zalloc(sizeof(*info));
	info->file = file;
	info->split = dwarf_split_create(path);
	index_units(info);
	return info;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->count; i++) {
		struct compiled *compiled = &info->compiled[i];
		dwarf_functions_deinit(&compiled->functions);
		dwarf_lines_destroy(compiled->lines);
		arena_deinit(&compiled->arena);
		pthread_mutex_destroy(&compiled->lock);
	}
	free(info->compiled);
	vec_deinit(&info->ranges);
	dwarf_split_destroy(info->split);
	dwarf_source_close(info->file);
	free(info);
}

/* Makes the unit's tables. A skeleton has the lines; the functions are in its split unit, or, of those that were inlined, in itself too. */
static void read_unit(struct debug_info *info, struct compiled *compiled)
{
	struct dwarf_unit *unit = compiled->unit;
	struct dwarf_unit *split = unit->split_name ? dwarf_split_find(info->split, unit) : NULL;
	compiled->whole = split ? split : unit;
	dwarf_functions_read(compiled->whole, &compiled->functions);
	compiled->lines = dwarf_lines_create(unit, &compiled->arena);
	compiled->read = true;
}

/* ---- questions ---- */

static size_t frames_in(struct compiled *compiled, uint64_t vaddr, struct debug_frame *ret)
{
	size_t count = 0;
	uint32_t line, file;
	ret[0] = (struct debug_frame){0};
	if (dwarf_lines_find(compiled->lines, vaddr, &line, &file)) {
		ret[0].line = line;
		ret[0].file = dwarf_lines_file(compiled->lines, file);
	}
	struct dwarf_functions *functions = &compiled->functions;
	for (int32_t number = dwarf_functions_find(functions, vaddr); number != DWARF_NO_FUNCTION && count < DEBUG_FRAMES_MAX - 1;) {
		struct dwarf_function *function = &functions->list.data[number];
		ret[count].name = dwarf_function_name(functions, compiled->whole, function, &compiled->arena);
		ret[count++].inlined = function->inlined;
		if (!function->inlined)
			break;
		ret[count] =
			(struct debug_frame){.file = dwarf_lines_file(compiled->lines, function->call_file), .line = function->call_line};
		number = function->parent;
	}
	return count || !ret[0].file ? count : 1; /* a line without a function: assembler */
}

size_t debug_info_frames(struct debug_info *info, uint64_t vaddr, struct debug_frame *ret)
{
	const struct dwarf_range *range = dwarf_ranges_find(&info->ranges, vaddr);
	if (!range || vaddr >= range->high)
		return 0;
	struct compiled *compiled = &info->compiled[range->owner];
	pthread_mutex_lock(&compiled->lock);
	if (!compiled->read)
		read_unit(info, compiled);
	size_t count = frames_in(compiled, vaddr, ret);
	pthread_mutex_unlock(&compiled->lock);
	return count;
}
