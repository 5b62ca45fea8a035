/* Which waits, locks and functions the options choose, and how functions are named (contention.h): the same for locks of the kernel and for
 * those of programs. */
#include "analysis/lock/contention.h"

#include "analysis/tracker.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <string.h>

/* Whether `path` is the cgroup `name`, which may lack its first slash, or lies below it. */
static bool is_in_cgroup(const char *path, const char *name)
{
	size_t skipped = *path == '/' && *name != '/', len = strlen(name);
	while (len && name[len - 1] == '/')
		len--;
	return !strncmp(path + skipped, name, len) && (!path[skipped + len] || path[skipped + len] == '/');
}

static bool is_chosen_cgroup(const struct lock_options *options, const struct machine *machine, uint64_t cgroup)
{
	const struct untrusted *path = options->cgroup_count ? machine_cgroup(machine, cgroup) : NULL;
	for (size_t i = 0; path && i < options->cgroup_count; i++)
		if (is_in_cgroup(untrusted_raw(path), options->cgroups[i]))
			return true;
	return !options->cgroup_count;
}

bool lock_is_chosen_wait(const struct lock_options *options, const struct machine *machine, const struct tracker_event *event,
			 uint64_t flags)
{
	uint32_t cpu = event->cpu;
	if (options->cpus && !(cpu / 64 < options->cpu_words && options->cpus[cpu / 64] >> cpu % 64 & 1))
		return false;
	return lock_types_have(&options->types, flags) &&
	       (!options->cgroup_count || is_chosen_cgroup(options, machine, tracker_sample(event)->cgroup));
}

bool lock_is_chosen_lock(const struct lock_options *options, uint64_t address, const char *name)
{
	for (size_t i = 0; i < options->address_count; i++)
		if (options->addresses[i] == address)
			return true;
	for (size_t i = 0; name && i < options->name_count; i++)
		if (!strcmp(name, options->names[i]))
			return true;
	return !options->address_count && !options->name_count;
}

bool lock_is_chosen_function(const struct lock_options *options, const char *name)
{
	for (size_t i = 0; i < options->function_count; i++)
		if (strstr(name, options->functions[i]))
			return true;
	return false;
}

const char *lock_name_frame(struct arena *arena, const struct frame *frame)
{
	if (!frame->symbol)
		return "";
	uint64_t offset = frame->dso_addr - frame->symbol->start;
	if (!offset)
		return arena_strdup(arena, frame->symbol->name);
	return arena_printf(arena, "%s+0x%" PRIx64, frame->symbol->name, offset);
}
