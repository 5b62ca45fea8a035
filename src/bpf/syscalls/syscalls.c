/* Loads syscalls.bpf.c and reads what it sends (syscalls.h). */
#include "bpf/syscalls/syscalls.h"

#include "base/mem.h"
#include "bpf/ring.h"
#include "bpf/support.h"
#include "syscalls.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SUMS = 1 << 20, RELEASE_BYTES = 1 << 16 };

struct bpf_syscalls {
	struct syscalls_bpf *skeleton;
	struct bpf_ring ring;
};

static void size_maps(struct syscalls_bpf *skeleton, const struct bpf_syscalls_options *options)
{
	const struct syscalls_config *config = &options->config;

	bpf_map__set_max_entries(skeleton->maps.ring, (uint32_t)options->ring_bytes);
	if (config->sums)
		bpf_map__set_max_entries(skeleton->maps.sums, MOST_SUMS);
	if (config->histograms)
		bpf_map__set_max_entries(skeleton->maps.histograms, MOST_SUMS);
	if (config->errors)
		bpf_map__set_max_entries(skeleton->maps.errors, MOST_SUMS);
	if (config->on_cpus)
		bpf_map__set_max_entries(skeleton->maps.cpus, (uint32_t)libbpf_num_possible_cpus());
	/* What would cost and isn't needed stays away. */
	bpf_program__set_autoload(skeleton->progs.leave_cpu, config->calls && !config->shortest && !config->failures);
	bpf_program__set_autoload(skeleton->progs.begin_thread, config->inherit || config->commands);
	bpf_program__set_autoload(skeleton->progs.deliver_signal, config->signals);
	bpf_program__set_autoload(skeleton->progs.generate_signal, config->signals);
	bpf_program__set_autoload(skeleton->progs.finish_sums, config->sums);
}

/* In the initial pid namespace, tasks have one number; else the program must know how deep we are. */
static int find_level(struct syscalls_bpf *skeleton)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_level), &options);
}

static struct error *fill_maps(struct syscalls_bpf *skeleton, const struct bpf_syscalls_options *options)
{
	uint32_t zero = 0;
	uint8_t one = 1;
	int error = 0;

	for (uint32_t i = 0; i < SYSCALLS_NUMBERS && !error; i++)
		if (options->plans[i].selected)
			error = bpf_map__update_elem(skeleton->maps.calls, &i, sizeof(i), &options->plans[i], sizeof(options->plans[i]),
						     BPF_ANY);
	for (size_t i = 0; options->config.on_cpus && i < options->cpu_count && !error; i++)
		error = bpf_map__update_elem(skeleton->maps.cpus, &options->cpus[i], sizeof(int), &one, sizeof(one), BPF_ANY);
	if (options->config.in_cgroup && !error)
		error = bpf_map__update_elem(skeleton->maps.cgroups, &zero, sizeof(zero), &options->cgroup, sizeof(options->cgroup),
					     BPF_ANY);
	return error ? error_system(-error, "cannot fill the maps of the BPF program") : NULL;
}

struct error *bpf_syscalls_open(const struct bpf_syscalls_options *options, struct bpf_syscalls **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_syscalls *syscalls = mem_zalloc(sizeof(*syscalls));
	syscalls->skeleton = syscalls_bpf__open();
	if (!syscalls->skeleton) {
		error = bpf_support_explain(errno, "the BPF program for system calls");
	} else {
		struct syscalls_config *config = (struct syscalls_config *)&syscalls->skeleton->rodata->config;
		*config = options->config;
		config->wake_bytes = (uint32_t)options->ring_bytes / 4;
		size_maps(syscalls->skeleton, options);
		int failure = syscalls_bpf__load(syscalls->skeleton);
		if (!failure)
			failure = find_level(syscalls->skeleton);
		error = failure ? bpf_support_explain(failure, "the BPF program for system calls") : fill_maps(syscalls->skeleton, options);
	}
	if (!error)
		error = bpf_ring_open(&syscalls->ring, bpf_map__fd(syscalls->skeleton->maps.ring), options->ring_bytes);
	if (error)
		bpf_syscalls_close(syscalls);
	else
		*ret = syscalls;
	return error;
}

void bpf_syscalls_close(struct bpf_syscalls *syscalls)
{
	if (!syscalls)
		return;
	bpf_ring_close(&syscalls->ring);
	syscalls_bpf__destroy(syscalls->skeleton);
	free(syscalls);
}

struct error *bpf_syscalls_add_target(struct bpf_syscalls *syscalls, pid_t id, enum syscalls_target target)
{
	uint32_t key = (uint32_t)id, value = target;
	int error = bpf_map__update_elem(syscalls->skeleton->maps.targets, &key, sizeof(key), &value, sizeof(value), BPF_ANY);

	return error ? error_system(-error, "process %d cannot be traced", (int)id) : NULL;
}

struct error *bpf_syscalls_start(struct bpf_syscalls *syscalls)
{
	int error = syscalls_bpf__attach(syscalls->skeleton);

	return error ? bpf_support_explain(error, "the BPF program for system calls") : NULL;
}

/* Lets the program put what it holds for threads that still run into the map of sums. */
static void finish_sums(const struct bpf_link *link)
{
	char nothing[64];
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;

	ssize_t got = 1;

	while (fd >= 0 && (got > 0 || (got < 0 && errno == EINTR)))
		got = read(fd, nothing, sizeof(nothing));
	if (fd >= 0)
		close(fd);
}

void bpf_syscalls_stop(struct bpf_syscalls *syscalls)
{
	struct syscalls_bpf *skeleton = syscalls->skeleton;

	bpf_link__destroy(skeleton->links.enter_call);
	bpf_link__destroy(skeleton->links.exit_call);
	skeleton->links.enter_call = skeleton->links.exit_call = NULL;
	finish_sums(skeleton->links.finish_sums);
	syscalls_bpf__detach(skeleton);
}

void bpf_syscalls_pause(struct bpf_syscalls *syscalls, bool pause)
{
	__atomic_store_n(&syscalls->skeleton->bss->paused, pause, __ATOMIC_RELAXED);
}

const struct syscalls_record *bpf_syscalls_next(struct bpf_syscalls *syscalls)
{
	const struct syscalls_record *record;
	uint32_t size;

	if (bpf_ring_held(&syscalls->ring) >= RELEASE_BYTES)
		bpf_ring_release(&syscalls->ring);
	record = bpf_ring_next(&syscalls->ring, &size);
	if (!record) {
		bpf_ring_release(&syscalls->ring);
		__atomic_store_n(&syscalls->skeleton->bss->woken, 0, __ATOMIC_RELAXED);
	}
	return record;
}

int bpf_syscalls_fd(const struct bpf_syscalls *syscalls)
{
	return syscalls->ring.fd;
}

uint64_t bpf_syscalls_lost(const struct bpf_syscalls *syscalls)
{
	return __atomic_load_n(&syscalls->skeleton->bss->lost, __ATOMIC_RELAXED);
}

uint64_t bpf_syscalls_unsummed(const struct bpf_syscalls *syscalls)
{
	return __atomic_load_n(&syscalls->skeleton->bss->unsummed, __ATOMIC_RELAXED);
}

bool bpf_syscalls_next_sum(struct bpf_syscalls *syscalls, bool first, struct syscall_sum_key *key, struct syscall_sum *ret,
			   struct syscall_histogram *ret_histogram)
{
	const struct bpf_map *sums = syscalls->skeleton->maps.sums, *histograms = syscalls->skeleton->maps.histograms;

	if (bpf_map__get_next_key(sums, first ? NULL : key, key, sizeof(*key)) ||
	    bpf_map__lookup_elem(sums, key, sizeof(*key), ret, sizeof(*ret), 0))
		return false;
	if (ret_histogram && bpf_map__lookup_elem(histograms, key, sizeof(*key), ret_histogram, sizeof(*ret_histogram), 0))
		*ret_histogram = (struct syscall_histogram){0};
	return true;
}

bool bpf_syscalls_next_error(struct bpf_syscalls *syscalls, bool first, struct syscall_errno_key *key, uint64_t *ret_count)
{
	const struct bpf_map *errors = syscalls->skeleton->maps.errors;

	return !bpf_map__get_next_key(errors, first ? NULL : key, key, sizeof(*key)) &&
	       !bpf_map__lookup_elem(errors, key, sizeof(*key), ret_count, sizeof(*ret_count), 0);
}

/* ---- maps, for those who want to look inside ---- */

static bool is_shown(const struct bpf_map *map)
{
	enum bpf_map_type type = bpf_map__type(map);

	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH;
}

bool bpf_syscalls_has_map(const struct bpf_syscalls *syscalls, const char *name, struct strbuf *ret_names)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(syscalls->skeleton->obj, name);

	if (map && is_shown(map))
		return true;
	bpf_object__for_each_map(map, syscalls->skeleton->obj) if (is_shown(map))
		strbuf_printf(ret_names, "%s%s", ret_names->len ? ", " : "", bpf_map__name(map));
	return false;
}

static void add_value(const uint8_t *bytes, size_t size, struct strbuf *out)
{
	uint64_t number = 0;

	if (size <= sizeof(number)) {
		memcpy(&number, bytes, size);
		strbuf_add_u64(out, number, 0);
		return;
	}
	for (size_t i = 0; i < size; i++)
		strbuf_printf(out, "%s%02x", i ? " " : "", bytes[i]);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	while (size && !bytes[size - 1])
		size--;
	return !size;
}

void bpf_syscalls_dump_map(const struct bpf_syscalls *syscalls, const char *name, struct strbuf *out)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(syscalls->skeleton->obj, name);
	size_t key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
	uint8_t *key = mem_zalloc(key_size), *value = mem_zalloc(value_size);
	bool first = true;

	for (; bpf_map__get_next_key(map, first ? NULL : key, key, key_size) == 0; first = false) {
		if (bpf_map__lookup_elem(map, key, key_size, value, value_size, 0) || is_zero(value, value_size))
			continue;
		strbuf_add_char(out, '[');
		add_value(key, key_size, out);
		strbuf_add_str(out, "] = ");
		add_value(value, value_size, out);
		strbuf_add_char(out, '\n');
	}
	free(key);
	free(value);
}
