/* perf report: counts of records (--stats), tasks and their maps (--tasks, --mmaps), counters of threads (-T). */
#include "cmd/report/report.h"

#include "base/text.h"
#include "perfdata/records.h"
#include "session/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "MMAP2" for PERF_RECORD_MMAP2. */
static const char *short_name(uint32_t type)
{
	const char *name = record_type_name(type);
	return str_starts_with(name, "PERF_RECORD_") ? name + strlen("PERF_RECORD_") : name;
}

/* Samples of one event, and those that were lost. */
static void print_event(const struct event *event, const struct event_counts *counts)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, event->name, strlen(event->name));
	printf("%s stats:\n", strbuf_str(&safe));
	strbuf_deinit(&safe);
	if (counts->samples)
		printf("%16s events: %10" PRIu64 "\n", "SAMPLE", counts->samples);
	if (counts->lost_samples)
		printf("%16s events: %10" PRIu64 "\n", "LOST_SAMPLES", counts->lost_samples);
}

void report_tally(const struct reader *reader, const struct tally *tally, bool skip_empty)
{
	uint64_t total = 0;
	for (unsigned int i = 0; i < 256; i++)
		total += tally->records[i];
	printf("\nAggregated stats:\n%16s events: %10" PRIu64 "\n", "TOTAL", total);
	for (unsigned int i = 0; i < 256; i++)
		if (tally->records[i] && strcmp(record_type_name(i), "UNKNOWN") != 0)
			printf("%16s events: %10" PRIu64 "  (%4.1f%%)\n", short_name(i), tally->records[i],
			       100.0 * (double)tally->records[i] / (double)total);
	for (size_t i = 0; i < reader->events.events.len; i++)
		if (!skip_empty || tally->events[i].samples || tally->events[i].lost_samples)
			print_event(reader->events.events.data[i], &tally->events[i]);
}

struct error *report_stats(struct reader *reader, bool skip_empty)
{
	struct tally tally;
	struct error *error = tally_records(reader, &tally);
	if (!error)
		report_tally(reader, &tally, skip_empty);
	tally_deinit(&tally);
	return error;
}

/* By id, and those of one id by the time when they began; for qsort(). */
static int by_tid(const void *a, const void *b)
{
	const struct thread *x = *(const struct thread *const *)a, *y = *(const struct thread *const *)b;
	return x->tid != y->tid ? ((int32_t)x->tid > (int32_t)y->tid ? 1 : -1) : x->start > y->start;
}

struct map_printer {
	int indent;
	struct strbuf text;
};

/* A line as in /proc/PID/maps; never ends the visit. */
static bool print_map(const struct map *map, uint64_t start, uint64_t end, void *context)
{
	struct map_printer *printer = context;
	struct strbuf *text = &printer->text;
	strbuf_clear(text);
	text_add_safe(text, map->dso->name, strlen(map->dso->name));
	printf("%*s  %" PRIx64 "-%" PRIx64 " %c%c%c%c %08" PRIx64 " %" PRIu64 " %s\n", printer->indent, "", start, end,
	       map->prot & 1 ? 'r' : '-', map->prot & 2 ? 'w' : '-', map->prot & 4 ? 'x' : '-', map->flags & 1 ? 's' : 'p',
	       map->pgoff + (start - map->start), map->inode, strbuf_str(text));
	return true;
}

/* Maps belong to processes: they follow the main thread alone. */
static void print_task(const struct thread *thread, unsigned int level, bool with_maps)
{
	struct strbuf comm = {0};
	text_add_untrusted(&comm, thread_comm(thread, UINT64_MAX));
	int written = printf("%10d %8d %8d |%*s", (int)thread->pid, (int)thread->tid, (int)thread->ppid, (int)level, "");
	printf("%s\n", strbuf_str(&comm));
	strbuf_deinit(&comm);
	if (!with_maps || thread->pid != thread->tid)
		return;
	struct map_printer printer = {.indent = written};
	maps_visit(thread_maps(thread), UINT64_MAX, print_map, &printer);
	strbuf_deinit(&printer.text);
}

/* ---- the tree: each task once, below the thread that forked it ---- */

enum { NO_TASK = UINT32_MAX, MOST_LEVELS = 1000 };

struct task {
	const struct thread *thread;
	uint32_t parent, child, sibling; /* positions: child is the first, sibling the next; or NO_TASK */
};

/* The recorder tells of what runs already, and the kernel of what is forked meanwhile: one task may be known twice. */
static bool is_same_task(const struct thread *thread, const struct thread *later)
{
	return thread->pid == later->pid && (thread->exit == UINT64_MAX || !thread->comm_count);
}

/* The last of those that are the same task. */
static const struct thread *stand_in(const struct machine *machine, const struct thread *thread)
{
	const struct thread *found = machine_thread(machine, thread->tid, UINT64_MAX);
	for (const struct thread *later = found; later && later != thread; later = later->older)
		if (!later->older || !is_same_task(later->older, later))
			found = later->older;
	return found ? found : thread;
}

/* False where that would make a circle: a broken recording can say so. */
static bool can_be_parent(const struct task *tasks, uint32_t parent, uint32_t child)
{
	for (unsigned int level = 0; level < MOST_LEVELS; level++) {
		if (parent == child)
			return false;
		parent = tasks[parent].parent;
		if (parent == NO_TASK)
			return true;
	}
	return false;
}

/* For qsort(). */
static int by_task(const void *a, const void *b)
{
	return by_tid(&((const struct task *)a)->thread, &((const struct task *)b)->thread);
}

/* All tasks by their ids; returns how many. */
static uint32_t list_tasks(const struct machine *machine, struct task *tasks)
{
	uint32_t count = 0;
	for (size_t i = 0; i < machine->threads.len; i++)
		if (stand_in(machine, machine->threads.data[i]) == machine->threads.data[i])
			tasks[count++] =
				(struct task){.thread = machine->threads.data[i], .parent = NO_TASK, .child = NO_TASK, .sibling = NO_TASK};
	qsort(tasks, count, sizeof(*tasks), by_task);
	return count;
}

/* Each below the thread that forked it, if that is known. From the last to the first, so that children are in order. */
static void link_tasks(const struct machine *machine, struct task *tasks, uint32_t count)
{
	uint32_t *positions = mem_alloc_array(machine->threads.len + 1, sizeof(*positions));
	for (uint32_t i = 0; i < count; i++)
		positions[tasks[i].thread->index] = i;
	for (uint32_t i = count; i-- > 0;) {
		const struct thread *parent = machine_thread(machine, tasks[i].thread->ppid, tasks[i].thread->start);
		parent = parent ? stand_in(machine, parent) : NULL;
		if (!parent || parent->index >= machine->threads.len || !can_be_parent(tasks, positions[parent->index], i))
			continue;
		struct task *above = &tasks[positions[parent->index]];
		tasks[i].parent = positions[parent->index];
		tasks[i].sibling = above->child;
		above->child = i;
	}
	free(positions);
}

/* A task and all below it. */
static void print_tree(const struct task *tasks, uint32_t root, bool with_maps)
{
	unsigned int level = 0;
	uint32_t at = root;
	for (;;) {
		print_task(tasks[at].thread, level, with_maps);
		if (tasks[at].child != NO_TASK) {
			at = tasks[at].child;
			level++;
			continue;
		}
		while (at != root && tasks[at].sibling == NO_TASK) {
			at = tasks[at].parent;
			level--;
		}
		if (at == root)
			return;
		at = tasks[at].sibling;
	}
}

static void print_machine(const struct machine *machine, bool with_maps)
{
	struct task *tasks = mem_alloc_array(machine->threads.len + 1, sizeof(*tasks));
	uint32_t count = list_tasks(machine, tasks);
	link_tasks(machine, tasks, count);
	for (uint32_t i = 0; i < count; i++)
		if (tasks[i].parent == NO_TASK)
			print_tree(tasks, i, with_maps);
	free(tasks);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The host's, then those of each guest, which have numbers of their own. */
void report_tasks(const struct session *session, bool with_maps)
{
	const struct machine *machine = session->machine;
	VEC(uint64_t) guests = {0};
	printf("# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	print_machine(machine, with_maps);
	map64_each (slot, &machine->guests)
		vec_push(&guests, slot->key);
	if (guests.len)
		qsort(guests.data, guests.len, sizeof(*guests.data), by_number);
	for (size_t i = 0; i < guests.len; i++) {
		const struct machine *guest = machine_of_guest((struct machine *)machine, (uint32_t)guests.data[i]);
		if (!guest->threads.len)
			continue;
		printf("#\n# in the guest of process %u\n", guest->guest_pid);
		print_machine(guest, with_maps);
	}
	vec_deinit(&guests);
}
