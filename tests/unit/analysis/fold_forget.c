/* A fold of what runs for days, when files that nobody maps any more have gone: their numbers are given to others. Those that have frames
 * stay as long as these do; those without symbols, whose samples aren't counted here, have none. That they had no symbols must not be
 * said of the others. */
#include "analysis/report/fold.h"
#include "base/cleanup.h"
#include "made_records.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The model lets go of some hundreds of files together. */
enum {
	ROUNDS = 6,
	IN_A_ROUND = 300,
	FIRST_PID = 2000,
	PROCESSES = ROUNDS * IN_A_ROUND,
	WITHOUT = PROCESSES / 2,
	FIRST_WITH = FIRST_PID + WITHOUT,
	CODE = 0x400000,
	CODE_SIZE = 0x1000,
	ID = 11
};

struct fixture {
	char folder[32]; /* has the /tmp/perf-PID.map of each process from FIRST_WITH on */
	uint32_t next;	 /* process */
	unsigned int numbers_used_again;
	size_t files;	/* numbers in use when the last round ended */
	size_t checked; /* processes with symbols */
};

/* ---- the files: one symbol each, at the same addresses ---- */

static void map_path(const struct fixture *fixture, uint32_t pid, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/tmp/perf-%u.map", fixture->folder, pid);
}

static int set_up(void **state)
{
	static struct fixture fixture;
	char path[PATH_MAX];
	fixture = (struct fixture){.folder = "/tmp/unit-forget-XXXXXX"};
	if (!mkdtemp(fixture.folder))
		return -1;
	snprintf(path, sizeof(path), "%s/tmp", fixture.folder);
	mkdir(path, 0700);
	for (uint32_t pid = FIRST_WITH; pid < FIRST_PID + PROCESSES; pid++) {
		map_path(&fixture, pid, path);
		cleanup_fclose FILE *file = fopen(path, "we");
		if (!file || fprintf(file, "%x %x of_%u\n", CODE, CODE_SIZE, pid) < 0)
			return -1;
	}
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	const struct fixture *fixture = *state;
	char path[PATH_MAX];
	for (uint32_t pid = FIRST_WITH; pid < FIRST_PID + PROCESSES; pid++) {
		map_path(fixture, pid, path);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/tmp", fixture->folder);
	return rmdir(path) | rmdir(fixture->folder);
}

/* ---- the stream: processes that run the code of their file for one sample ---- */

static void add_process(struct strbuf *out, uint32_t pid)
{
	uint64_t now = (uint64_t)pid * 1000;
	struct {
		struct record_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
	} sample = {{RECORD_SAMPLE, CPUMODE_USER, sizeof(sample)}, ID, CODE + 0x10, pid, pid, now + 3};
	made_task(out, RECORD_FORK, &(struct made_trailer){pid, pid, now, ID});
	made_map(out, CODE, CODE_SIZE, "//anon", &(struct made_trailer){pid, pid, now + 1, ID});
	strbuf_add(out, &sample, sizeof(sample));
	made_task(out, RECORD_EXIT, &(struct made_trailer){pid, pid, now + 4, ID});
}

static struct error *next_round(void *context, struct reader_chunk **ret)
{
	struct fixture *fixture = context;
	struct strbuf out = {0};
	if (fixture->next == PROCESSES)
		return NULL;
	for (unsigned int i = 0; i < IN_A_ROUND; i++)
		add_process(&out, FIRST_PID + fixture->next++);
	made_round(&out, 0);
	*ret = made_chunk(&out);
	return NULL;
}

static struct session *open_session(struct fixture *fixture)
{
	const struct reader_feed feed = {next_round, fixture};
	struct event_list events = {0};
	struct event *event = event_list_add(&events, "cpu-clock");
	struct session *session;
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	event->attr.sample_id_all = 1;
	vec_push(&event->ids, ID);
	assert_null(session_open(&(struct session_options){.reader = reader_open_feed("rounds", &feed, &events, NULL), .streaming = true},
				 &session));
	event_list_deinit(&events);
	session->machine->drops_files = true;
	return session;
}

/* ---- what comes of it ---- */

/* Each process in the symbol of its own file. */
static void check_taken(struct fixture *fixture, struct fold *taken)
{
	fold_finish(taken);
	fixture->checked += taken->entry_count;
	for (size_t i = 0; i < taken->entry_count; i++) {
		const struct fold_frame *frame = &taken->frames[taken->entries[i].leaf];
		char name[16];
		snprintf(name, sizeof(name), "of_%u", taken->actors[taken->entries[i].actor].thread->pid);
		assert_non_null(frame->symbol);
		assert_string_equal(frame->symbol->name, name);
	}
	fold_destroy(taken);
}

static void carry(void *fold, struct carrying *carrying)
{
	fold_carry(fold, carrying);
}

static void end_round(struct fixture *fixture, struct fold *fold, struct resolver *resolver, uint64_t now)
{
	struct machine *machine = fold->session->machine;
	check_taken(fixture, fold_swap(fold));
	machine_forget_but(machine, now, NULL, NULL, &(struct machine_holder){carry, fold});
	resolver_forget(resolver);
	fixture->numbers_used_again += machine->dsos.len == fixture->files;
	fixture->files = machine->dsos.len;
}

static void test_numbers_of_files_are_used_again(void **state)
{
	struct fixture *fixture = *state;
	struct session *session = open_session(fixture);
	struct resolver *resolver = resolver_create(session->machine, &(struct symbol_options){.symfs = fixture->folder});
	const struct fold_options options = {
		.threads = true, .any_address = true, .hide_unresolved = true, .records = FOLD_RECORDS_DROPPED, .jobs = 1};
	struct fold *fold = fold_create(session, resolver, &options);
	struct fold_feed *feed = fold_feed_open(fold);
	struct record record;
	struct sample sample;
	struct error *error = NULL;
	uint64_t now = 0;
	while (session_next(session, &record, &error) > 0) {
		if (record.is_sample) {
			now = record.model_time;
			assert_true(session_decode(session, &record, &sample));
			fold_add(feed, &(struct fold_sample){.event = record.event, .sample = &sample, .model_time = record.model_time}, 1);
		} else if (record.header->type == RECORD_FINISHED_ROUND) {
			end_round(fixture, fold, resolver, now);
		}
	}
	assert_null(error);
	fold_feed_close(feed);
	check_taken(fixture, fold_swap(fold));
	assert_int_equal(fixture->checked, PROCESSES - WITHOUT);
	assert_true(fixture->numbers_used_again > 0);
	assert_true(session->machine->dsos.len < PROCESSES);
	fold_destroy(fold);
	resolver_destroy(resolver);
	session_close(session);
}

int analysis_fold_forget_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_numbers_of_files_are_used_again, set_up, tear_down)};
	return cmocka_run_group_tests_name("analysis/fold_forget", tests, NULL, NULL);
}
