/* Addresses of memory accesses: a table of distinct places behind a lock. */
#include "analysis/report/data_places.h"

#include "analysis/script/sample_text.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE_SIZE = 64 };

struct data_places {
	struct resolver *resolver;
	pthread_mutex_t lock;
	struct map64 index; /* hash → the place */
	struct arena arena;
};

struct data_places *data_places_create(struct resolver *resolver)
{
	struct data_places *places = mem_zalloc(sizeof(*places));
	places->resolver = resolver;
	pthread_mutex_init(&places->lock, NULL);
	return places;
}

void data_places_destroy(struct data_places *places)
{
	if (!places)
		return;
	pthread_mutex_destroy(&places->lock);
	map64_deinit(&places->index);
	arena_deinit(&places->arena);
	free(places);
}

static const struct data_place *keep(struct data_places *places, const struct data_place *place)
{
	const uint64_t words[] = {place->address, place->dso_addr, (uintptr_t)place->dso, (uintptr_t)place->symbol,
				  (uint64_t)place->pid << 16 | (uint64_t)place->cpumode << 8 | place->shared};
	uint64_t hash = hash_words(words, sizeof(words) / sizeof(words[0]), 0).lo;
	pthread_mutex_lock(&places->lock);
	uint64_t *slot = map64_insert(&places->index, hash, NULL);
	if (!*slot)
		*slot = (uintptr_t)arena_copy(&places->arena, place, sizeof(*place));
	const struct data_place *kept = (const struct data_place *)(uintptr_t)*slot;
	pthread_mutex_unlock(&places->lock);
	return kept;
}

/* Private memory of a process is no file's, as far as others could map it. */
static bool is_shared(const struct map *map)
{
	return map && (map->flags & MAP_SHARED) && !(map->prot & PROT_EXEC) &&
	       (map->major || map->minor || map->inode || map->inode_generation);
}

static struct data_place place_of(const struct frame *frame)
{
	return (struct data_place){.address = frame->ip,
				   .dso_addr = frame->dso_addr,
				   .dso = frame->map ? frame->map->dso : NULL,
				   .symbol = frame->symbol,
				   .cpumode = frame->cpumode,
				   .shared = is_shared(frame->map)};
}

const struct data_place *data_places_data(struct data_places *places, const struct thread *thread, uint8_t cpumode, uint64_t address,
					  uint64_t time)
{
	struct frame frame;
	sample_resolve_data(places->resolver, thread, cpumode, address, time, &frame);
	struct data_place place = place_of(&frame);
	return keep(places, &place);
}

const struct data_place *data_places_code(struct data_places *places, const struct thread *thread, uint8_t cpumode, uint64_t address,
					  uint64_t time)
{
	struct frame frame;
	sample_resolve(places->resolver, thread, cpumode, address, time, &frame);
	struct data_place place = place_of(&frame);
	return keep(places, &place);
}

static const struct symbol *symbol_of_line(struct data_places *places, const struct frame *frame, uint64_t line)
{
	for (uint64_t at = line; frame->map && at < line + LINE_SIZE; at++) {
		const struct symbol *symbol = resolver_symbol(places->resolver, frame->map->dso, at);
		if (symbol)
			return symbol;
	}
	return NULL;
}

const struct data_place *data_places_line(struct data_places *places, const struct thread *thread, uint8_t cpumode, uint64_t address,
					  uint64_t time)
{
	struct frame frame;
	sample_resolve_data(places->resolver, thread, cpumode, address, time, &frame);
	struct data_place place = place_of(&frame);
	place.dso_addr &= ~(uint64_t)(LINE_SIZE - 1);
	place.address -= frame.dso_addr - place.dso_addr;
	place.symbol = symbol_of_line(places, &frame, place.dso_addr);
	if (place.shared)
		place.address = place.dso_addr; /* wherever a process has mapped it */
	else if (thread && frame.cpumode == CPUMODE_USER)
		place.pid = thread->pid;
	return keep(places, &place);
}
