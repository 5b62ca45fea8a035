/* Loads sample_filter.bpf.c (sample_filter.h). Who may not load programs uses one that root has pinned: it asks a map, which everybody can
 * write, for the filter of an event. Filters of one user can be changed by others then; what a sample says they can't see. */
#include "bpf/sample_filter.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/support.h"
#include "sample_filter.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PINNED "/sys/fs/bpf/perf-ng-filter"

static const char pinned_program[] = PINNED "/program", pinned_map[] = PINNED "/filters";

struct bpf_sample_filter {
	struct sample_filter_bpf *skeleton; /* NULL: it is the pinned one */
	int program, map;		    /* of that */
	struct sample_filter_entry entry;
	VEC(uint64_t) ids; /* events whose filter is in the map */
};

/* ---- of our own ---- */

/* One of the two programs, with what it uses. *ret is to be destroyed also after a failure, which is a negative errno. */
static int load(const struct sample_filter_config *config, struct sample_filter_bpf **ret)
{
	struct sample_filter_bpf *skeleton = *ret = sample_filter_bpf__open();
	if (!skeleton)
		return -errno;
	bpf_program__set_autoload(skeleton->progs.keep_sample, config != NULL);
	bpf_program__set_autoload(skeleton->progs.keep_by_event, !config);
	bpf_map__set_autocreate(skeleton->maps.filters, !config);
	if (config)
		*(struct sample_filter_config *)&skeleton->rodata->config = *config;
	return sample_filter_bpf__load(skeleton);
}

static struct error *explain(int failure)
{
	if (failure == -EPERM || failure == -EACCES)
		return bpf_support_explain(failure, "the BPF program that filters samples");
	return error_system(-failure, "the kernel rejected the BPF program that filters samples (-vv shows why; requires Linux 6.2)");
}

static struct error *open_own(const struct sample_filter_config *config, struct bpf_sample_filter *filter)
{
	struct error *error = bpf_support_begin();
	int failure = error ? 0 : load(config, &filter->skeleton);
	return failure ? explain(failure) : error;
}

/* ---- the pinned one ---- */

/* What is there must be root's: whoever else could put something in its place. */
static bool is_ours(const char *path)
{
	struct stat status;
	return !lstat(path, &status) && !status.st_uid && !(S_ISDIR(status.st_mode) && status.st_mode & (S_IWOTH | S_IWGRP));
}

struct error *bpf_sample_filter_unpin(void)
{
	bool removed = !unlink(pinned_program) || errno == ENOENT;
	removed = removed && (!unlink(pinned_map) || errno == ENOENT);
	removed = removed && (!rmdir(PINNED) || errno == ENOENT);
	return removed ? NULL : error_system(errno, "the filter in " PINNED " cannot be removed");
}

static struct error *pin(const struct sample_filter_bpf *skeleton)
{
	enum { EVERYBODY = 0666 };
	if (mkdir(PINNED, 0755))
		return error_system(
			errno, PINNED "%s",
			errno == EPERM || errno == ENOENT ? ": no BPF file system is mounted there (mount -t bpf bpf /sys/fs/bpf)" : "");
	int failure = bpf_obj_pin(bpf_program__fd(skeleton->progs.keep_by_event), pinned_program);
	if (!failure)
		failure = bpf_obj_pin(bpf_map__fd(skeleton->maps.filters), pinned_map);
	if (!failure && (chmod(pinned_program, EVERYBODY) || chmod(pinned_map, EVERYBODY)))
		failure = -errno;
	if (!failure)
		return NULL;
	error_free(bpf_sample_filter_unpin());
	return error_system(-failure, "the filter cannot be pinned in " PINNED);
}

struct error *bpf_sample_filter_pin(void)
{
	struct sample_filter_bpf *skeleton = NULL;
	struct error *error = bpf_support_begin();
	int failure = error ? 0 : load(NULL, &skeleton);
	if (failure)
		error = explain(failure);
	if (!error)
		error = bpf_sample_filter_unpin();
	if (!error)
		error = pin(skeleton);
	sample_filter_bpf__destroy(skeleton);
	return error;
}

/* False where there is none. */
static bool open_pinned(const struct sample_filter_config *config, struct bpf_sample_filter *filter)
{
	filter->entry = (struct sample_filter_entry){.config = *config};
	if (!is_ours(PINNED) || !is_ours(pinned_program) || !is_ours(pinned_map))
		return false;
	filter->program = bpf_obj_get(pinned_program);
	filter->map = bpf_obj_get(pinned_map);
	return filter->program >= 0 && filter->map >= 0;
}

/* ---- either ---- */

struct error *bpf_sample_filter_open(const struct sample_filter_config *config, struct bpf_sample_filter **ret)
{
	struct bpf_sample_filter *filter = mem_zalloc(sizeof(*filter));
	filter->program = filter->map = -1;
	struct error *error = open_own(config, filter);
	if (error && error_kind(error) == ERROR_PERMISSION) {
		sample_filter_bpf__destroy(take_pointer(filter->skeleton));
		struct error *own = error;
		error = open_pinned(config, filter)
				? NULL
				: error_new_kind(ERROR_PERMISSION,
						 "%s. Root lets all users filter samples with: perf record --setup-filter pin",
						 error_message(own));
		error_free(own);
	}
	if (error)
		bpf_sample_filter_close(filter);
	else
		*ret = filter;
	return error;
}

/* The map learns of the filter before the event asks for it. */
static struct error *note_event(struct bpf_sample_filter *filter, int counter)
{
	uint64_t id;
	if (ioctl(counter, PERF_EVENT_IOC_ID, &id) < 0)
		return error_system(errno, "the id of an event");
	/* An entry that is there already can only have been put there by somebody who guessed the id. */
	if (bpf_map_update_elem(filter->map, &id, &filter->entry, BPF_ANY)) {
		if (errno == E2BIG || errno == ENOMEM)
			return error_system(errno, "the pinned filter has no room for this event");
		return error_system(errno, "the pinned filter cannot take this event's filter");
	}
	vec_push(&filter->ids, id);
	return NULL;
}

struct error *bpf_sample_filter_attach(struct bpf_sample_filter *filter, int counter)
{
	struct error *error = filter->skeleton ? NULL : note_event(filter, counter);
	if (error)
		return error;
	int program = filter->skeleton ? bpf_program__fd(filter->skeleton->progs.keep_sample) : filter->program;
	if (ioctl(counter, PERF_EVENT_IOC_SET_BPF, program) < 0)
		return error_system(errno, "samples of this event cannot be filtered");
	return NULL;
}

uint64_t bpf_sample_filter_dropped(const struct bpf_sample_filter *filter)
{
	if (filter->skeleton)
		return __atomic_load_n(&filter->skeleton->bss->dropped, __ATOMIC_RELAXED);
	struct sample_filter_entry entry;
	uint64_t dropped = 0;
	for (size_t i = 0; i < filter->ids.len; i++)
		dropped += bpf_map_lookup_elem(filter->map, &filter->ids.data[i], &entry) ? 0 : entry.dropped;
	return dropped;
}

size_t bpf_sample_filter_lost(const struct bpf_sample_filter *filter)
{
	struct sample_filter_entry entry;
	size_t lost = 0;
	for (size_t i = 0; i < filter->ids.len; i++)
		lost += bpf_map_lookup_elem(filter->map, &filter->ids.data[i], &entry) != 0;
	return lost;
}

void bpf_sample_filter_close(struct bpf_sample_filter *filter)
{
	if (!filter)
		return;
	sample_filter_bpf__destroy(filter->skeleton);
	for (size_t i = 0; i < filter->ids.len; i++)
		bpf_map_delete_elem(filter->map, &filter->ids.data[i]);
	cleanup_close_fd(&filter->program);
	cleanup_close_fd(&filter->map);
	vec_deinit(&filter->ids);
	free(filter);
}
