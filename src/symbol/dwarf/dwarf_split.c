/* Finding split units.
 *
 * A .dwo file has one unit. A .dwp file has many, and an index (.debug_cu_index): a hash table from a unit's number to where its parts
 * begin in each of the file's sections.
 *
 *	header  version, columns, units, slots
 *	slots   64-bit numbers of units, then 32-bit rows (from 1; 0 = empty)
 *	table   first row: which section a column is of; then the offsets, a row for each unit; then the sizes
 */
#include "symbol/dwarf/dwarf_split.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Sections by the numbers of version 2 and 5: those used here are the same in both but for these. */
enum { PART_INFO = 1, PART_ABBREV = 3, PART_STR_OFFSETS = 6, PART_RNGLISTS = 8, PARTS = 9 };

struct dwarf_split {
	pthread_mutex_t lock;
	char *path;
	bool package_tried;
	struct dwarf_source *package; /* .dwp, NULL = none */
	VEC(struct dwarf_source *) files;
	struct arena units;
};

struct dwarf_split *dwarf_split_create(const char *path)
{
	struct dwarf_split *split = mem_zalloc(sizeof(*split));
	pthread_mutex_init(&split->lock, NULL);
	split->path = mem_strdup(path);
	return split;
}

void dwarf_split_destroy(struct dwarf_split *split)
{
	if (!split)
		return;
	for (size_t i = 0; i < split->files.len; i++)
		dwarf_source_close(split->files.data[i]);
	vec_deinit(&split->files);
	dwarf_source_close(split->package);
	arena_deinit(&split->units);
	pthread_mutex_destroy(&split->lock);
	free(split->path);
	free(split);
}

static uint64_t unit_id(struct dwarf_unit *unit)
{
	struct dwarf_entry entry;
	if (unit->version < 5)
		dwarf_unit_open(unit, &entry);
	return unit->id;
}

/* ---- packages ---- */

/* Where the unit's parts begin; false when it isn't in the package. */
static bool find_in_index(const struct dwarf_source *package, uint64_t id, uint64_t *parts)
{
	struct cursor at = dwarf_cursor(package, DWARF_CU_INDEX, 0);
	uint32_t version = cursor_u32(&at), columns = cursor_u32(&at), units = cursor_u32(&at), slots = cursor_u32(&at), row = 0;
	if (at.failed || ((version & 0xffff) != 5 && version != 2) || columns > PARTS || !slots || (slots & (slots - 1)))
		return false;
	uint64_t rows = 16 + (uint64_t)slots * 8, table = rows + (uint64_t)slots * 4;
	uint64_t slot = id & (slots - 1), step = (id >> 32 & (slots - 1)) | 1;
	for (uint32_t tried = 0; tried < slots && !row; tried++, slot = (slot + step) & (slots - 1)) {
		struct cursor number = dwarf_cursor(package, DWARF_CU_INDEX, 16 + slot * 8);
		struct cursor place = dwarf_cursor(package, DWARF_CU_INDEX, rows + slot * 4);
		uint64_t found = cursor_u64(&number);
		uint32_t found_row = cursor_u32(&place);
		if (place.failed || !found_row)
			return false;
		if (found == id)
			row = found_row;
	}
	if (!row || row > units)
		return false;
	struct cursor kinds = dwarf_cursor(package, DWARF_CU_INDEX, table);
	struct cursor offsets = dwarf_cursor(package, DWARF_CU_INDEX, table + (uint64_t)columns * 4 * row);
	memset(parts, 0, PARTS * sizeof(*parts));
	for (uint32_t i = 0; i < columns; i++) {
		uint32_t kind = cursor_u32(&kinds), offset = cursor_u32(&offsets);
		if (kind < PARTS)
			parts[kind] = offset;
	}
	return !offsets.failed;
}

static struct dwarf_source *package_of(struct dwarf_split *split)
{
	if (!split->package_tried) {
		cleanup_free char *path = mem_printf("%s.dwp", split->path);
		split->package = dwarf_source_open(path, true);
		if (!split->package && str_ends_with(split->path, ".debug")) {
			cleanup_free char *other = mem_printf("%.*s.dwp", (int)(strlen(split->path) - 6), split->path);
			split->package = dwarf_source_open(other, true);
		}
	}
	split->package_tried = true;
	return split->package;
}

/* ---- tables of a split unit ---- */

/* Split units don't say where their tables are: behind the header of what is theirs, in DWARF 5; before that there were no headers. */
static void set_bases(struct dwarf_unit *unit, const struct dwarf_unit *skeleton, const uint64_t *parts)
{
	unsigned int header = unit->offset_size == 8 ? 16 : 8;
	unit->string_offsets_base = parts[PART_STR_OFFSETS] + (unit->version >= 5 ? header : 0);
	unit->range_lists_base = parts[PART_RNGLISTS] + (unit->version >= 5 ? header + 4 : 0);
	unit->abbrev_offset += parts[PART_ABBREV];
	unit->address_base = skeleton->address_base;
	unit->ranges_base = skeleton->ranges_base;
	unit->skeleton = skeleton;
}

static struct dwarf_unit *take(struct dwarf_split *split, const struct dwarf_unit *found, const struct dwarf_unit *skeleton,
			       const uint64_t *parts)
{
	struct dwarf_unit *unit = arena_copy(&split->units, found, sizeof(*found));
	struct dwarf_entry entry;
	unit->abbrevs = NULL;
	set_bases(unit, skeleton, parts);
	dwarf_unit_abbrevs(unit);
	return dwarf_unit_open(unit, &entry) ? unit : NULL;
}

static struct dwarf_unit *find_in_package(struct dwarf_split *split, const struct dwarf_unit *skeleton)
{
	struct dwarf_source *package = package_of(split);
	uint64_t parts[PARTS];
	struct dwarf_unit unit;
	if (!package || !find_in_index(package, skeleton->id, parts) || !dwarf_unit_header(package, parts[PART_INFO], &unit))
		return NULL;
	return unit.version == skeleton->version && unit.address_size == skeleton->address_size ? take(split, &unit, skeleton, parts)
												: NULL;
}

static struct dwarf_unit *find_in_file(struct dwarf_split *split, const char *path, const struct dwarf_unit *skeleton)
{
	static const uint64_t nothing[PARTS];
	struct dwarf_source *file = dwarf_source_open(path, true);
	if (!file)
		return NULL;
	vec_push(&split->files, file);
	for (size_t i = 0; i < file->unit_count; i++) {
		struct dwarf_unit *unit = &file->units[i];
		bool same = unit->version == skeleton->version && unit->address_size == skeleton->address_size;
		if (same && (unit->type == DW_UT_compile || unit->type == DW_UT_split_compile) && unit_id(unit) == skeleton->id)
			return take(split, unit, skeleton, nothing);
	}
	return NULL;
}

/* A split unit's file: as named, which is from the compiler's directory, or beside the program. */
static struct dwarf_unit *find_beside(struct dwarf_split *split, const struct dwarf_unit *skeleton)
{
	const char *name = skeleton->split_name, *directory = skeleton->directory, *slash = strrchr(split->path, '/'),
		   *last = strrchr(name, '/');
	int own = slash ? (int)(slash - split->path) + 1 : 0;
	cleanup_free char *named = *name == '/' || !directory ? mem_strdup(name) : mem_printf("%s/%s", directory, name);
	cleanup_free char *beside = mem_printf("%.*s%s", own, split->path, name);
	cleanup_free char *flat = mem_printf("%.*s%s", own, split->path, last ? last + 1 : name);
	struct dwarf_unit *unit = find_in_file(split, named, skeleton);
	if (!unit && *name != '/')
		unit = find_in_file(split, beside, skeleton);
	return unit ? unit : find_in_file(split, flat, skeleton);
}

struct dwarf_unit *dwarf_split_find(struct dwarf_split *split, const struct dwarf_unit *skeleton)
{
	pthread_mutex_lock(&split->lock);
	struct dwarf_unit *unit = find_in_package(split, skeleton);
	if (!unit && skeleton->split_name)
		unit = find_beside(split, skeleton);
	pthread_mutex_unlock(&split->lock);
	return unit;
}
