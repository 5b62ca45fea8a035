/* Recordings made on the spot by the kernel's perf, walked in order and reduced: order, names and times must be those that its `script`
 * prints, and a reduction must not depend on the number of workers. */
#include "base/hash.h"
#include "base/text.h"
#include "session/session.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the workload: this very program, started again with the variable set; it ends before main() ---- */

#define STAGE "PERF_WALK_WORKLOAD"

static void spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

/* x86-64: mov ecx,2000000; dec ecx; jne; ret. Elsewhere nothing runs there, the map counts all the same. */
static void run_in(void *memory)
{
	static const unsigned char code[] = {0xb9, 0x80, 0x84, 0x1e, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	if (memory == MAP_FAILED)
		return;
#ifdef __x86_64__
	memcpy(memory, code, sizeof(code));
	((void (*)(void))memory)();
#endif
}

static void *run_thread(void *argument)
{
	spin();
	prctl(PR_SET_NAME, argument);
	spin();
	return NULL;
}

/* A child with this id, where one may ask for it and it is free: ids are used again. Only this child gets it: to set the kernel's last id
 * (ns_last_pid) gives ids that have just ended to children of neighbours, too. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1};
	pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

	return child < 0 ? fork() : child;
}

static void run_child(int number)
{
	char name[16];
	snprintf(name, sizeof(name), "child-%d", number);
	spin();
	prctl(PR_SET_NAME, name);
	spin();
	if (number % 3 == 0 && fork() == 0) {
		setenv(STAGE, "leaf", 1);
		execl("/proc/self/exe", "leaf", NULL);
	}
	wait(NULL);
	if (number % 3 == 1)
		execl("/bin/true", "true", NULL);
	_exit(0);
}

static void run_workload(void)
{
	int memory = memfd_create("jit", 0);
	pthread_t threads[3];
	if (memory < 0 || ftruncate(memory, 4096))
		_exit(1);
	run_in(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	run_in(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, memory, 0));
	for (int i = 0; i < 12; i++) {
		if (fork_as(27000 + i % 2) == 0)
			run_child(i);
		wait(NULL);
	}
	for (size_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run_thread, (char *[]){"first", "second", "third"}[i]);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	setenv(STAGE, "leaf", 1);
	execl("/proc/self/exe", "final", NULL);
}

__attribute__((constructor)) static void workload_main(void)
{
	const char *stage = getenv(STAGE);
	if (!stage)
		return;
	if (!strcmp(stage, "all"))
		run_workload();
	spin();
	_exit(0);
}

/* ---- recordings ---- */

struct recording {
	const char *options;
	const char *more_fields; /* beside comm, pid, tid and event */
	bool one_cpu; /* without times the order of several rings is that in which they were read: samples may come before their process */
};

/* Sanitizers see with fewer samples what there is to be seen. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OFTEN "-F 1000"
#else
#define OFTEN "-F 4000"
#endif

static const struct recording recordings[] = {
	{"-g " OFTEN, ",time,ip,dso"},
	{"-a " OFTEN, ",time,ip,dso"},
	{"-a -F 2000 --all-cgroups --namespaces --switch-events -T -d", ",time,ip,dso"},
	{"-e '{cpu-clock,page-faults}:S' -c 100000", ",time,ip,dso"},
	{"--no-timestamp " OFTEN, ",ip,dso", true},
	{"-z -a " OFTEN, ",time,ip,dso"},
	{"-e cpu-clock,page-faults,context-switches -c 100000 -d", ",time,ip,dso"},
	{"--buildid-mmap " OFTEN, ",time,ip,dso"},
};

/* Code of BPF programs, which neighbours load and drop meanwhile. The kernel's perf doesn't know the times of records that the kernel made
 * longer (record_excess()), so that it judges by where they lie in the file. */
static bool is_program(const char *address_and_file)
{
	return str_starts_with(address_and_file, "ffffffff") &&
	       (strstr(address_and_file, " (bpf_") || strstr(address_and_file, " ([unknown])"));
}

/* Words separated by single spaces. */
static void squeeze(struct strbuf *out, const char *line)
{
	bool gap = false;
	for (; *line && !(gap && is_program(line)); line++) {
		if (*line == ' ' || *line == '\t' || *line == '\n') {
			gap = true;
			continue;
		}
		if (gap && out->len && out->data[out->len - 1] != '\n')
			strbuf_add_char(out, ' ');
		gap = false;
		strbuf_add_char(out, *line);
	}
	strbuf_add_char(out, '\n');
}

static bool run(const char *command)
{
	return system(command) == 0;
}

static bool record(const struct recording *recording, const char *path)
{
	char command[1024], program[512], place[32] = "";
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	assert_true(length > 0);
	program[length] = '\0';
	if (recording->one_cpu)
		snprintf(place, sizeof(place), "taskset -c %d ", sched_getcpu());
	snprintf(command, sizeof(command), STAGE "=all %s/usr/bin/perf record -q -o %s %s -- %s >/dev/null 2>&1", place, path,
		 recording->options, program);
	return run(command);
}

/* NULL: the kernel's perf can't read the recording. */
static char *oracle_text(const struct recording *recording, const char *path)
{
	char command[1024], line[4096];
	struct strbuf out = {0};
	snprintf(command, sizeof(command), "/usr/bin/perf script -G -i %s -F comm,pid,tid,event%s 2>/dev/null", path,
		 recording->more_fields);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		squeeze(&out, line);
	}
	if (pclose(pipe) == 0) {
		assert_non_null(out.data);
		return out.data;
	}
	strbuf_deinit(&out);
	return NULL;
}

/* What the kernel's perf says of the recording that is made of it; NULL: it can't be made here. A neighbour that loads and drops BPF
 * programs meanwhile makes the kernel's perf stop in the middle of what it recorded itself ("failed to process type: 17"): then it is made
 * once more. */
static char *record_readable(const struct recording *recording, const char *path)
{
	for (int attempts = 0; attempts < 50; attempts++) {
		if (!record(recording, path))
			return NULL;
		char *theirs = oracle_text(recording, path);
		if (theirs)
			return theirs;
	}
	fail_msg("the kernel's perf can't read what it recorded with %s", recording->options);
	return NULL;
}

/* How records are got. */
struct way {
	const char *name;
	bool streaming;
	int (*next)(struct session *session, struct record *ret, struct error **ret_error);
	bool (*decode)(struct session *session, const struct record *record, struct sample *ret);
};

static const struct way ways[] = {
	{"in two passes", false, session_next, session_decode},
	{"as a stream", true, session_next, session_decode},
	{"in two passes, samples only", false, session_next_sample, session_decode_anew},
	{"as a stream, samples only", true, session_next_sample, session_decode_anew},
};

static void add_sample(struct strbuf *out, struct session *session, const struct record *record, const struct sample *decoded, bool times)
{
	const struct sample sample = *decoded;
	char time[64] = "", line[4096];
	const struct thread *thread = machine_thread_or_new(session->machine, sample.pid, sample.tid, record->model_time);
	const struct map *map = maps_find(machine_maps(session->machine, thread, sample.cpumode), sample.ip, record->model_time);
	if (times)
		snprintf(time, sizeof(time), "%llu.%06llu: ", (unsigned long long)sample.time / 1000000000,
			 (unsigned long long)sample.time / 1000 % 1000000);
	snprintf(line, sizeof(line), "%s %d/%d %s%s: %llx (%s)", untrusted_raw(thread_comm(thread, record->model_time)), (int)sample.pid,
		 (int)sample.tid, time, record->event->name, (unsigned long long)sample.ip, map ? map->dso->script_name : "[unknown]");
	squeeze(out, line);
}

static char *our_text(const struct recording *recording, const char *path, const struct way *way)
{
	struct session_options options = {.input.path = path, .streaming = way->streaming};
	struct sample sample = {0};
	uint64_t sample_type = 0;
	struct session *session;
	struct record record;
	struct strbuf out = {0};
	struct error *error = session_open(&options, &session);
	assert_null(error);
	int more;
	while ((more = way->next(session, &record, &error)) > 0) {
		if (record.header->type != RECORD_SAMPLE)
			continue;
		if (sample_type != record.event->attr.sample_type)
			sample = (struct sample){0};
		sample_type = record.event->attr.sample_type;
		if (way->decode(session, &record, &sample))
			add_sample(&out, session, &record, &sample, strstr(recording->more_fields, "time") != NULL);
	}
	assert_int_equal(more, 0);
	session_close(session);
	return out.data;
}

static void check_text(const char *ours, const char *theirs, const char *options, const char *how)
{
	if (strcmp(ours, theirs) == 0)
		return;
	while (*ours && *ours == *theirs)
		ours++, theirs++;
	fail_msg("perf record %s, %s: differs at '%.60s', expected '%.60s'", options, how, ours, theirs);
}

/* Sums that tell who ran where, in any order. */
struct sums {
	uint64_t samples, hash;
};

static void sums_init(void *state, void *context)
{
}

static void sums_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	struct sums *sums = state;
	struct machine *machine = context;
	const struct thread *thread = machine_thread_or_new(machine, sample->pid, sample->tid, model_time);
	const struct map *map = maps_find(machine_maps(machine, thread, sample->cpumode), sample->ip, model_time);
	const char *comm = untrusted_raw(thread_comm(thread, model_time));
	uint64_t hash = hash_combine(hash_bytes(comm, strlen(comm)), map ? map->dso->index + 1 : 0);
	sums->samples++;
	sums->hash += hash_combine(hash, sample->period + event->index);
}

static void sums_merge(void *into, void *from, void *context)
{
	struct sums *a = into, *b = from;
	a->samples += b->samples;
	a->hash += b->hash;
}

/* `every`: of a part of the recording, 1 = of all. `ret_pieces` may be NULL. */
static struct sums reduce(const char *path, unsigned int jobs, unsigned int every, size_t *ret_pieces)
{
	const struct reducer reducer = {
		.state_size = sizeof(struct sums), .init = sums_init, .sample = sums_sample, .merge = sums_merge, .every = every};
	struct session_options options = {.input.path = path, .jobs = jobs};
	struct session *session;
	struct sums *sums;
	assert_null(session_open(&options, &session));
	assert_null(session_reduce(session, &reducer, session->machine, (void **)&sums));
	struct sums result = *sums;
	if (ret_pieces)
		*ret_pieces = session_piece_count(session);
	free(sums);
	session_close(session);
	return result;
}

/* One piece in so many: less than all, unless there is but one piece. */
static void check_parts(const char *path, const struct sums *all)
{
	size_t pieces;
	struct sums half = reduce(path, 2, 2, &pieces), first = reduce(path, 3, (unsigned int)pieces, NULL);
	assert_true(half.samples <= all->samples && first.samples <= half.samples);
	if (pieces > 2)
		assert_true(first.samples < all->samples);
	if (pieces == 1)
		assert_int_equal(half.hash, all->hash);
}

static void check_recording(const struct recording *recording, const char *path, const char *theirs)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		char *ours = our_text(recording, path, &ways[i]);
		check_text(ours, theirs, recording->options, ways[i].name);
		free(ours);
	}
	struct sums one = reduce(path, 1, 1, NULL), many = reduce(path, 5, 0, NULL);
	assert_true(one.samples > 0);
	assert_int_equal(one.samples, many.samples);
	assert_int_equal(one.hash, many.hash);
	check_parts(path, &one);
}

static void test_recordings(void **state)
{
	char directory[] = "/tmp/perf-walk-XXXXXX", path[64];
	if (!run("/usr/bin/perf --version >/dev/null 2>&1")) {
		print_message("skipped: the kernel's perf isn't installed (package linux-perf)\n");
		skip();
	}
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/perf.data", directory);
	size_t checked = 0;
	for (size_t i = 0; i < sizeof(recordings) / sizeof(recordings[0]); i++) {
		char *theirs = record_readable(&recordings[i], path);
		if (!theirs) {
			print_message("left out: perf record %s isn't possible here\n", recordings[i].options);
			continue;
		}
		check_recording(&recordings[i], path, theirs);
		free(theirs);
		checked++;
	}
	unlink(path);
	rmdir(directory);
	if (!checked)
		skip();
}

int session_walk_tests(void);
int session_walk_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recordings),
	};
	return cmocka_run_group_tests_name("session/walk", tests, NULL, NULL);
}
