/* Locks have one name for ever. A descriptor is asked for again when a tenth of a second has passed: programs use its number for something
 * else now and then. Of a server with thousands of connections some have names: each takes a look at all that the machine has. */
#include "analysis/where/object.h"

#include "analysis/lock/types.h"
#include "analysis/script/sample_text.h"
#include "arch/arch.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

struct where_descriptor {
	const char *name; /* NULL = nothing that a name is known of */
	uint64_t asked;	  /* when */
};

void where_objects_deinit(struct where_objects *objects)
{
	map64_deinit(&objects->locks);
	map64_deinit(&objects->descriptors);
	vec_deinit(&objects->open);
	strbuf_deinit(&objects->text);
}

/* Calls whose first argument is the descriptor of what they wait for. */
static bool takes_descriptor(const char *syscall)
{
	static const char *const calls[] = {"read",	"write",      "pread64",	 "pwrite64",  "readv",
					    "writev",	"preadv",     "pwritev",	 "preadv2",   "pwritev2",
					    "fsync",	"fdatasync",  "sync_file_range", "recvfrom",  "recvmsg",
					    "recvmmsg", "sendto",     "sendmsg",	 "sendmmsg",  "accept",
					    "accept4",	"connect",    "ioctl",		 "ftruncate", "fallocate",
					    "flock",	"getdents64", "splice",		 "sendfile",  "sendfile64",
					    "fcntl",	"lseek",      "copy_file_range", "tee",	      "readahead",
					    "syncfs"};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(syscall, calls[i]))
			return true;
	return false;
}

/* What the C library's functions wait at may lie anywhere in a condition and its kin: they are called by their variable alone. */
static bool is_within(uint64_t lock, uint64_t offset)
{
	enum { LARGEST = 56 }; /* bytes: pthread_rwlock_t */
	return offset < LARGEST && lock != (LOCK_USER | LOCK_USER_MUTEX) && lock != (LOCK_USER | LOCK_USER_FUTEX);
}

static const char *name_lock(struct where_objects *objects, const struct thread *thread, uint64_t lock, uint64_t address,
			     uint64_t model_time)
{
	struct where_places *places = objects->places;
	struct frame frame;
	bool is_new;
	uint64_t *slot = map64_insert(&objects->locks, hash_combine(hash_combine(thread->pid, address), lock), &is_new);
	if (!is_new)
		return (const char *)(uintptr_t)*slot;
	sample_resolve_data(places->resolver, thread, CPUMODE_USER, address, model_time, &frame);
	uint64_t offset = frame.symbol ? frame.dso_addr - frame.symbol->start : 0;
	const char *name = frame.symbol ? frame.symbol->name : NULL;
	if (!name)
		name = arena_printf(&places->arena, "at 0x%" PRIx64, address);
	else if (offset && !is_within(lock, offset))
		name = arena_printf(&places->arena, "%s+0x%" PRIx64, name, offset);
	*slot = (uintptr_t)intern_string(&places->strings, name);
	return (const char *)(uintptr_t)*slot;
}

/* Events are read late: the number may have become something else that nobody waits for like that. */
static bool fits(enum where_kind kind, const char *name)
{
	bool is_file = *name == '/', is_pipe = !strcmp(name, "pipe"), is_local = !strncmp(name, "UNIX", 4);
	if (kind == WHERE_PIPE)
		return is_file || is_pipe || is_local;
	return kind == WHERE_NETWORK ? !is_file && !is_pipe && !is_local : is_file;
}

static const char *name_descriptor(struct where_objects *objects, const struct thread *thread, uint64_t argument, uint64_t time)
{
	enum { STALE_NS = 100000000, MOST_ASKED = 20 };
	bool is_new;
	if (!objects->name_descriptor || argument > INT32_MAX)
		return NULL;
	uint64_t *index = map64_insert(&objects->descriptors, hash_combine(thread->pid, argument), &is_new);
	if (is_new) {
		*index = objects->open.len;
		vec_push(&objects->open, (struct where_descriptor){0});
	}
	struct where_descriptor *open = &objects->open.data[*index];
	if (time >= objects->window + STALE_NS) {
		objects->window = time;
		objects->asked = 0;
	}
	if ((!is_new && time < open->asked + STALE_NS) || objects->asked == MOST_ASKED)
		return open->name;
	objects->asked++;
	strbuf_clear(&objects->text);
	objects->name_descriptor(objects->context, thread->pid, (int)argument, &objects->text);
	/* A process that has ended had what it had before. */
	if (objects->text.len)
		open->name = intern_string(&objects->places->strings, strbuf_str(&objects->text));
	open->asked = time;
	return open->name;
}

const char *where_object_of(struct where_objects *objects, const struct where_place *place, uint64_t argument, const struct thread *thread,
			    uint64_t time, uint64_t model_time)
{
	if (!place || !place->syscall)
		return NULL;
	if (!strcmp(place->syscall, "futex"))
		return place->lock == (LOCK_USER | LOCK_USER_JOIN) ? NULL : name_lock(objects, thread, place->lock, argument, model_time);
	const char *name = takes_descriptor(place->syscall) ? name_descriptor(objects, thread, argument, time) : NULL;
	return name && fits(place->kind, name) ? name : NULL;
}

bool where_argument(const struct machine *machine, const struct sample *sample, uint64_t *ret)
{
	const struct arch *arch = arch_find(machine->arch);
	if (arch && arch->is_64bit && sample->regs_user.abi == PERF_SAMPLE_REGS_ABI_32)
		arch = arch->compat;
	return arch && where_register(sample, arch->call_argument, ret);
}
