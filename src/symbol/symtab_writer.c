/* Tables of symbols that come in the order of their addresses, as the kernel lists its own: each is kept at once as it is going to be, and
 * its name packed, so that putting 122,000 of them together takes the 2.5 MB that the table takes, where a builder needs 15 MB.
 */
#include "symbol/symtab_internal.h"

#include "base/mem.h"

#include <stdlib.h>

struct symtab_writer {
	struct symtab_private *private;
	size_t count, room;
	uint64_t end; /* of the last one */
};

enum { FIRST_ROOM = 4096 };

struct symtab_writer *symtab_writer_create(void)
{
	struct symtab_writer *writer = mem_zalloc(sizeof(*writer));
	writer->private = mem_zalloc(sizeof(*writer->private));
	writer->private->packed_names = packed_names_create();
	return writer;
}

static void make_room(struct symtab_writer *writer, size_t room)
{
	struct symtab_private *private = writer->private;
	private->symbols = mem_resize(private->symbols, room * sizeof(*private->symbols));
	private->starts = mem_resize(private->starts, room * sizeof(*private->starts));
	writer->room = room;
}

bool symtab_writer_add(struct symtab_writer *writer, const struct symbol *symbol)
{
	struct symtab_private *private = writer->private;
	if (!writer->count)
	private->base = symbol->start;
	if (symbol->start < writer->end || symbol->start - private->base > UINT32_MAX || symbol->end <= symbol->start)
		return false;
	if (writer->count == writer->room)
		make_room(writer, writer->room ? writer->room + writer->room / 2 : FIRST_ROOM);
	symtab_pack(private, writer->count, symbol);
	private->symbols[writer->count].name = packed_names_add(private->packed_names, symbol->name);
	private->starts[writer->count++] = (uint32_t)(symbol->start - private->base);
	writer->end = symbol->end;
	return true;
}

struct symtab *symtab_writer_finish(struct symtab_writer *writer, uint64_t delta, int source, const char *path)
{
	struct symtab_private *private = writer->private;
	size_t count = writer->count;
	packed_names_end(private->packed_names);
	make_room(writer, count);
	private->base += delta;
	private->interval_count = count;
	free(writer);
	return symtab_finish(private, count, source, path);
}

void symtab_writer_destroy(struct symtab_writer *writer)
{
	if (writer)
		symtab_destroy(symtab_writer_finish(writer, 0, 0, NULL));
}
