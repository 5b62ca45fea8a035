/* Hardware traces on machines that are not here: what is opened for them, what the recording tells of them, and how they come into it. */
#include "capture/traces/trace_areas.h"
#include "capture/traces/trace_filter.h"
#include "capture/traces/trace_info.h"
#include "capture/traces/trace_plan.h"

#include "base/mem.h"
#include "event/parse/parse.h"
#include "perfdata/reader.h"
#include "tree.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICES "sys/bus/event_source/devices/"
#define PT DEVICES "intel_pt/"
#define ETM DEVICES "cs_etm/"
#define COUNT(files) (sizeof(files) / sizeof(*(files)))

static tree_file machine[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "cpu/format/event", "config:0-7"},
	{PT "type", "8"},
	{PT "nr_addr_filters", "2"},
	{PT "format/pt", "config:0"},
	{PT "format/cyc", "config:1"},
	{PT "format/mtc", "config:9"},
	{PT "format/tsc", "config:10"},
	{PT "format/noretcomp", "config:11"},
	{PT "format/branch", "config:13"},
	{PT "format/mtc_period", "config:14-17"},
	{PT "format/psb_period", "config:24-27"},
	{PT "caps/mtc", "1"},
	{PT "caps/mtc_periods", "249"},
	{PT "caps/psb_cyc", "1"},
	{PT "caps/psb_periods", "7"},
	{PT "caps/max_nonturbo_ratio", "24"},
	{PT "caps/event_trace", "1"},
	{DEVICES "intel_bts/type", "7"},
	{DEVICES "arm_spe_0/type", "9"},
	{DEVICES "arm_spe_0/caps/min_interval", "256"},
	{DEVICES "arm_spe_0/format/ts_enable", "config:0"},
	{DEVICES "arm_spe_1/type", "10"},
	{ETM "type", "11"},
	{ETM "format/contextid", "config:14"},
	{ETM "format/contextid1", "config:14"},
	{ETM "format/contextid2", "config:15"},
	{ETM "format/timestamp", "config:28"},
	{ETM "format/cycacc", "config:12"},
	{ETM "cpu0/trcidr/trcidr0", "0x28000ea1"},
	{ETM "cpu0/trcidr/trcidr1", "0x4100f421"},
	{ETM "cpu0/trcidr/trcidr2", "0x20001088"},
	{ETM "cpu0/trcidr/trcidr8", "0x0"},
	{ETM "cpu0/mgmt/trcauthstatus", "0xcc"},
	{DEVICES "hisi_ptt0_2/type", "12"},
};

struct fixture {
	char root[32];
	struct event_catalog *catalog;
	struct event_list events;
	struct sampling sampling;
	struct trace_plan plan;
};

static void set_up(struct fixture *fixture, const char *texts)
{
	*fixture = (struct fixture){.root = "/tmp/perf-traces-XXXXXX", .sampling = {.freq = 4000}};
	tree_make(fixture->root, machine, COUNT(machine));
	fixture->catalog = event_catalog_create(fixture->root);
	struct error *error = event_parse(&fixture->events, fixture->catalog, texts);
	if (error)
		print_error("%s\n", error_message(error));
	assert_null(error);
}

static void tear_down(struct fixture *fixture)
{
	event_list_deinit(&fixture->events);
	event_catalog_destroy(fixture->catalog);
	tree_remove(fixture->root);
}

/* The plan and the attributes; or the error. */
static struct error *make(struct fixture *fixture)
{
	struct error *error = trace_plan_make(&fixture->plan, &fixture->events, fixture->catalog, &fixture->sampling);
	return error ? error : sampling_configure(&fixture->events, &fixture->sampling);
}

static void made(struct fixture *fixture)
{
	struct error *error = make(fixture);
	if (error)
		print_error("%s\n", error_message(error));
	assert_null(error);
}

static const struct event_attr *attr(const struct fixture *fixture, size_t index)
{
	return &fixture->events.events.data[index]->attr;
}

static void pt_of_a_command(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "cycles:u,intel_pt//u");
	fixture.plan.pages = 1024;
	made(&fixture);
	assert_int_equal(fixture.plan.kind, TRACE_INTEL_PT);
	/* tsc, mtc, branch, pt; a period of mtc of 3, and the largest of psb that there is. */
	assert_int_equal(attr(&fixture, 1)->config, 1 << 10 | 1 << 9 | 1 << 13 | 1 | 3 << 14 | 2 << 24);
	assert_int_equal(attr(&fixture, 1)->sample_period, 1);
	assert_int_equal(attr(&fixture, 1)->freq, 0);
	assert_int_equal(attr(&fixture, 1)->aux_watermark, 1024 * (uint64_t)sysconf(_SC_PAGESIZE) / 4);
	assert_int_equal(attr(&fixture, 0)->aux_watermark, 0);
	assert_int_equal(attr(&fixture, 0)->freq, 1);
	/* Side-band has an event of its own, which tells who runs. */
	assert_int_equal(fixture.events.events.len, 3);
	assert_int_equal(attr(&fixture, 2)->context_switch, 1);
	assert_int_equal(attr(&fixture, 2)->text_poke, 0);
	assert_int_equal(attr(&fixture, 0)->mmap, 0);
	for (size_t i = 0; i < 3; i++)
		assert_true(attr(&fixture, i)->sample_type & PERF_SAMPLE_CPU && attr(&fixture, i)->sample_type & PERF_SAMPLE_TIME);
	assert_int_equal(fixture.plan.switches, 2);
	tear_down(&fixture);
}

static void pt_of_the_system(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "intel_pt/tsc,mtc=0,config1=5/");
	fixture.sampling.by_cpu = true;
	fixture.sampling.callgraph = CALLCHAIN_FP;
	made(&fixture);
	assert_int_equal(attr(&fixture, 0)->config & 1 << 9, 0);
	assert_int_equal(attr(&fixture, 0)->config1, 5);
	assert_false(attr(&fixture, 0)->sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_int_equal(attr(&fixture, 1)->text_poke, 1);
	assert_int_equal(fixture.plan.switches, 3);
	tear_down(&fixture);
}

static void pt_of_threads(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "intel_pt//u");
	fixture.sampling.per_thread = true;
	made(&fixture);
	assert_int_equal(fixture.plan.switches, 0);
	assert_false(attr(&fixture, 0)->sample_type & PERF_SAMPLE_CPU);
	tear_down(&fixture);
}

static void snapshots_wake_nobody_up(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "intel_pt//u");
	fixture.plan.snapshots = true;
	fixture.plan.snapshot_bytes = 100 << 20;
	made(&fixture);
	assert_int_equal(attr(&fixture, 0)->aux_watermark, 0);
	assert_int_equal(fixture.plan.pages * (uint64_t)sysconf(_SC_PAGESIZE), 128 << 20);
	tear_down(&fixture);
}

static void traces_in_samples(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "{intel_pt//u,cycles:u,instructions/aux-sample-size=64/u}");
	fixture.plan.sample_bytes = 4096;
	made(&fixture);
	assert_true(fixture.plan.in_samples);
	assert_int_equal(attr(&fixture, 0)->aux_sample_size, 0);
	assert_int_equal(attr(&fixture, 1)->aux_sample_size, 4096);
	assert_int_equal(attr(&fixture, 2)->aux_sample_size, 64);
	assert_false(attr(&fixture, 0)->sample_type & PERF_SAMPLE_AUX);
	assert_true(attr(&fixture, 1)->sample_type & PERF_SAMPLE_AUX && attr(&fixture, 2)->sample_type & PERF_SAMPLE_AUX);
	assert_int_equal(attr(&fixture, 0)->config >> 24 & 15, 0); /* points of synchronization come often */
	tear_down(&fixture);
}

/* What is for the trace joins its group, from in front and from behind. */
static void lonely_events_join(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "cs,cycles/aux-output/pppu,intel_pt//u,faults,instructions/aux-sample-size=64/u,{migrations,dummy}");
	made(&fixture);
	const char *const names[] = {"cs",	   "intel_pt//u", "cycles/aux-output/pppu", "instructions/aux-sample-size=64/u", "faults",
				     "migrations", "dummy"};
	const unsigned int leaders[] = {0, 1, 1, 1, 4, 5, 5}, members[] = {1, 3, 0, 0, 1, 2, 0};
	for (unsigned int i = 0; i < COUNT(names); i++) {
		const struct event *event = fixture.events.events.data[i];
		assert_string_equal(event->name, names[i]);
		assert_int_equal(event->index, i);
		assert_int_equal(event->leader, leaders[i]);
		assert_int_equal(event->members, members[i]);
	}
	assert_int_equal(attr(&fixture, 2)->aux_output, 1);
	tear_down(&fixture);
}

/* Events of the group pause and resume a trace; they join it as others do. */
static void traces_pause(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "intel_pt/aux-action=start-paused/u,cs/aux-action=resume/,faults/aux-action=pause/");
	made(&fixture);
	const uint32_t actions[] = {1 << 0, 1 << 2, 1 << 1};
	for (unsigned int i = 0; i < COUNT(actions); i++) {
		assert_int_equal(attr(&fixture, i)->aux_action, actions[i]);
		assert_int_equal(fixture.events.events.data[i]->leader, 0);
	}
	tear_down(&fixture);
}

static void spe(void **state)
{
	struct fixture fixture;

	set_up(&fixture, "arm_spe_0/ts_enable=1/,arm_spe_1/period=7/");
	made(&fixture);
	assert_int_equal(attr(&fixture, 0)->sample_period, 256);
	assert_int_equal(attr(&fixture, 1)->sample_period, 7);
	assert_int_equal(fixture.plan.switches, 2);
	tear_down(&fixture);
}

/* ── Filters of addresses ── */

/* Named in the test below, found in this program's own file. */
__attribute__((noinline, used)) static int traces_filtered_function(void)
{
	return 77;
}

static const char KALLSYMS[] = "ffffffff81000000 T first\nffffffff81000040 t twice\nffffffff81000060 d data\n"
			       "ffffffff81000080 W twice\nffffffff81000083 t last\n";

/* What the kernel is to get; the error's text. To be freed. */
static char *resolved(const char *pmu, const char *filter, bool by_cpu)
{
	struct fixture fixture;
	char *path, texts[64];

	snprintf(texts, sizeof(texts), "%s//", pmu);
	set_up(&fixture, texts);
	path = mem_printf("%s/kallsyms", fixture.root);
	FILE *file = fopen(path, "w");
	fputs(KALLSYMS, file);
	fclose(file);
	struct event *event = fixture.events.events.data[0];
	event->address_filter = filter;
	struct error *error =
		trace_filter_resolve(&fixture.events, event, pmu_by_name(event_catalog_pmus(fixture.catalog), pmu), by_cpu, path);
	char *ret = mem_strdup(error ? error_message(error) : event->filter);
	error_free(error);
	free(path);
	tear_down(&fixture);
	return ret;
}

static void filters_of_the_kernel(void **state)
{
	static const char *const CASES[][2] = {
		{"filter first", "filter 0xffffffff81000000/0x40"},
		{"tracestop first", "stop 0xffffffff81000000/0x40"},
		{"start first,stop first", NULL}, /* names end with a space */
		{"start first stop first", "start 0xffffffff81000000,stop 0xffffffff81000000"},
		{"filter twice #1", "filter 0xffffffff81000040/0x40"}, /* data are no functions */
		{"filter twice #g", "filter 0xffffffff81000080/0x3"},
		{"filter twice #0 / 0x10", "filter 0xffffffff81000080/0x10"},
		{"filter first / twice #2", "filter 0xffffffff81000000/0x83"},
		{"filter 0x10/0x20,stop 0x40", "filter 0x10/0x20,stop 0x40"},
		{"filter *", "filter 0xffffffff81000000/0x2000"},
	};
	for (size_t i = 0; i < COUNT(CASES); i++) {
		char *text = resolved("intel_pt", CASES[i][0], true);
		if (CASES[i][1])
			assert_string_equal(text, CASES[i][1]);
		else
			assert_non_null(strstr(text, "expected filter, start, stop or tracestop"));
		free(text);
	}
}

/* The place is an offset in the file, and the file is named by its whole path. */
static void filters_of_a_file(void **state)
{
	char path[4096], expected[5000], program[64];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_int_equal(traces_filtered_function(), 77);
	assert_true(length > 0);
	path[length] = 0;
	char *text = resolved("intel_pt", "filter traces_filtered_function @/proc/self/exe", false), *end;
	assert_true(!strncmp(text, "filter 0x", 9));
	uint64_t offset = strtoull(text + 7, &end, 16), size = strtoull(end + 1, &end, 16);
	snprintf(expected, sizeof(expected), "filter %#llx/%#llx@%s", (unsigned long long)offset, (unsigned long long)size, path);
	assert_string_equal(text, expected);
	free(text);
	/* The bytes there are the function's. */
	uint8_t bytes[8];
	FILE *file = fopen(path, "r");
	assert_true(size >= sizeof(bytes) && !fseek(file, (long)offset, SEEK_SET) && fread(bytes, sizeof(bytes), 1, file) == 1);
	fclose(file);
	assert_memory_equal(bytes, (const void *)(uintptr_t)traces_filtered_function, sizeof(bytes));
	text = resolved("intel_pt", "filter * @/proc/self/exe", false);
	assert_true(!strncmp(text, "filter 0x0/0x", 13));
	free(text);
	snprintf(program, sizeof(program), "start 0x123 @/proc/%d/exe", getpid());
	text = resolved("intel_pt", program, false);
	snprintf(expected, sizeof(expected), "start 0x123@%s", path);
	assert_string_equal(text, expected);
	free(text);
}

static void filters_refused(void **state)
{
	static const struct {
		const char *pmu, *filter;
		bool by_cpu;
		const char *error;
	} CASES[] = {
		{"intel_pt", "filter twice", false, "the kernel has 2 functions called twice; say which, as in 'twice #2', or 'twice #g'"},
		{"intel_pt", "filter twice #3", false, "no function twice of that number"},
		{"intel_pt", "filter first #1 / frist", false, "no function frist; did you mean first"},
		{"intel_pt", "filter last #g", false, "no global function last"},
		{"intel_pt", "filter data", false, "no function data"},
		{"intel_pt", "filter last", false, "the size of last isn't known"},
		{"intel_pt", "filter last / first", false, "first (0xffffffff81000000) lies in front of where the filter begins"},
		{"intel_pt", "filter 0x10", false, "expected a size"},
		{"intel_pt", "ip > 5", false, "expected filter, start, stop or tracestop"},
		{"intel_pt", "filter first @", false, "expected a file"},
		{"intel_pt", "filter first #x", false, "expected a number, or g"},
		{"intel_pt", "filter main @/nowhere", false, "/nowhere: No such file"},
		{"intel_pt", "filter 0/8 @/proc/self/exe", true, "of whole CPUs the kernel filters its own addresses only"},
		{"intel_pt", "stop 1 stop 2 stop 3", false, "3 filters of addresses, but this PMU has room for 2"},
		{"arm_spe_0", "stop 1", false, "this PMU has no filters of addresses"},
	};
	for (size_t i = 0; i < COUNT(CASES); i++) {
		char *text = resolved(CASES[i].pmu, CASES[i].filter, CASES[i].by_cpu);
		if (!strstr(text, CASES[i].error))
			print_error("%s: %s\n", CASES[i].filter, text);
		assert_non_null(strstr(text, CASES[i].error));
		free(text);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *texts, *error;
		struct trace_plan plan;
		struct sampling sampling;
	} cases[] = {
		{"cycles", "-S is for hardware traces", {.snapshots = true}, {0}},
		{"cycles", "--aux-sample is for hardware traces", {.sample_bytes = 8}, {0}},
		{"cycles", "the second part of -m is for hardware traces", {.pages = 4}, {0}},
		{"cycles/aux-output/", "aux-output= is for hardware traces (AUX areas)", {0}, {0}},
		{"intel_pt//u,intel_pt//k", "intel_pt//u and intel_pt//k: there can be one event that traces", {0}, {0}},
		{"intel_pt//u,arm_spe_0//", "there can be one event that traces", {0}, {0}},
		{"{cycles,intel_pt//u}", "an event that traces leads its group", {0}, {0}},
		{"intel_pt/mtc_period=1/", "this processor has no mtc_period=1, but 0, 3, 6, 9", {0}, {0}},
		{"cycles/aux-action=pause/", "aux-action= is for hardware traces (AUX areas)", {0}, {0}},
		{"intel_pt/aux-action=pause/", "its own is aux-action=start-paused", {0}, {0}},
		{"{intel_pt//,cs/aux-action=start-paused/}", "is for the event that traces, intel_pt//", {0}, {0}},
		{"intel_pt/aux-sample-size=8/", "is for the other events of its group", {0}, {0}},
		{"intel_pt//,cycles", "in a group with intel_pt//: {intel_pt//,cycles}", {.sample_bytes = 8}, {0}},
		{"intel_pt//,{cycles/aux-output/,cs}", "aux-output= is for events in the group of intel_pt//", {0}, {0}},
		{"{intel_pt//,cycles/aux-sample-size=70000/}", "at most 65528 bytes", {0}, {0}},
		{"{intel_pt//,cycles}", "-S and --aux-sample cannot be combined", {.sample_bytes = 8, .snapshots = true}, {0}},
		{"{arm_spe_0//,cycles}", "only Intel PT puts its trace into samples", {.sample_bytes = 8}, {0}},
		{"intel_pt//", "larger than the buffer of", {.pages = 1, .snapshots = true, .snapshot_bytes = 1 << 20}, {0}},
		{"intel_pt//", "larger than any buffer", {.snapshots = true, .snapshot_bytes = UINT64_MAX}, {0}},
		{"intel_pt//", "omit -k", {0}, {.clockid_given = true}},
		{"intel_pt//", "use -S to keep the newest trace", {0}, {.overwrite = true}},
		{"intel_bts//u", "add --per-thread", {0}, {0}},
		{"hisi_ptt0_2//", "not recorded here", {0}, {0}},
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture;
		set_up(&fixture, cases[i].texts);
		fixture.plan = cases[i].plan;
		fixture.sampling = cases[i].sampling;
		struct error *error = make(&fixture);
		assert_non_null(error);
		if (!strstr(error_message(error), cases[i].error))
			print_error("%s: %s\n", cases[i].texts, error_message(error));
		assert_non_null(strstr(error_message(error), cases[i].error));
		error_free(error);
		tear_down(&fixture);
	}
}

/* ── What is told ── */

static const struct perf_event_mmap_page CLOCK = {
	.size = sizeof(struct perf_event_mmap_page), .time_shift = 10, .time_mult = 1000, .time_zero = 77, .cap_user_time_zero = 1};

/* The words of AUXTRACE_INFO, to be freed. */
static struct strbuf describe(struct fixture *fixture, const uint64_t **ret_words)
{
	struct strbuf out = {0};
	struct synth synth = {.out = &out};

	trace_info_add(&fixture->plan, &CLOCK, &synth);
	const struct record_auxtrace_info *info = (const void *)out.data;
	assert_int_equal(info->header.type, RECORD_AUXTRACE_INFO);
	assert_int_equal(info->type, fixture->plan.kind);
	const struct record_time_conv *clock = (const void *)(out.data + info->header.size);
	assert_int_equal(clock->header.type, RECORD_TIME_CONV);
	assert_true(clock->shift == 10 && clock->multiplier == 1000 && clock->zero == 77 && clock->cap_zero);
	assert_int_equal(out.len, info->header.size + clock->header.size);
	*ret_words = info->words;
	return out;
}

static void pt_is_described(void **state)
{
	struct fixture fixture;
	const uint64_t *words;

	set_up(&fixture, "intel_pt//u");
	made(&fixture);
	struct strbuf out = describe(&fixture, &words);
	const uint64_t expected[] = {8, 10, 1000, 77, 1, 1 << 10, 1 << 11, 2, 0, 1, 1 << 9, 0xf << 14};
	assert_memory_equal(words, expected, sizeof(expected));
	assert_int_equal(words[14], 1 << 1);
	assert_int_equal(words[15], 24);
	assert_int_equal(words[16], 0);
	assert_int_equal(words[17], 1);
	strbuf_deinit(&out);
	tear_down(&fixture);
}

/* The decoder is told of filters: their length, and the text with a zero behind it, in front of the last word. */
static void filters_are_described(void **state)
{
	static const char *const FILTERS[] = {"stop 0x1", "stop 0x12"};
	for (size_t i = 0; i < COUNT(FILTERS); i++) {
		struct fixture fixture;
		const uint64_t *words;
		set_up(&fixture, "intel_pt//u");
		fixture.events.events.data[0]->address_filter = FILTERS[i];
		made(&fixture);
		struct strbuf out = describe(&fixture, &words);
		assert_int_equal(words[16], strlen(FILTERS[i]));
		assert_string_equal((const char *)(words + 17), FILTERS[i]);
		assert_int_equal(words[19], 1);
		strbuf_deinit(&out);
		tear_down(&fixture);
	}
}

static void others_are_described(void **state)
{
	struct fixture fixture;
	const uint64_t *words;

	set_up(&fixture, "arm_spe_0//");
	made(&fixture);
	struct strbuf out = describe(&fixture, &words);
	assert_memory_equal(words, ((const uint64_t[]){9, 1}), 16);
	strbuf_deinit(&out);
	tear_down(&fixture);

	set_up(&fixture, "intel_bts//u");
	fixture.sampling.per_thread = fixture.plan.snapshots = true;
	made(&fixture);
	out = describe(&fixture, &words);
	assert_memory_equal(words, ((const uint64_t[]){7, 10, 1000, 77, 1, 1}), 48);
	strbuf_deinit(&out);
	tear_down(&fixture);
}

/* The one CPU that has an ETM: its registers, and the one that the driver makes of the terms. */
static void coresight_is_described(void **state)
{
	struct fixture fixture;
	const uint64_t *words;
	const uint64_t expected[] = {1,	   11ull << 32 | 1, 0,		0x4040404040404040, 0, 7,   1 << 6 | 1 << 11 | 1 << 4,
				     0x10, 0x28000ea1,	    0x4100f421, 0x20001088,	    0, 0xcc};

	set_up(&fixture, "cs_etm/cycacc/u");
	made(&fixture);
	struct strbuf out = describe(&fixture, &words);
	assert_memory_equal(words, expected, sizeof(expected));
	strbuf_deinit(&out);
	tear_down(&fixture);
}

/* ── Areas ── */

enum { RINGS = 2 };

struct recording {
	struct fixture fixture;
	char path[40];
	int fds[RINGS];
	struct ring rings[RINGS];
	uint8_t *memory[RINGS]; /* areas as the kernel sees them */
	struct ring_set set;
	struct counter_target target;
	struct trace_areas *areas;
	struct writer *writer;
};

static void begin(struct recording *recording, bool snapshots)
{
	static const int cpus[] = {4, 6};
	static const pid_t threads[] = {77};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct error *error;

	*recording = (struct recording){.path = "/tmp/perf-traces-file-XXXXXX"};
	close(mkstemp(recording->path));
	set_up(&recording->fixture, "intel_pt//u");
	recording->fixture.plan.pages = 1;
	recording->fixture.plan.snapshots = snapshots;
	made(&recording->fixture);
	for (int i = 0; i < RINGS; i++) {
		int fd = recording->fds[i] = memfd_create("ring", 0);
		assert_int_equal(ftruncate(fd, (off_t)(3 * page)), 0);
		assert_int_equal(ring_open(&recording->rings[i], fd, cpus[i], 1, false), 0);
		recording->rings[i].tracer_count = i; /* the first ring has none */
		recording->rings[i].members = i ? calloc(1, sizeof(int)) : NULL;
		if (i)
			recording->rings[i].members[0] = fd;
		recording->memory[i] = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(2 * page));
	}
	recording->set = (struct ring_set){.rings = recording->rings, .count = RINGS, .pages = 1};
	recording->target = (struct counter_target){.cpus = cpus, .cpu_count = 2, .threads = threads, .thread_count = 1};
	error = trace_areas_open(&recording->fixture.plan, &recording->set, &recording->target, &recording->areas);
	assert_null(error);
	error = writer_open(&(struct writer_options){.path = recording->path}, &recording->fixture.events, NULL, &recording->writer);
	assert_null(error);
}

static void trace(struct recording *recording, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		recording->memory[1][at % 4096] = (uint8_t)(1 + at % 255);
	__atomic_store_n(&recording->rings[1].page->aux_head, to, __ATOMIC_RELEASE);
}

static void take(struct recording *recording, uint64_t expected)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < RINGS; i++)
		assert_null(trace_areas_take(recording->areas, i, recording->writer, &bytes));
	assert_int_equal(bytes, expected);
}

/* Reads the file: AUXTRACE records in order, each with its trace. Then all is removed. */
static void finish(struct recording *recording, const uint64_t (*expected)[2], size_t count)
{
	struct features features = {0};
	struct reader *reader;
	const struct record_header *header;
	size_t found = 0;

	features_set(&features, FEATURE_AUXTRACE);
	assert_null(writer_finish_data(recording->writer));
	assert_null(writer_finish(recording->writer, &features));
	writer_close(recording->writer);
	assert_null(reader_open(&(struct reader_options){.path = recording->path}, &reader));
	assert_true(features_has(&reader->features, FEATURE_AUXTRACE));
	for (uint64_t next = reader->data_offset, offset = next; (header = reader_record(reader, &next, true)); offset = next) {
		const struct record_auxtrace *record = (const void *)header;
		uint64_t size;
		if (header->type != RECORD_AUXTRACE)
			continue;
		const uint8_t *bytes = reader_trace(reader, header, offset, &size);
		assert_true(found < count);
		uint64_t begin = expected[found][0], length = expected[found][1];
		assert_true(record->index == 1 && record->cpu == 6 && record->tid == 77 && record->offset == begin);
		assert_int_equal(size, (length + 7) / 8 * 8);
		for (uint64_t i = 0; i < size; i++)
			assert_int_equal(bytes[i], i < length ? 1 + (begin + i) % 255 : 0);
		found++;
	}
	assert_int_equal(found, count);
	assert_int_equal(reader->diagnostics.broken_records, 0);
	reader_close(reader);
	trace_areas_close(recording->areas);
	for (int i = 0; i < RINGS; i++) {
		munmap(recording->memory[i], (size_t)sysconf(_SC_PAGESIZE));
		ring_close(&recording->rings[i]);
		close(recording->fds[i]);
	}
	unlink(recording->path);
	features_deinit(&features);
	tear_down(&recording->fixture);
}

static void a_full_trace_comes_piece_by_piece(void **state)
{
	struct recording recording;

	begin(&recording, false);
	take(&recording, 0);
	trace(&recording, 0, 1001);
	take(&recording, 1001);
	trace(&recording, 1001, 5000); /* it wraps */
	take(&recording, 3999);
	assert_int_equal(recording.rings[1].page->aux_tail, 5000);
	trace(&recording, 5000, 5000 + 4096); /* full */
	take(&recording, 4096);
	uint64_t bytes = 0;
	assert_non_null(trace_areas_page(recording.areas));
	assert_int_equal(bytes, 0);
	finish(&recording, (const uint64_t[][2]){{0, 1001}, {1001, 3999}, {5000, 4096}}, 3);
}

static void snapshots_are_of_the_newest(void **state)
{
	struct recording recording;
	uint64_t bytes = 0;

	begin(&recording, true);
	trace(&recording, 0, 100);
	take(&recording, 0); /* nothing but when it is asked for */
	assert_null(trace_areas_take_snapshot(recording.areas, recording.writer, &bytes));
	assert_int_equal(bytes, 100);
	trace(&recording, 100, 10000);
	assert_null(trace_areas_take_snapshot(recording.areas, recording.writer, &bytes));
	assert_int_equal(bytes, 100 + 4096);
	finish(&recording, (const uint64_t[][2]){{0, 100}, {10000 - 4096, 4096}}, 2);
}

int capture_traces_tests(void);
int capture_traces_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pt_of_a_command),
		cmocka_unit_test(pt_of_the_system),
		cmocka_unit_test(pt_of_threads),
		cmocka_unit_test(snapshots_wake_nobody_up),
		cmocka_unit_test(traces_in_samples),
		cmocka_unit_test(lonely_events_join),
		cmocka_unit_test(traces_pause),
		cmocka_unit_test(spe),
		cmocka_unit_test(filters_of_the_kernel),
		cmocka_unit_test(filters_of_a_file),
		cmocka_unit_test(filters_refused),
		cmocka_unit_test(refused),
		cmocka_unit_test(pt_is_described),
		cmocka_unit_test(filters_are_described),
		cmocka_unit_test(others_are_described),
		cmocka_unit_test(coresight_is_described),
		cmocka_unit_test(a_full_trace_comes_piece_by_piece),
		cmocka_unit_test(snapshots_are_of_the_newest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
