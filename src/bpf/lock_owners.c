/* Loads lock_owners.bpf.c and reads its sums (lock_owners.h). */
#include "bpf/lock_owners.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "lock_owners.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct bpf_lock_owners {
	struct lock_owners_bpf *skeleton;
};

static const char *const program = "the BPF program that notes owners of locks (tp_btf/contention_begin)";

struct error *bpf_lock_owners_open(const struct lock_owners_config *config, uint32_t most, struct bpf_lock_owners **ret)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_lock_owners *owners = mem_zalloc(sizeof(*owners));
	owners->skeleton = lock_owners_bpf__open();
	int failure = owners->skeleton ? 0 : -errno;
	if (!failure) {
		*(struct lock_owners_config *)&owners->skeleton->rodata->config = *config;
		bpf_map__set_max_entries(owners->skeleton->maps.waits, most ? most : LOCK_OWNERS_MOST);
		bpf_map__set_max_entries(owners->skeleton->maps.owners, most ? most : LOCK_OWNERS_MOST);
		failure = lock_owners_bpf__load(owners->skeleton);
	}
	if (!failure)
		failure = bpf_prog_test_run_opts(bpf_program__fd(owners->skeleton->progs.find_level), &options);
	if (!failure) {
		*ret = owners;
		return NULL;
	}
	bpf_lock_owners_close(owners);
	return bpf_support_explain(failure, program);
}

void bpf_lock_owners_close(struct bpf_lock_owners *owners)
{
	if (!owners)
		return;
	lock_owners_bpf__destroy(owners->skeleton);
	free(owners);
}

/* The end first: each beginning that is noted has its end then. */
struct error *bpf_lock_owners_start(struct bpf_lock_owners *owners)
{
	struct lock_owners_bpf *skeleton = owners->skeleton;

	skeleton->links.end = bpf_program__attach_trace(skeleton->progs.end);
	skeleton->links.begin = skeleton->links.end ? bpf_program__attach_trace(skeleton->progs.begin) : NULL;
	return skeleton->links.begin ? NULL : bpf_support_explain(-errno, program);
}

void bpf_lock_owners_switch(struct bpf_lock_owners *owners, bool on)
{
	__atomic_store_n(&owners->skeleton->bss->running, on, __ATOMIC_RELEASE);
}

void bpf_lock_owners_read(struct bpf_lock_owners *owners, void (*take)(void *context, uint32_t tid, const struct lock_owner_sums *sums),
			  void *context)
{
	struct lock_owners_bpf *skeleton = owners->skeleton;
	uint64_t key, *last = NULL;

	bpf_link__destroy(skeleton->links.begin);
	bpf_link__destroy(skeleton->links.end);
	skeleton->links.begin = skeleton->links.end = NULL;
	while (!bpf_map__get_next_key(skeleton->maps.owners, last, &key, sizeof(key))) {
		struct lock_owner_sums sums;
		if (!bpf_map__lookup_elem(skeleton->maps.owners, &key, sizeof(key), &sums, sizeof(sums), 0))
			take(context, (uint32_t)key, &sums);
		last = &key;
	}
}

uint64_t bpf_lock_owners_missed(const struct bpf_lock_owners *owners)
{
	return __atomic_load_n(&owners->skeleton->bss->missed, __ATOMIC_RELAXED);
}
