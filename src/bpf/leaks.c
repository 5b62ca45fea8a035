/* Loads leaks.bpf.c, attaches it to the functions that allocate, and reads what it found (leaks.h). */
#include "bpf/leaks.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "leaks.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 32 };

struct bpf_leaks {
	struct leaks_bpf *skeleton;
	struct bpf_link *links[MOST_LINKS];
	size_t link_count;
};

static const char *const program = "the BPF program that notes allocations (uprobes)";

struct error *bpf_leaks_open(const struct leaks_config *config, struct bpf_leaks **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_leaks *leaks = mem_zalloc(sizeof(*leaks));
	leaks->skeleton = leaks_bpf__open();
	int failure = leaks->skeleton ? 0 : -errno;
	if (!failure) {
		*(struct leaks_config *)&leaks->skeleton->rodata->config = *config;
		failure = leaks_bpf__load(leaks->skeleton);
	}
	if (!failure) {
		*ret = leaks;
		return NULL;
	}
	bpf_leaks_close(leaks);
	return bpf_support_explain(failure, program);
}

void bpf_leaks_close(struct bpf_leaks *leaks)
{
	if (!leaks)
		return;
	for (size_t i = 0; i < leaks->link_count; i++)
		bpf_link__destroy(leaks->links[i]);
	leaks_bpf__destroy(leaks->skeleton);
	free(leaks);
}

/* 0, or -errno: -ENOENT for a function that the file doesn't have, or only calls. */
static int attach(struct bpf_leaks *leaks, struct bpf_program *part, bool at_return, pid_t pid, const char *path, const char *function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function, .retprobe = at_return);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(part, pid, path, 0, &options);
	if (!link)
		return errno == LIBBPF_ERRNO__FORMAT ? -ENOENT : -errno;
	leaks->links[leaks->link_count++] = link;
	return 0;
}

struct error *bpf_leaks_start(struct bpf_leaks *leaks, pid_t pid, const char *path, const char *name)
{
	const struct {
		const char *name;
		struct bpf_program *enter;
		bool needed, releases;
	} functions[] = {
		{"malloc", leaks->skeleton->progs.enter_first, .needed = true},
		{"free", leaks->skeleton->progs.release, .needed = true, .releases = true},
		{"calloc", leaks->skeleton->progs.enter_calloc},
		{"realloc", leaks->skeleton->progs.enter_realloc},
		{"reallocarray", leaks->skeleton->progs.enter_reallocarray},
		{"posix_memalign", leaks->skeleton->progs.enter_posix_memalign},
		{"aligned_alloc", leaks->skeleton->progs.enter_second},
		{"memalign", leaks->skeleton->progs.enter_second},
		{"valloc", leaks->skeleton->progs.enter_first},
		{"pvalloc", leaks->skeleton->progs.enter_first},
		{"mmap", leaks->skeleton->progs.enter_mmap},
		{"munmap", leaks->skeleton->progs.release, .releases = true},
	};
	__atomic_store_n(&leaks->skeleton->bss->running, 1, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		int failure = functions[i].releases ? 0 : attach(leaks, leaks->skeleton->progs.leave, true, pid, path, functions[i].name);
		if (!failure)
			failure = attach(leaks, functions[i].enter, false, pid, path, functions[i].name);
		if (failure == -ENOENT && functions[i].needed)
			return error_new("%s has no function '%s'; --object names the file that contains the allocator", name,
					 functions[i].name);
		if (failure && failure != -ENOENT)
			return bpf_support_explain(failure, program);
	}
	return NULL;
}

void bpf_leaks_each(const struct bpf_leaks *leaks, void (*take)(void *context, const struct leaks_allocation *allocation), void *context)
{
	uint64_t key, *last = NULL;
	while (!bpf_map__get_next_key(leaks->skeleton->maps.allocations, last, &key, sizeof(key))) {
		struct leaks_allocation allocation;
		if (!bpf_map__lookup_elem(leaks->skeleton->maps.allocations, &key, sizeof(key), &allocation, sizeof(allocation), 0))
			take(context, &allocation);
		last = &key;
	}
}

void bpf_leaks_each_stack(const struct bpf_leaks *leaks, void (*take)(void *context, int64_t stack, const struct leaks_sums *sums),
			  void *context)
{
	int64_t key, *last = NULL;
	while (!bpf_map__get_next_key(leaks->skeleton->maps.sums, last, &key, sizeof(key))) {
		struct leaks_sums sums;
		if (!bpf_map__lookup_elem(leaks->skeleton->maps.sums, &key, sizeof(key), &sums, sizeof(sums), 0))
			take(context, key, &sums);
		last = &key;
	}
}

size_t bpf_leaks_stack(const struct bpf_leaks *leaks, int64_t stack, uint64_t frames[LEAKS_FRAMES])
{
	const bool first = stack < LEAKS_STACKS;
	const struct bpf_map *map = first ? leaks->skeleton->maps.stacks : leaks->skeleton->maps.more_stacks;
	uint32_t key = (uint32_t)(first ? stack : stack - LEAKS_STACKS);
	size_t count = 0;
	if (stack < 0 || bpf_map__lookup_elem(map, &key, sizeof(key), frames, LEAKS_FRAMES * sizeof(*frames), 0))
		return 0;
	while (count < LEAKS_FRAMES && frames[count])
		count++;
	return count;
}

uint64_t bpf_leaks_missed(const struct bpf_leaks *leaks)
{
	return __atomic_load_n(&leaks->skeleton->bss->missed, __ATOMIC_RELAXED);
}
