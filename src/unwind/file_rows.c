/* The rows of functions, one function after the other, and what lies between them.
 *
 *	segment:    │ function │ gap │ function │ function │
 *	rows:       r  r r   r o     r   r  r   r r      r o      o: PACKED_OTHER
 */
#include "unwind/file_rows.h"

#include "unwind/tables.h"

#include <elf.h>

static void add_row(struct file_rows *out, uint64_t start, const struct packed_row *row)
{
	struct packed_row placed = *row;

	placed.start = (uint32_t)start;
	if (placed.base == PACKED_NONE)
		placed.base = PACKED_OTHER;
	if (out->rows.len && vec_last(&out->rows)->start >= placed.start)
		*vec_last(&out->rows) = placed;
	else
		vec_push(&out->rows, placed);
}

static void add_gap(struct file_rows *out, uint64_t start)
{
	add_row(out, start, &(struct packed_row){.base = PACKED_OTHER});
}

/* A function's rows up to `end`, an address as `entry->start` is; both lie `to_file` before their place in the file. */
static void add_function(const struct cfi_section *section, const struct cfi_entry *entry, uint64_t end, uint64_t to_file,
			 struct file_rows *out)
{
	size_t count;
	const struct packed_row *rows = packed_rows_of(section, entry->start, &count);

	if (!count || rows[0].start)
		add_gap(out, entry->start + to_file);
	for (size_t i = 0; i < count && entry->start + rows[i].start < end; i++)
		add_row(out, entry->start + rows[i].start + to_file, &rows[i]);
}

/* The function that covers an address is the last one that begins at or before it. */
static void add_segment(const struct cfi_section *section, const struct elf_segment *segment, struct file_rows *out)
{
	uint64_t to_file = segment->offset - segment->vaddr, end = segment->vaddr + segment->filesz;

	for (size_t i = 0; i < section->count; i++) {
		const struct cfi_entry *entry = &section->entries[i];
		uint64_t next = i + 1 < section->count ? entry[1].start : end, stop = next < end ? next : end;
		if (entry->start < segment->vaddr || entry->start >= stop)
			continue;
		add_function(section, entry, entry->end < stop ? entry->end : stop, to_file, out);
		if (entry->end < stop)
			add_gap(out, entry->end + to_file);
	}
}

void file_rows_collect(struct resolver *resolver, struct dso *dso, uint32_t align, struct file_rows *out)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	const struct elf_file *elf = tables ? &tables->runtime : NULL;
	const struct cfi_section *section = tables && tables->sections[0].count ? &tables->sections[0]
					    : tables				? &tables->sections[1]
										: NULL;

	if (!section || !section->count || dso->jitdump)
		return;
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		uint64_t end = segment->offset + segment->filesz;
		/* Segments are sorted by address, and so by place; one that isn't would break the order. */
		if (segment->type != PT_LOAD || !(segment->flags & PF_X) || end < segment->offset || end > UINT32_MAX ||
		    segment->offset < out->end)
			continue;
		add_gap(out, out->rows.len ? segment->offset : segment->offset & ~(uint64_t)(align - 1));
		add_segment(section, segment, out);
		out->end = end;
	}
}

void file_rows_deinit(struct file_rows *rows)
{
	vec_deinit(&rows->rows);
}
