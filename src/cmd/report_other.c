/* perf report: counts of records (--stats), tasks and their maps (--tasks, --mmaps), counters of threads (-T). */
#include "cmd/report.h"

#include "base/text.h"
#include "perfdata/records.h"

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

void report_stats(const struct session *session, bool skip_empty)
{
	struct strbuf safe = {0};
	uint64_t total = 0;
	for (unsigned int i = 0; i < 256; i++)
		total += session->record_counts[i];
	printf("\nAggregated stats:\n%16s events: %10" PRIu64 "\n", "TOTAL", total);
	for (unsigned int i = 0; i < 256; i++) {
		uint64_t count = session->record_counts[i];
		if (!count || !strcmp(record_type_name(i), "UNKNOWN"))
			continue;
		printf("%16s events: %10" PRIu64 "  (%4.1f%%)\n", short_name(i), count, 100.0 * (double)count / (double)total);
	}
	for (size_t i = 0; i < session->reader->events.events.len; i++) {
		const struct event_counts *counts = &session->event_counts[i];
		if (skip_empty && !counts->samples && !counts->lost_samples)
			continue;
		const char *name = session->reader->events.events.data[i]->name;
		strbuf_clear(&safe);
		text_add_safe(&safe, name, strlen(name));
		printf("%s stats:\n", strbuf_str(&safe));
		if (counts->samples)
			printf("%16s events: %10" PRIu64 "\n", "SAMPLE", counts->samples);
		if (counts->lost_samples)
			printf("%16s events: %10" PRIu64 "\n", "LOST_SAMPLES", counts->lost_samples);
	}
	strbuf_deinit(&safe);
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = *(const struct thread *const *)a, *y = *(const struct thread *const *)b;
	return x->tid != y->tid ? ((int32_t)x->tid > (int32_t)y->tid ? 1 : -1) : x->start > y->start;
}

struct map_printer {
	int indent;
	struct strbuf text;
};

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

static bool is_child(const struct thread *parent, const struct thread *thread)
{
	return thread != parent && thread->ppid == parent->pid && parent->pid == parent->tid;
}

static void print_tree(struct thread *const *threads, size_t count, size_t index, unsigned int level, bool with_maps)
{
	print_task(threads[index], level, with_maps);
	for (size_t i = 0; level < 200 && i < count; i++)
		if (is_child(threads[index], threads[i]))
			print_tree(threads, count, i, level + 1, with_maps);
}

void report_tasks(const struct session *session, bool with_maps)
{
	size_t count = session->machine->threads.len;
	struct thread **threads = mem_alloc_array(count + 1, sizeof(*threads));
	for (size_t i = 0; i < count; i++)
		threads[i] = session->machine->threads.data[i];
	qsort(threads, count, sizeof(*threads), by_tid);
	printf("# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	for (size_t i = 0; i < count; i++) {
		bool root = true;
		for (size_t p = 0; p < count && root; p++)
			root = !is_child(threads[p], threads[i]);
		if (root)
			print_tree(threads, count, i, 0, with_maps);
	}
	free(threads);
}
