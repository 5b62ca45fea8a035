/* Generated code into the machine's model, from the jitdumps of the recorded processes.
 *
 * A run-time compiler maps its dump into memory, so that a MMAP record tells of it. The dump is read then, and each piece of code becomes a
 * map of the process from its time on, between the side-band of the recording:
 *
 *	side-band    mmap jit-9.dump ──────────── fork ─────────── mmap libz.so
 *	dump                          load f()           load g()              move f()      load h()
 *
 * The dump's clock is CLOCK_MONOTONIC. A recording that wasn't made with it (-k mono) has its own; the two are compared where the dump
 * begins: it is mapped and gets its time in the same moment. Where that was before the recording, or times say nothing, all code counts
 * from the MMAP record on, the latest at each address.
 *
 * A dump that is still written to is read on when its code is used up. */
#include "session/session_internal.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Code that comes within so short a time is taken for simultaneous: each distinct time costs memory. */
enum { STEP_NS = 1000000, LOOK_AGAIN_NS = 10000000 };

/* Whether times of the recording are the dump's. */
static bool same_clock(const struct session *session)
{
	const struct event_list *events = &session->reader->events;
	return events->events.len && events->events.data[0]->attr.use_clockid && events->events.data[0]->attr.clockid == CLOCK_MONOTONIC;
}

/* *ret_path, freed by the caller, is where it was found. */
static int open_dump(const struct session *session, uint32_t pid, const char *name, char **ret_path)
{
	const struct session_options *options = &session->private->options;
	char root[PROCESS_ROOT_SIZE];
	bool foreign = false, inside = !options->symfs && session_is_of_this_machine(session) && process_root("/proc", pid, root);
	if (!inside)
		*root = '\0';
	cleanup_free char *path = mem_printf("%s%s", options->symfs ? options->symfs : "", name);
	bool elsewhere = inside || options->symfs;
	int fd = elsewhere ? process_file_open(root, path, options->input.force, &foreign) : -1;
	if (fd >= 0) {
		*ret_path = mem_printf("%s%s", root, path);
		return fd;
	}
	fd = foreign ? -1 : process_file_open("", name, options->input.force, &foreign);
	if (fd >= 0)
		*ret_path = mem_strdup(name);
	return fd;
}

/* Reads what is in the dump from `from` on; false when it can't be read. */
static bool read_dump(struct session *session, struct jit_source *source, uint64_t from)
{
	struct jitdump *dump;
	cleanup_free char *found = NULL;
	cleanup_close int fd = open_dump(session, source->pid, source->path, &found);
	if (fd < 0)
		return false;
	struct error *error = jitdump_open(fd, source->path, from, &dump);
	if (error) {
		log_warning("%s", error_message(error));
		error_free(error);
		return false;
	}
	if (from && !dump->codes.len) {
		jitdump_close(dump);
		return false;
	}
	source->found = intern_string(&session->private->jit_paths, found);
	source->dump = dump;
	source->next = 0;
	source->dso = machine_add_jitdump(session->machine, source->pid, dump);
	return true;
}

/* "…/jit-1234.dump" */
static bool is_dump_name(const char *name)
{
	unsigned int pid;
	int end = 0;
	const char *slash = strrchr(name, '/');
	return slash && str_starts_with(slash, "/jit-") && sscanf(slash, "/jit-%u.dump%n", &pid, &end) == 1 && end && !slash[end];
}

static bool is_known(const struct session_private *private, uint32_t pid, const char *name)
{
	for (size_t i = 0; i < private->jit_sources.len; i++)
		if (private->jit_sources.data[i].pid == pid && !strcmp(private->jit_sources.data[i].path, name))
			return true;
	return false;
}

static void note_dump(struct session *session, uint32_t pid, const char *name, uint64_t record_time, uint64_t time)
{
	struct session_private *private = session->private;
	if (is_known(private, pid, name))
		return;
	struct jit_source source = {.pid = pid, .path = mem_strdup(name), .begun = time, .process = machine_process(session->machine, pid)};
	if (!read_dump(session, &source, 0)) {
		free(source.path);
		return;
	}
	source.timed = !private->offset_times && !private->file_order && !source.dump->cpu_clock && (same_clock(session) || record_time);
	if (!same_clock(session))
		source.offset = (int64_t)(record_time - source.dump->time);
	vec_push(&private->jit_sources, source);
}

static const struct jit_source *source_of(const struct session *session, uint32_t pid)
{
	const struct session_private *private = session->private;
	for (size_t i = 0; i < private->jit_sources.len; i++)
		if (private->jit_sources.data[i].pid == pid)
			return &private->jit_sources.data[i];
	return NULL;
}

bool session_maps_jitdump(const struct session *session, const struct record_header *header)
{
	struct apply_map map;
	if (!session->private->jit_sources.len || !apply_user_map(header, &map))
		return false;
	return str_starts_with(map.name, "//anon") ? source_of(session, map.pid) != NULL : is_known(session->private, map.pid, map.name);
}

/* Where a process has a dump, memory without a file hides no code that is known. When memory that is mapped gets another protection, as
 * compilers do again and again, nothing changes. */
enum jit_verdict jit_feed_record(struct session *session, const struct record_header *header, uint64_t record_time, uint64_t time)
{
	struct apply_map map;
	if (!apply_user_map(header, &map))
		return JIT_APPLY;
	if (is_dump_name(map.name))
		note_dump(session, map.pid, map.name, record_time, time);
	const struct jit_source *source = str_starts_with(map.name, "//anon") ? source_of(session, map.pid) : NULL;
	if (!source)
		return JIT_APPLY;
	return maps_find(source->process->maps, map.start, UINT64_MAX) ? JIT_SKIP : JIT_APPLY_AROUND;
}

/* Who is told of the code gets it in its exact order. */
static uint64_t event_time(const struct session_private *private, const struct jit_source *source)
{
	const struct jitdump_event *event = &source->dump->events.data[source->next];
	uint64_t time = source->timed ? event->time + (uint64_t)source->offset : source->begun;
	time -= source->timed && !private->options.code ? time % STEP_NS : 0;
	return time < source->begun ? source->begun : time;
}

static void add_event(struct session *session, struct jit_source *source, uint64_t time)
{
	const struct session_options *options = &session->private->options;
	const struct jitdump_event *event = &source->dump->events.data[source->next++];
	const struct jitdump_code *code = &source->dump->codes.data[event->code];
	machine_add_jit_code(session->machine, source->process, source->dso, event->address, code, time);
	if (options->code)
		options->code(options->code_context,
			      &(struct session_code){source->dump, code, event->address, session->private->file_order ? 0 : time,
						     source->pid, source->found});
}

/* A program that still runs may have written more. */
static void look_again(struct session *session, struct jit_source *source, uint64_t time)
{
	if (session->reader->stable || time - source->looked < LOOK_AGAIN_NS)
		return;
	source->looked = time;
	read_dump(session, source, source->dump->end);
}

/* The one whose next code is the earliest, NULL when none is due. */
static struct jit_source *earliest(struct session_private *private, uint64_t until, uint64_t *ret_time)
{
	struct jit_source *found = NULL;
	for (size_t i = 0; i < private->jit_sources.len; i++) {
		struct jit_source *source = &private->jit_sources.data[i];
		uint64_t time = source->next < source->dump->events.len ? event_time(private, source) : UINT64_MAX;
		if (time == UINT64_MAX || time > until || (found && time >= *ret_time))
			continue;
		*ret_time = time;
		found = source;
	}
	return found;
}

void jit_feed_until(struct session *session, uint64_t time)
{
	struct session_private *private = session->private;
	struct jit_source *source;
	uint64_t at = 0;
	for (size_t i = 0; i < private->jit_sources.len; i++)
		if (private->jit_sources.data[i].next == private->jit_sources.data[i].dump->events.len)
			look_again(session, &private->jit_sources.data[i], time);
	while ((source = earliest(private, time, &at)))
		add_event(session, source, at);
}

void jit_feed_renew(struct session *session)
{
	struct session_private *private = session->private;
	size_t kept = 0;
	for (size_t i = 0; i < private->jit_sources.len; i++) {
		struct jit_source *source = &private->jit_sources.data[i];
		struct thread *leader = machine_thread(session->machine, source->pid, UINT64_MAX);
		if (leader && leader->exit == UINT64_MAX) {
			source->process = leader->process;
			private->jit_sources.data[kept++] = *source;
		} else {
			free(source->path);
		}
	}
	private->jit_sources.len = kept;
}

void jit_feed_deinit(struct session_private *private)
{
	for (size_t i = 0; i < private->jit_sources.len; i++)
		free(private->jit_sources.data[i].path);
	vec_deinit(&private->jit_sources);
	intern_deinit(&private->jit_paths);
}
