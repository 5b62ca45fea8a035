/* What lines of stacks say of addresses in files: the symbol's name, and how far behind its beginning they are. Bounded; one owner.
 *
 *	sets     address, file → name, distance     four of them in 64 bytes, one line of the processor's cache
 *	names    " name+0x" of each symbol that was met, side by side
 *
 * Addresses are many and each comes a few times: that many fit, and that those which come often lie close together, is what this is for. */
#pragma once

#include "analysis/script/lines.h"
#include "base/hash.h"
#include "base/id_table.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "symbol/symtab.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	SCRIPT_PLACES_SETS = 1 << 16,
	SCRIPT_PLACES_WAYS = 4,
	SCRIPT_NAME_LIMIT = 512, /* longer names of symbols are unusual */
};

/* Instead of a name: there is no symbol; composing the line takes more care. */
#define SCRIPT_NAME_NONE 0
#define SCRIPT_NAME_UNUSUAL UINT32_MAX

struct script_place {
	uint64_t address; /* in the file */
	uint32_t file;	  /* its number + 1 */
	uint32_t name;	  /* script_places_name(), or one of the above */
	uint32_t offset;  /* from the symbol's start */
};

/* Private: a place as it is kept. */
struct script_place_entry {
	uint64_t key; /* 48 bits of address, 16 of file; 0 = empty */
	uint32_t name, offset;
};
struct script_place_set {
	struct script_place_entry entries[SCRIPT_PLACES_WAYS];
} __attribute__((aligned(64)));

struct script_name {
	const struct symbol *symbol;
	uint32_t at; /* in `text` */
};

struct script_places {
	struct script_place_set *sets;
	struct strbuf text; /* of names: its length in two bytes, then itself, one after the other */
	struct id_table names_by_symbol;
	VEC(struct script_name) names;
};

void script_places_init(struct script_places *places);
void script_places_deinit(struct script_places *places);
/* Forgets everything when there are too many names. What script_place has of names is void then. */
void script_places_bound(struct script_places *places);

/* Private: 0 for addresses and files that are beyond all that is usual: they aren't kept. */
static inline uint64_t script_place_key(uint64_t address, uint32_t file)
{
	enum { FILE_BITS = 16 };
	bool fits = (uint64_t)((int64_t)(address << FILE_BITS) >> FILE_BITS) == address && file >> FILE_BITS == 0;
	return fits ? address << FILE_BITS | file : 0;
}

static inline struct script_place_set *script_places_set(const struct script_places *places, uint64_t key)
{
	return &places->sets[hash_u64(key) % SCRIPT_PLACES_SETS];
}

/* Asks for the memory that a look-up reads. */
static inline void script_places_prefetch(const struct script_places *places, uint64_t address, uint32_t file)
{
	__builtin_prefetch(script_places_set(places, script_place_key(address, file)));
}

/* What is known of a place, into it; false when nothing is. Those that are found move to the front of their set. */
static inline bool script_places_find(const struct script_places *places, struct script_place *place)
{
	uint64_t key = script_place_key(place->address, place->file);
	struct script_place_entry *entries = script_places_set(places, key)->entries;
	for (unsigned int i = 0; i < SCRIPT_PLACES_WAYS; i++) {
		struct script_place_entry found = entries[i];
		if (found.key != key)
			continue;
		place->name = found.name;
		place->offset = found.offset;
		if (i) {
			entries[i] = entries[i - 1];
			entries[i - 1] = found;
		}
		return key;
	}
	return false;
}

void script_places_keep(const struct script_places *places, const struct script_place *place);

/* The name of a symbol, of at most SCRIPT_NAME_LIMIT bytes, all of which may be printed. */
uint32_t script_places_name(struct script_places *places, const struct symbol *symbol, size_t length);

/* " name+0x", or " [unknown]"; SCRIPT_WIDE bytes may be read behind it. Valid until the next new name. */
static inline const char *script_places_text(const struct script_places *places, uint32_t name, size_t *ret_length)
{
	uint16_t length;
	memcpy(&length, places->text.data + name, sizeof(length));
	*ret_length = length;
	return places->text.data + name + sizeof(length);
}
