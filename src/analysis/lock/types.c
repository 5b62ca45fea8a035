/* The table of kinds (types.h). */
#include "analysis/lock/types.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <string.h>

enum { SPIN = 1 << 0, READ = 1 << 1, WRITE = 1 << 2, RT = 1 << 3, PERCPU = 1 << 4, MUTEX = 1 << 5, KNOWN = (1 << 6) - 1 };

static const struct lock_type {
	uint64_t flags;
	const char *name, *family;
} lock_types[] = {
	{0, "semaphore", "semaphore"},
	{SPIN, "spinlock", "spinlock"},
	{SPIN | READ, "rwlock:R", "rwlock"},
	{SPIN | WRITE, "rwlock:W", "rwlock"},
	{READ, "rwsem:R", "rwsem"},
	{WRITE, "rwsem:W", "rwsem"},
	{RT, "rtmutex", "rtmutex"},
	{RT | READ, "rwlock-rt:R", "rwlock-rt"},
	{RT | WRITE, "rwlock-rt:W", "rwlock-rt"},
	{PERCPU | READ, "pcpu-sem:R", "percpu-rwsem"},
	{PERCPU | WRITE, "pcpu-sem:W", "percpu-rwsem"},
	{MUTEX, "mutex", "mutex"},
	{MUTEX | SPIN, "mutex", "mutex"},
	{LOCK_USER | LOCK_USER_MUTEX, "mutex", "mutex"},
	{LOCK_USER | LOCK_USER_READ, "rwlock:R", "rwlock"},
	{LOCK_USER | LOCK_USER_WRITE, "rwlock:W", "rwlock"},
	{LOCK_USER | LOCK_USER_SEMAPHORE, "semaphore", "semaphore"},
	{LOCK_USER | LOCK_USER_CONDITION, "condition", "condition"},
	{LOCK_USER | LOCK_USER_BARRIER, "barrier", "barrier"},
	{LOCK_USER | LOCK_USER_JOIN, "join", "join"},
	{LOCK_USER | LOCK_USER_FUTEX, "futex", "futex"},
};
enum { LOCK_TYPES = sizeof(lock_types) / sizeof(*lock_types) };

/* Its number in the table; LOCK_TYPES = none. */
static size_t find(uint64_t flags)
{
	size_t i = 0;
	while (i < LOCK_TYPES && lock_types[i].flags != (flags & LOCK_USER ? flags : flags & KNOWN))
		i++;
	return i;
}

const char *lock_type_name(uint64_t flags)
{
	size_t type = find(flags);
	return type < LOCK_TYPES ? lock_types[type].name : "unknown";
}

const char *lock_type_family(uint64_t flags)
{
	size_t type = find(flags);
	return type < LOCK_TYPES ? lock_types[type].family : "unknown";
}

/* Names without underscores in front. */
uint64_t lock_user_flags(const char *name)
{
	static const struct {
		const char *begin, *contains;
		uint64_t kind;
	} kinds[] = {
		{"pthread_mutex_", "lock", LOCK_USER_MUTEX},
		{"lll_lock_wait", "", LOCK_USER_MUTEX},
		{"pthread_rwlock_", "rdlock", LOCK_USER_READ},
		{"pthread_rwlock_", "wrlock", LOCK_USER_WRITE},
		{"pthread_cond_", "wait", LOCK_USER_CONDITION},
		{"cnd_", "wait", LOCK_USER_CONDITION},
		{"mtx_", "lock", LOCK_USER_MUTEX},
		{"sem_", "wait", LOCK_USER_SEMAPHORE},
		{"new_sem_", "wait", LOCK_USER_SEMAPHORE},
		{"pthread_barrier_", "wait", LOCK_USER_BARRIER},
		{"pthread_", "join", LOCK_USER_JOIN},
		{"thrd_", "join", LOCK_USER_JOIN},
	};
	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3)) /* what the library calls its own by */
		name += 3 + strspn(name + 3, "_");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i].begin, strlen(kinds[i].begin)) && strstr(name, kinds[i].contains))
			return LOCK_USER | kinds[i].kind;
	return LOCK_USER | LOCK_USER_FUTEX;
}

bool lock_is_owned(uint64_t flags)
{
	return flags == (LOCK_USER | LOCK_USER_MUTEX) || flags == (LOCK_USER | LOCK_USER_READ) || flags == (LOCK_USER | LOCK_USER_WRITE);
}

/* Some kinds have a namesake: locks of the kernel, and of programs. */
static bool has_namesake_before(size_t type)
{
	size_t i = 0;
	while (strcmp(lock_types[i].name, lock_types[type].name) != 0)
		i++;
	return i < type;
}

static struct error *refuse(const char *word)
{
	struct strbuf names = {0};
	for (size_t i = 0; i < LOCK_TYPES; i++)
		if (!has_namesake_before(i))
			strbuf_printf(&names, "%s%s", i ? ", " : "", lock_types[i].name);
	struct error *error = error_new_kind(ERROR_USAGE, "unknown type of locks '%s'; the types are %s; without :R or :W both are meant",
					     word, strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

/* Whether the word is a kind's name, its family's, or its name up to the colon ("pcpu-sem"). */
static bool is_meant(const struct lock_type *type, const char *word)
{
	size_t len = strlen(word);
	return !strcmp(type->name, word) || !strcmp(type->family, word) || (!strncmp(type->name, word, len) && type->name[len] == ':');
}

struct error *lock_types_parse(const char *text, struct lock_types *ret)
{
	cleanup_free char *copy = mem_strdup(text);
	struct lock_types types = {0};
	for (char *rest = copy, *word; (word = strsep(&rest, ","));) {
		bool known = false;
		for (size_t i = 0; i < LOCK_TYPES; i++) {
			if (!is_meant(&lock_types[i], word))
				continue;
			types.chosen |= 1ull << i;
			known = true;
		}
		if (!known)
			return refuse(word);
	}
	*ret = types;
	return NULL;
}

bool lock_types_have(const struct lock_types *types, uint64_t flags)
{
	size_t type = types->chosen ? find(flags) : 0;
	return !types->chosen || (type < LOCK_TYPES && types->chosen >> type & 1);
}
