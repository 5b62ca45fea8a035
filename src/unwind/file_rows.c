/* The rows of functions, one function after the other, and what lies between them.
 *
 *	segment:    │ function │ gap │ function │ stubs │ function │
 *	rows:       r  r r   r n     r   r  r   r o     r r        n      n: WALK_NONE, o: WALK_OTHER
 */
#include "unwind/file_rows.h"

#include "unwind/tables.h"

#include <elf.h>
#include <string.h>

struct collecting {
	const struct unwind_tables *tables;
	const struct cfi_section *section; /* of the function */
	uint64_t to_file;		   /* address plus this: offset in the file */
	uint64_t start, end;		   /* addresses of which rows are wanted */
	uint64_t latest;		   /* where the newest row begins */
	bool unordered;
	const struct goroutine_switch *switches; /* what the function is; or NULL */
	struct file_rows *out;
};

static void add_row(struct collecting *collecting, uint64_t address, struct walk_row row)
{
	struct file_rows *out = collecting->out;

	row.start = (uint32_t)(address + collecting->to_file);
	if (out->rows.len && vec_last(&out->rows)->start >= row.start)
		*vec_last(&out->rows) = row;
	else
		vec_push(&out->rows, row);
}

static void add_own_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct collecting *collecting = context;

	collecting->unordered |= address < collecting->latest;
	collecting->latest = address;
	if (address >= collecting->end)
		return;
	struct walk_row walk = walk_row_of(collecting->section, row);
	if (collecting->switches && walk.base == WALK_SP) {
		walk.base = collecting->switches->kind == WALK_BEGINS_PROGRAM ? WALK_END : WALK_SWITCH;
		walk.more = collecting->switches->kind;
	}
	add_row(collecting, address < collecting->start ? collecting->start : address, walk);
}

static const struct goroutine_switch *find_switch(const struct unwind_tables *tables, uint64_t start)
{
	for (size_t i = 0; i < tables->switch_count; i++)
		if (tables->switches[i].start == start)
			return &tables->switches[i];
	return NULL;
}

/* The rows of a function in [start, end). Of a program that is broken somewhere, or goes back and forth, none can be told by itself. */
static void add_function(struct collecting *collecting, const struct cfi_section *section, const struct cfi_entry *entry, uint64_t start,
			 uint64_t end)
{
	collecting->section = section;
	collecting->start = start;
	collecting->end = end;
	collecting->latest = entry->start;
	collecting->unordered = false;
	collecting->switches = find_switch(collecting->tables, entry->start);
	add_row(collecting, start, (struct walk_row){.base = WALK_OTHER});
	size_t count = collecting->out->rows.len;
	if (cfi_section_rows(section, entry, add_own_row, collecting) && !collecting->unordered)
		return;
	collecting->out->rows.len = count;
	add_row(collecting, start, (struct walk_row){.base = WALK_OTHER});
}

static bool has_known(const struct elf_file *elf, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].addr < end && elf->sections[i].addr + elf->sections[i].size > start &&
		    unwind_section_is_known(&elf->sections[i]))
			return true;
	return false;
}

/* What section number `level` has in [start, end), and in its gaps the sections behind it. The function that covers an address is the last
 * one that begins at or before it. */
static void add_range(struct collecting *collecting, unsigned int level, uint64_t start, uint64_t end)
{
	const struct cfi_section *section = &collecting->tables->sections[level];

	if (start >= end)
		return;
	if (level == UNWIND_SECTIONS) {
		bool known = has_known(&collecting->tables->runtime, start, end);
		add_row(collecting, start, (struct walk_row){.base = known ? WALK_OTHER : WALK_NONE});
		return;
	}
	size_t i = cfi_section_until(section, start);
	for (i -= i > 0; i < section->count; i++) {
		const struct cfi_entry entry = cfi_section_at(section, i);
		if (entry.start >= end)
			break;
		uint64_t next = i + 1 < section->count ? cfi_section_at(section, i + 1).start : end, own = cfi_entry_end(section, &entry);
		uint64_t begin = entry.start < start ? start : entry.start, stop = own < next ? own : next;
		if (stop > end)
			stop = end;
		if (begin >= stop)
			continue;
		add_range(collecting, level + 1, start, begin);
		add_function(collecting, section, &entry, begin, stop);
		start = stop;
	}
	add_range(collecting, level + 1, start, end);
}

/* Segments are sorted by address, and so by place; one that isn't would break the order. */
static bool has_code(const struct elf_segment *segment, uint64_t before)
{
	uint64_t end = segment->offset + segment->filesz;

	return segment->type == PT_LOAD && segment->flags & PF_X && end > segment->offset && end <= UINT32_MAX && segment->offset >= before;
}

bool file_rows_extent(struct resolver *resolver, struct dso *dso, uint32_t align, uint64_t *ret_begin, uint64_t *ret_end)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	const struct elf_file *elf = &tables->runtime;

	bool any = false;

	*ret_end = 0;
	for (int i = 0; i < UNWIND_SECTIONS; i++)
		any |= tables->sections[i].count > 0;
	if (!any || dso->jitdump)
		return false;
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		if (!has_code(&elf->segments[i], *ret_end))
			continue;
		if (!*ret_end)
			*ret_begin = elf->segments[i].offset & ~(uint64_t)(align - 1);
		*ret_end = elf->segments[i].offset + elf->segments[i].filesz;
	}
	return *ret_end != 0;
}

void file_rows_collect(struct resolver *resolver, struct dso *dso, uint64_t begin, uint64_t end, struct file_rows *out)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	const struct elf_file *elf = &tables->runtime;
	struct collecting collecting = {.tables = tables, .out = out};
	uint64_t before = 0;

	add_row(&collecting, begin, (struct walk_row){.base = WALK_NONE});
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (!has_code(segment, before))
			continue;
		before = segment->offset + segment->filesz;
		uint64_t from = segment->offset > begin ? segment->offset : begin, to = before < end ? before : end;
		if (from >= to)
			continue;
		collecting.to_file = segment->offset - segment->vaddr;
		add_range(&collecting, 0, from - collecting.to_file, to - collecting.to_file);
		collecting.to_file = 0;
		if (to < end)
			add_row(&collecting, to, (struct walk_row){.base = WALK_NONE});
	}
}

void file_rows_deinit(struct file_rows *rows)
{
	vec_deinit(&rows->rows);
}
