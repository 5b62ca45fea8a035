/* perf stat record: counts in a perf.data. Its records say who was measured where (THREAD_MAP, CPU_MAP), how (STAT_CONFIG), then in rounds
 * what each counter has counted so far (STAT), each round with its time (STAT_ROUND). Formats: tools/lib/perf/include/perf/event.h. */
#include "cmd/stat/stat.h"

#include "base/mem.h"
#include "capture/gather/gather.h"
#include "capture/synth/synth.h"
#include "perfdata/writer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct stat_recording {
	struct writer *writer;
	struct features features;
};

/* How the kernel's perf since Linux 6.9 numbers what counts are kept apart by. The first four are the same in all versions; the others are
 * told from older numbers by a fourth term, at which older versions wonder. */
static const uint8_t aggregations[] = {
	[STAT_PER_CPU] = 0,   [STAT_PER_ALL] = 1,  [STAT_PER_SOCKET] = 2, [STAT_PER_DIE] = 3, [STAT_PER_CLUSTER] = 4,
	[STAT_PER_CACHE] = 5, [STAT_PER_CORE] = 6, [STAT_PER_THREAD] = 7, [STAT_PER_NODE] = 9};

static void describe_machine(struct stat_run *run, struct features *features)
{
	struct gather_options gather = {.arguments = run->arguments, .catalog = run->catalog};

	gather_features(&gather, features);
	features_set(features, FEATURE_STAT);
	error_free(gather_tracing_data(run->catalog, run->events, features));
}

/* Maps, the configuration, and the units and scales of events. */
static struct error *describe_counting(struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	const struct counter_target *target = &run->counters.target;
	struct strbuf text = {0};
	struct synth synth = {.out = &text};
	const uint64_t terms[STAT_CONFIG_TERMS][2] = {{STAT_CONFIG_AGGR_MODE, aggregations[options->display.per]},
						      {STAT_CONFIG_INTERVAL, options->interval_ms},
						      {STAT_CONFIG_SCALE, !options->no_scale},
						      {STAT_CONFIG_AGGR_LEVEL, (uint64_t)options->display.cache_level}};
	unsigned int count = aggregations[options->display.per] <= 3 ? STAT_CONFIG_TERMS - 1 : STAT_CONFIG_TERMS;
	const struct record_stat_config config = {
		.header = {.type = RECORD_STAT_CONFIG, .size = (uint16_t)(sizeof(config) + count * sizeof(terms[0]))}, .count = count};

	for (size_t i = 0; i < run->events->events.len; i++)
		if (run->events->events.data[i]->ids.len)
			synth_event_update(&synth, run->events->events.data[i], false);
	synth_thread_map(&synth, target->threads, target->thread_count);
	synth_cpu_map(&synth, target->cpus, target->cpu_count);
	strbuf_add(&text, &config, sizeof(config));
	strbuf_add(&text, terms, count * sizeof(terms[0]));
	struct error *error = NULL;
	for (size_t at = 0; !error && at < text.len;) {
		const struct record_header *header = (const void *)(text.data + at);
		error = writer_add(run->recording->writer, header, header->size);
		at += header->size;
	}
	strbuf_deinit(&text);
	return error;
}

struct error *stat_record_begin(struct stat_run *run)
{
	struct writer_options options = {.path = run->options.display.output, .keep_old = true};

	if (!run->options.recorded)
		return NULL;
	run->recording = mem_zalloc(sizeof(*run->recording));
	describe_machine(run, &run->recording->features);
	struct error *error = writer_open(&options, run->events, &run->recording->features, &run->recording->writer);
	return error ? error : describe_counting(run);
}

struct error *stat_record_round(struct stat_run *run, uint64_t time_ns, bool final)
{
	const struct counter_target *target = &run->counters.target;
	struct record_stat_round round = {
		.header = {.type = RECORD_STAT_ROUND, .size = sizeof(round)}, .is_final = final, .time_ns = time_ns};
	struct error *error = NULL;

	if (!run->recording)
		return NULL;
	for (size_t i = 0; i < run->events->events.len; i++) {
		const struct counter *counter = &run->counters.each[i];
		for (size_t slot = 0; !error && slot < counter_slots(counter); slot++) {
			const struct counter_value *cell = &run->cells.now[i][slot];
			struct record_stat record = {.header = {.type = RECORD_STAT, .size = sizeof(record)},
						     .id = counter->ids[slot],
						     .cpu = target->cpus[slot / target->thread_count],
						     .thread = (int32_t)(slot % target->thread_count),
						     .value = cell->value,
						     .enabled_ns = cell->enabled_ns,
						     .running_ns = cell->running_ns};
			if (counter->fds[slot] >= 0)
				error = writer_add(run->recording->writer, &record, sizeof(record));
		}
	}
	if (!error)
		error = writer_add(run->recording->writer, &round, sizeof(round));
	return error ? error : writer_flush(run->recording->writer);
}

struct error *stat_record_end(struct stat_run *run)
{
	if (!run->recording)
		return NULL;
	struct error *error = writer_finish_data(run->recording->writer);
	return error ? error : writer_finish(run->recording->writer, &run->recording->features);
}

void stat_record_close(struct stat_recording *recording)
{
	if (!recording)
		return;
	writer_close(recording->writer);
	features_deinit(&recording->features);
	free(recording);
}
