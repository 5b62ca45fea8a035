/* Side-band of running processes. Speed matters: a machine has thousands, and nobody waits for a profiler. So: one directory descriptor a
 * process, large reads, no stdio, no scanf, and the processes shared out to a few threads; every process' records go to a buffer of its own
 * and the buffers are joined in the order of the pids, so that the result doesn't depend on who was first. Facts: proc(5) for the files;
 * record formats: include/uapi/linux/perf_event.h. */
#include "capture/synth/synth.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/pool.h"
#include "capture/synth/synth_internal.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct task {
	pid_t pid, tid;
	pid_t ppid;
	char comm[64];
	size_t comm_length;
};

/* Names in status escape newline and backslash as \n and \\. */
static void take_name(struct task *task, const char *at, const char *end)
{
	size_t length = 0;

	for (; at < end && length < 15; at++) {
		char c = *at;
		if (c == '\\' && at + 1 < end)
			c = *++at == 'n' ? '\n' : *at;
		task->comm[length++] = c;
	}
	task->comm[length] = '\0';
	task->comm_length = length;
}

/* Reads "status": name, process, parent. `dir` is the task's directory. */
static bool read_status(int dir, const char *path, struct strbuf *text, struct task *ret)
{
	strbuf_clear(text);
	if (proc_read_file(dir, path, text) < 0)
		return false;
	const char *line = strbuf_str(text);
	int found = 0;
	while (line && *line && found < 3) {
		const char *end = strchrnul(line, '\n');
		if (!strncmp(line, "Name:\t", 6)) {
			take_name(ret, line + 6, end);
			found++;
		} else if (!strncmp(line, "Tgid:\t", 6)) {
			ret->pid = (pid_t)strtol(line + 6, NULL, 10);
			found++;
		} else if (!strncmp(line, "PPid:\t", 6)) {
			ret->ppid = (pid_t)strtol(line + 6, NULL, 10);
			found++;
		}
		line = *end ? end + 1 : NULL;
	}
	return found == 3;
}

static void put_comm(struct synth *synth, const struct task *task)
{
	synth_comm(synth, (uint32_t)task->pid, (uint32_t)task->tid, task->comm, task->comm_length);
}

static void put_fork(struct synth *synth, const struct task *task)
{
	/* A thread is made by its process' main thread, as far as we can know; that one by the parent. */
	pid_t parent = task->tid == task->pid ? task->ppid : task->pid;
	const struct record_task record = {
		.header.type = RECORD_FORK,
		.pid = (uint32_t)task->pid,
		.ppid = (uint32_t)parent,
		.tid = (uint32_t)task->tid,
		.ptid = (uint32_t)parent,
	};

	synth_end(synth, synth_begin(synth, &record, sizeof(record)));
}

static void put_namespaces(struct synth *synth, int dir, const struct task *task)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	const struct record_namespaces record = {
		.header.type = RECORD_NAMESPACES, .pid = (uint32_t)task->pid, .tid = (uint32_t)task->tid, .count = COUNT};
	size_t begin = synth_begin(synth, &record, sizeof(record));

	for (int i = 0; i < COUNT; i++) {
		char path[32];
		struct stat status = {0};
		snprintf(path, sizeof(path), "ns/%s", names[i]);
		fstatat(dir, path, &status, 0);
		const __typeof__(record.links[0]) link = {.device = status.st_dev, .inode = status.st_ino};
		synth_add(synth, &link, sizeof(link));
	}
	synth_end(synth, begin);
}

struct map_line {
	uint64_t start, end, offset, inode;
	uint32_t major, minor, prot, flags;
	bool execute;
	const char *name;
	size_t name_length;
};

static uint64_t take_hex(const char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		unsigned char c = (unsigned char)**at;
		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10);
		else
			return value;
	}
}

static bool skip(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* "start-end rwxp offset major:minor inode   name" */
static bool parse_map_line(const char *at, const char *end, struct map_line *ret)
{
	ret->start = take_hex(&at);
	if (!skip(&at, '-'))
		return false;
	ret->end = take_hex(&at);
	if (!skip(&at, ' ') || end - at < 5)
		return false;
	ret->prot = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
	ret->flags = at[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	ret->execute = at[2] == 'x';
	at += 5;
	ret->offset = take_hex(&at);
	if (!skip(&at, ' '))
		return false;
	ret->major = (uint32_t)take_hex(&at);
	if (!skip(&at, ':'))
		return false;
	ret->minor = (uint32_t)take_hex(&at);
	if (!skip(&at, ' '))
		return false;
	for (ret->inode = 0; *at >= '0' && *at <= '9'; at++)
		ret->inode = ret->inode * 10 + (uint64_t)(*at - '0');
	while (at < end && *at == ' ')
		at++;
	ret->name = at;
	ret->name_length = (size_t)(end - at);
	return true;
}

/* Files are mapped by many processes: what was read once is remembered by device and inode. */
struct known_ids {
	struct map64 index; /* to 1 + the position in `ids` */
	struct {
		struct buildid *data;
		size_t len, cap;
	} ids;
};

static void known_ids_deinit(struct known_ids *known)
{
	map64_deinit(&known->index);
	vec_deinit(&known->ids);
}

static bool find_build_id(const struct synth *synth, struct known_ids *known, const struct task *task, const struct map_line *map,
			  struct buildid *ret)
{
	bool new;

	if (!synth->build_id || !map->execute || !map->name_length || *map->name != '/' || !map->inode)
		return false;
	uint64_t *position = map64_insert(&known->index, hash_combine((uint64_t)map->major << 32 | map->minor, map->inode), &new);
	if (new) {
		struct buildid id = {0};
		cleanup_free char *path = mem_printf("/proc/%d/root%.*s", task->pid, (int)map->name_length, map->name);
		if (!synth->build_id(path, &id))
			id.size = 0;
		vec_push(&known->ids, id);
		*position = known->ids.len;
	}
	*ret = known->ids.data[*position - 1];
	return ret->size > 0;
}

static void put_map(struct synth *synth, const struct task *task, const struct map_line *map, uint16_t extra_misc, struct known_ids *known)
{
	struct buildid id;
	const char *name = map->name_length ? map->name : "//anon";
	size_t length = map->name_length ? map->name_length : strlen("//anon");
	static const char huge[] = "/anon_hugepage";

	if (length >= sizeof(huge) - 1 && !memcmp(name, huge, sizeof(huge) - 1)) {
		name = "//anon";
		length = strlen("//anon");
	}
	bool identified = find_build_id(synth, known, task, map, &id);
	const struct record_mmap2 record = {
		.header.misc = CPUMODE_USER | (map->execute ? 0 : RECORD_MISC_MMAP_DATA) | extra_misc,
		.pid = (uint32_t)task->pid,
		.tid = (uint32_t)task->tid,
		.start = map->start,
		.length = map->end - map->start,
		.pgoff = map->offset,
		.major = map->major,
		.minor = map->minor,
		.inode = map->inode,
		.prot = map->prot,
		.flags = map->flags,
	};
	synth_put_mmap2(synth, record, identified ? &id : NULL, name, length);
}

/* What a worker keeps from process to process. */
struct scratch {
	struct strbuf text;
	struct known_ids known;
};

static void scratch_deinit(struct scratch *scratch)
{
	strbuf_deinit(&scratch->text);
	known_ids_deinit(&scratch->known);
}

static void put_maps(struct synth *synth, int dir, const char *path, const struct task *task, struct scratch *scratch)
{
	struct strbuf *text = &scratch->text;
	uint64_t deadline = synth->map_timeout_ns ? clock_now_ns(CLOCK_MONOTONIC) + synth->map_timeout_ns : UINT64_MAX;
	bool late = false;

	strbuf_clear(text);
	if (proc_read_file(dir, path, text) < 0)
		return;
	for (const char *line = strbuf_str(text); *line && !late;) {
		const char *end = strchrnul(line, '\n');
		struct map_line map;
		if (parse_map_line(line, end, &map) && (map.execute || (synth->data_maps && (map.prot & PROT_READ)))) {
			late = deadline != UINT64_MAX && clock_now_ns(CLOCK_MONOTONIC) > deadline;
			put_map(synth, task, &map, late ? RECORD_MISC_PROC_MAP_PARSE_TIMEOUT : 0, &scratch->known);
		}
		line = *end ? end + 1 : end;
	}
	synth->map_timeouts += late;
}

/* A whole process: its main thread, maps, other threads. */
static void put_process(struct synth *synth, pid_t pid, struct scratch *scratch)
{
	struct strbuf *text = &scratch->text;
	char path[64];
	struct task task = {.tid = pid};
	struct pid_list threads = {0};

	snprintf(path, sizeof(path), "/proc/%d", pid);
	cleanup_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !read_status(dir, "status", text, &task))
		return;
	put_fork(synth, &task);
	put_comm(synth, &task);
	if (synth->namespaces)
		put_namespaces(synth, dir, &task);
	put_maps(synth, dir, "maps", &task, scratch);
	error_free(proc_threads(pid, &threads));
	for (size_t i = 0; i < threads.len; i++) {
		struct task thread = {.tid = threads.data[i]};
		snprintf(path, sizeof(path), "task/%d/status", thread.tid);
		if (thread.tid == pid || !read_status(dir, path, text, &thread))
			continue;
		put_fork(synth, &thread);
		put_comm(synth, &thread);
		if (synth->namespaces)
			put_namespaces(synth, dir, &thread);
	}
	vec_deinit(&threads);
}

enum { PROCESSES_PER_ITEM = 16 };

struct all_tasks {
	struct synth *synth;
	const struct pid_list *pids;
	struct strbuf *buffers; /* one for each item */
	unsigned int *timeouts;
};

static void run_item(void *context, unsigned int worker, size_t item)
{
	const struct all_tasks *all = context;
	struct synth mine = *all->synth;
	struct scratch scratch = {0};

	mine.out = &all->buffers[item];
	mine.map_timeouts = 0;
	for (size_t i = item * PROCESSES_PER_ITEM; i < all->pids->len && i < (item + 1) * PROCESSES_PER_ITEM; i++)
		put_process(&mine, all->pids->data[i], &scratch);
	all->timeouts[item] = mine.map_timeouts;
	scratch_deinit(&scratch);
}

void synth_all_tasks(struct synth *synth, unsigned int jobs)
{
	struct pid_list pids = {0};

	error_free(proc_processes(&pids));
	size_t items = (pids.len + PROCESSES_PER_ITEM - 1) / PROCESSES_PER_ITEM;
	struct all_tasks all = {synth, &pids, mem_zalloc_array(items + 1, sizeof(*all.buffers)),
				mem_zalloc_array(items + 1, sizeof(*all.timeouts))};
	pool_run(jobs, items, run_item, &all);
	for (size_t i = 0; i < items; i++) {
		strbuf_add(synth->out, strbuf_str(&all.buffers[i]), all.buffers[i].len);
		synth->map_timeouts += all.timeouts[i];
		strbuf_deinit(&all.buffers[i]);
	}
	free(all.buffers);
	free(all.timeouts);
	vec_deinit(&pids);
}

/* Whether the process or one that it descends from is among `heads`. At most `limit` generations: numbers that are used again while we look
 * could make a circle. */
static bool is_of_family(const struct map64 *heads, const struct map64 *parents, pid_t pid, size_t limit)
{
	for (uint64_t at = (uint64_t)pid; at && limit; limit--) {
		if (map64_find(heads, at))
			return true;
		const uint64_t *parent = map64_find(parents, at);
		at = parent ? *parent : 0;
	}
	return false;
}

void synth_families(struct synth *synth, const pid_t *threads, size_t count)
{
	struct map64 heads = {0}, parents = {0};
	struct pid_list pids = {0};
	struct scratch scratch = {0};
	struct task task = {0};
	char path[64];
	bool new;

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/status", threads[i]);
		if (read_status(AT_FDCWD, path, &scratch.text, &task))
			map64_insert(&heads, (uint64_t)task.pid, &new);
	}
	error_free(proc_processes(&pids));
	for (size_t i = 0; i < pids.len; i++) {
		snprintf(path, sizeof(path), "/proc/%d/status", pids.data[i]);
		if (read_status(AT_FDCWD, path, &scratch.text, &task))
			*map64_insert(&parents, (uint64_t)pids.data[i], &new) = (uint64_t)task.ppid;
	}
	for (size_t i = 0; i < pids.len; i++)
		if (is_of_family(&heads, &parents, pids.data[i], pids.len))
			put_process(synth, pids.data[i], &scratch);
	map64_deinit(&heads);
	map64_deinit(&parents);
	vec_deinit(&pids);
	scratch_deinit(&scratch);
}

void synth_threads(struct synth *synth, const pid_t *threads, size_t count, bool is_workload)
{
	struct scratch scratch = {0};
	struct pid_list done = {0}; /* processes whose maps are out; few in practice, and sorted input keeps them at the end */

	for (size_t i = 0; i < count; i++) {
		char path[64];
		struct task task = {.tid = threads[i]};
		snprintf(path, sizeof(path), "/proc/%d", threads[i]);
		cleanup_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || !read_status(dir, "status", &scratch.text, &task))
			continue;
		put_comm(synth, &task);
		if (synth->namespaces)
			put_namespaces(synth, dir, &task);
		bool known = false;
		for (size_t j = done.len; j-- && !known;)
			known = done.data[j] == task.pid;
		if (is_workload || known)
			continue;
		vec_push(&done, task.pid);
		/* The maps belong to the process whichever of its threads was asked for. */
		struct task leader = task;
		leader.tid = task.pid;
		if (task.tid != task.pid) {
			snprintf(path, sizeof(path), "/proc/%d/status", task.pid);
			if (read_status(AT_FDCWD, path, &scratch.text, &leader)) {
				leader.tid = leader.pid;
				put_comm(synth, &leader);
			}
		}
		put_maps(synth, dir, "maps", &leader, &scratch);
	}
	vec_deinit(&done);
	scratch_deinit(&scratch);
}
