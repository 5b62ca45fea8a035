/* Interned strings: an open-addressing table of (hash, pointer) over an arena, or over strings on the heap where some of them may go. */
#include "base/intern.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_LEAST = 64 };

struct intern_slot {
	uint64_t hash;
	const char *string; /* NULL = free */
};

void intern_deinit(struct intern *table)
{
	for (size_t i = 0; table->forgets && table->slots && i <= table->mask; i++)
		free((char *)table->slots[i].string);
	arena_deinit(&table->arena);
	free(table->slots);
	*table = (struct intern){0};
}

static void intern_resize(struct intern *table, size_t mask)
{
	struct intern_slot *slots = mem_zalloc_table(mask + 1, sizeof(*slots));
	for (size_t i = 0; table->slots && i <= table->mask; i++) {
		if (!table->slots[i].string)
			continue;
		size_t at = table->slots[i].hash & mask;
		while (slots[at].string)
			at = (at + 1) & mask;
		slots[at] = table->slots[i];
	}
	free(table->slots);
	table->slots = slots;
	table->mask = mask;
}

const char *intern_bytes(struct intern *table, const char *string, size_t len)
{
	if (!table->slots || (table->count + 1) * 4 > (table->mask + 1) * 3)
		intern_resize(table, table->slots ? table->mask * 2 + 1 : SLOTS_LEAST - 1);
	len = strnlen(string, len);
	uint64_t hash = hash_bytes(string, len);
	size_t at = hash & table->mask;
	for (; table->slots[at].string; at = (at + 1) & table->mask) {
		const char *known = table->slots[at].string;
		if (table->slots[at].hash == hash && strncmp(known, string, len) == 0 && known[len] == '\0')
			return known;
		table->passed++;
	}
	table->slots[at] =
		(struct intern_slot){hash, table->forgets ? mem_strndup(string, len) : arena_strndup(&table->arena, string, len)};
	table->count++;
	return table->slots[at].string;
}

const char *intern_string(struct intern *table, const char *string)
{
	return intern_bytes(table, string, strlen(string));
}

void intern_forget(struct intern *table, const struct map64 *kept)
{
	size_t size = SLOTS_LEAST;
	for (size_t i = 0; table->slots && i <= table->mask; i++) {
		const char **string = &table->slots[i].string;
		if (!*string || map64_find(kept, (uintptr_t)*string))
			continue;
		free((char *)*string);
		*string = NULL;
		table->count--;
	}
	while (table->count * 2 > size)
		size *= 2;
	if (table->slots)
		intern_resize(table, size - 1);
}
