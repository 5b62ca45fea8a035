/* A place that is new goes behind those of its set that have been asked for again, so that what comes once doesn't push out what comes
 * often. */
#include "analysis/script/places.h"

#include "base/mem.h"

#include <stdlib.h>

enum { TEXT_LIMIT = 4 << 20, /* bytes */ NEW = 2 /* where in its set a new place goes */ };

static uint32_t add_text(struct script_places *places, const char *name, size_t length, const char *behind)
{
	size_t at = places->text.len;
	uint16_t whole = (uint16_t)(1 + length + strlen(behind));
	strbuf_add(&places->text, &whole, sizeof(whole));
	strbuf_add_char(&places->text, ' ');
	strbuf_add(&places->text, name, length);
	strbuf_add_str(&places->text, behind);
	strbuf_reserve(&places->text, SCRIPT_WIDE);
	return (uint32_t)at;
}

static void begin_names(struct script_places *places)
{
	static const char unknown[] = "[unknown]";
	strbuf_clear(&places->text);
	add_text(places, unknown, sizeof(unknown) - 1, ""); /* SCRIPT_NAME_NONE */
}

void script_places_init(struct script_places *places)
{
	*places = (struct script_places){.sets = mem_zalloc_table(SCRIPT_PLACES_SETS, sizeof(*places->sets))};
	begin_names(places);
}

void script_places_deinit(struct script_places *places)
{
	free(places->sets);
	strbuf_deinit(&places->text);
	id_table_deinit(&places->names_by_symbol);
	vec_deinit(&places->names);
}

void script_places_bound(struct script_places *places)
{
	if (places->text.len < TEXT_LIMIT)
		return;
	memset(places->sets, 0, SCRIPT_PLACES_SETS * sizeof(*places->sets));
	id_table_deinit(&places->names_by_symbol);
	places->names.len = 0;
	begin_names(places);
}

void script_places_keep(const struct script_places *places, const struct script_place *place)
{
	uint64_t key = script_place_key(place->address, place->file);
	struct script_place_entry *entries = script_places_set(places, key)->entries;
	unsigned int at = 0;
	if (!key)
		return;
	while (at < NEW && entries[at].key)
		at++;
	for (unsigned int i = SCRIPT_PLACES_WAYS - 1; i > at; i--)
		entries[i] = entries[i - 1];
	entries[at] = (struct script_place_entry){key, place->name, place->offset};
}

uint32_t script_places_name(struct script_places *places, const struct symbol *symbol, size_t length)
{
	uint32_t hash = (uint32_t)hash_u64((uintptr_t)symbol);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&places->names_by_symbol, hash, &probe); id != ID_NONE;
	     id = id_table_next(&places->names_by_symbol, &probe))
		if (places->names.data[id].symbol == symbol)
			return places->names.data[id].at;
	uint32_t at = add_text(places, symbol->name, length, "+0x");
	id_table_insert(&places->names_by_symbol, hash, (uint32_t)places->names.len);
	vec_push(&places->names, (struct script_name){symbol, at});
	return at;
}
