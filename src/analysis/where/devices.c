/* Requests under way, by where they begin and by where they end on their device: a completed one has advanced to its end. */
#include "analysis/where/devices.h"

#include "analysis/where/timeline.h"

/* More under way than any machine has: what was never completed in a recording with losses is forgotten. */
enum { BIOS_MOST = 1 << 20 };

struct where_open_bio {
	uint64_t start, end; /* keys; start 0 = free */
	uint64_t begin;
	uint32_t tid, device, asked; /* `asked`: what the request was for at the top */
};

struct where_waiting {
	uint64_t longest; /* ns, of those that ended since then */
	uint64_t begin;	  /* of the one that tells */
	uint32_t device, asked;
	uint32_t last_device, last_asked; /* of the request that was made last; stays from wait to wait */
};

void where_devices_deinit(struct where_devices *devices)
{
	vec_deinit(&devices->bios);
	vec_deinit(&devices->unused);
	vec_deinit(&devices->waiting);
	map64_deinit(&devices->by_start);
	map64_deinit(&devices->by_end);
	map64_deinit(&devices->by_thread);
}

/* Never 0 in practice; equal keys of different places would mix up two requests, no more. */
static uint64_t key_of(uint64_t device, uint64_t sector)
{
	return hash_combine(device, sector) | 1;
}

static struct where_open_bio *find(struct where_devices *devices, const struct map64 *map, uint64_t key)
{
	const uint64_t *place = map64_find(map, key);
	return place ? &devices->bios.data[*place] : NULL;
}

static void forget(struct where_devices *devices, struct where_open_bio *bio)
{
	map64_remove(&devices->by_start, bio->start);
	map64_remove(&devices->by_end, bio->end);
	bio->start = 0;
	vec_push(&devices->unused, (uint32_t)(bio - devices->bios.data));
}

static void forget_all(struct where_devices *devices)
{
	map64_deinit(&devices->by_start);
	map64_deinit(&devices->by_end);
	devices->bios.len = devices->unused.len = 0;
}

static void add(struct where_devices *devices, const struct where_open_bio *bio)
{
	struct where_open_bio *before = find(devices, &devices->by_start, bio->start);
	if (before)
		forget(devices, before);
	before = find(devices, &devices->by_end, bio->end);
	if (before)
		forget(devices, before);
	if (!devices->unused.len && devices->bios.len == BIOS_MOST)
		forget_all(devices);
	uint32_t place = (uint32_t)devices->bios.len;
	if (devices->unused.len)
		place = devices->unused.data[--devices->unused.len];
	else
		vec_push(&devices->bios, (struct where_open_bio){0});
	devices->bios.data[place] = *bio;
	*map64_insert(&devices->by_start, bio->start, NULL) = place;
	*map64_insert(&devices->by_end, bio->end, NULL) = place;
}

static struct where_waiting *waiting_of(struct where_devices *devices, uint32_t tid)
{
	bool is_new;
	uint64_t *place = map64_insert(&devices->by_thread, tid, &is_new);
	if (is_new) {
		*place = devices->waiting.len;
		vec_push(&devices->waiting, (struct where_waiting){0});
	}
	return &devices->waiting.data[*place];
}

static void complete(struct where_devices *devices, struct where_open_bio *bio, uint64_t time)
{
	struct where_waiting *waiting = waiting_of(devices, bio->tid);
	uint64_t taken = time > bio->begin ? time - bio->begin : 0;
	bool is_lower = taken >= waiting->longest - waiting->longest / 10 && bio->begin >= waiting->begin;
	if (taken > waiting->longest + waiting->longest / 10 || is_lower) {
		waiting->begin = bio->begin;
		waiting->device = bio->device;
		waiting->asked = bio->asked;
	}
	if (taken > waiting->longest)
		waiting->longest = taken;
	forget(devices, bio);
}

void where_devices_bio(struct where_devices *devices, enum where_bio what, const uint64_t *values, uint32_t tid, uint64_t time)
{
	uint64_t device = values[0], sector = values[1], sectors = values[2];
	if (what == WHERE_BIO_COMPLETE) {
		struct where_open_bio *bio = find(devices, sectors ? &devices->by_start : &devices->by_end, key_of(device, sector));
		if (bio)
			complete(devices, bio, time);
		return;
	}
	struct where_open_bio bio = {key_of(device, sector), key_of(device, sector + sectors), time, tid, (uint32_t)device,
				     (uint32_t)device};
	const struct where_open_bio *above =
		what == WHERE_BIO_REMAP ? find(devices, &devices->by_start, key_of(values[3], values[4])) : NULL;
	const struct where_open_bio *same = find(devices, &devices->by_start, bio.start);
	if (same) /* it was remapped to this device before it was queued there */
		bio = (struct where_open_bio){bio.start, bio.end, same->begin, same->tid, same->device, same->asked};
	if (what == WHERE_BIO_REMAP)
		bio.asked = above ? above->asked : (uint32_t)values[3]; /* a part of a request that was split begins elsewhere */
	if (above)
		bio.tid = above->tid;
	struct where_waiting *waiting = waiting_of(devices, bio.tid);
	waiting->last_device = bio.device;
	waiting->last_asked = bio.asked;
	add(devices, &bio);
}

void where_devices_wait(struct where_devices *devices, uint32_t tid)
{
	const uint64_t *place = map64_find(&devices->by_thread, tid);
	if (place)
		devices->waiting.data[*place] = (struct where_waiting){.last_device = devices->waiting.data[*place].last_device,
								       .last_asked = devices->waiting.data[*place].last_asked};
}

void where_devices_name(const struct where_devices *devices, uint32_t tid, struct where_wait *wait)
{
	const uint64_t *place = map64_find(&devices->by_thread, tid);
	if (!place || !wait->place || (wait->place->kind != WHERE_DISK && wait->place->kind != WHERE_FAULT))
		return;
	/* Kernels that lose events of the idle task don't tell of what ends while nobody runs. */
	const struct where_waiting *waiting = &devices->waiting.data[*place];
	wait->device = waiting->device ? waiting->asked : waiting->last_asked;
	wait->below = waiting->device ? waiting->device : waiting->last_device;
}
