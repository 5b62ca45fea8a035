/* From a hash to the ids of elements that somebody else keeps in an array: the table holds 32 bits of the hash and the id, 8 bytes a slot,
 * and never touches the elements. The owner compares:
 *
 *	struct id_probe probe;
 *	for (uint32_t id = id_table_first(&table, hash, &probe); id != ID_NONE; id = id_table_next(&table, &probe))
 *		if (elements[id] is the one)
 *			return id;
 *	id_table_insert(&table, hash, new_id);
 *
 * All zero is empty.
 */
#pragma once

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ID_NONE UINT32_MAX

struct id_table {
	uint64_t *slots; /* hash << 32 | id + 1; 0 = free */
	size_t count;
	size_t slot_count; /* grows by half: tables that have just doubled are the worse part of what is held at once */
};

struct id_probe {
	size_t at;
	uint32_t tag;
};

static inline void id_table_deinit(struct id_table *table)
{
	free(table->slots);
	*table = (struct id_table){0};
}

/* Where a hash would like to be: its upper bits say it. */
static inline size_t id_table_home(const struct id_table *table, uint32_t hash)
{
	return (uint64_t)hash * table->slot_count >> 32;
}

static inline size_t id_table_behind(const struct id_table *table, size_t at)
{
	return at + 1 == table->slot_count ? 0 : at + 1;
}

static inline uint32_t id_table_next(const struct id_table *table, struct id_probe *probe)
{
	for (;;) {
		uint64_t slot = table->slots[probe->at];
		if (!slot)
			return ID_NONE;
		probe->at = id_table_behind(table, probe->at);
		if ((uint32_t)(slot >> 32) == probe->tag)
			return (uint32_t)slot - 1;
	}
}

static inline uint32_t id_table_first(const struct id_table *table, uint32_t hash, struct id_probe *probe)
{
	*probe = (struct id_probe){.at = id_table_home(table, hash), .tag = hash};
	if (!table->slots)
		return ID_NONE;
	return id_table_next(table, probe);
}

/* Asks for the memory that a look-up of `hash` reads. */
static inline void id_table_prefetch(const struct id_table *table, uint32_t hash)
{
	if (table->slots)
		__builtin_prefetch(&table->slots[id_table_home(table, hash)]);
}

static inline void id_table_place(struct id_table *table, uint64_t slot)
{
	size_t at = id_table_home(table, (uint32_t)(slot >> 32));
	while (table->slots[at])
		at = id_table_behind(table, at);
	table->slots[at] = slot;
}

/* Makes room for `count` elements in total. */
static inline void id_table_reserve(struct id_table *table, size_t count)
{
	size_t slots = table->slots ? table->slot_count : 16;
	while (count * 4 > slots * 3)
		slots += slots / 2;
	if (slots == table->slot_count)
		return;
	struct id_table larger = {.slots = mem_zalloc_table(slots, sizeof(*larger.slots)), .count = table->count, .slot_count = slots};
	for (size_t i = 0; i < table->slot_count; i++)
		if (table->slots[i])
			id_table_place(&larger, table->slots[i]);
	free(table->slots);
	*table = larger;
}

static inline void id_table_insert(struct id_table *table, uint32_t hash, uint32_t id)
{
	id_table_reserve(table, table->count + 1);
	table->count++;
	id_table_place(table, (uint64_t)hash << 32 | (id + 1));
}
