/* The description of a trace, by its kind. What the words are: tools/perf/util/intel-pt.h, intel-bts.h, arm-spe.h, cs-etm.h;
 * where they come from: the PMU's directory in sysfs (Documentation/ABI/testing/sysfs-bus-coresight-devices-etm4x, …), the CPU's
 * leaf 0x15 (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID). */
#include "capture/traces/trace_info.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/synth/synth_internal.h"
#include "kernel/hardware/cpus.h"
#include "kernel/proc.h"

#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

struct words {
	uint64_t *data;
	size_t len, cap;
};

/* ── Clocks ── */

/* A copy that belongs together: the kernel counts `lock` up before and after it writes. Nothing behind an acquiring load is read before it:
 * neither the page before its lock, nor the lock the second time before the page. */
static struct perf_event_mmap_page read_page(const struct perf_event_mmap_page *page)
{
	typedef uint64_t __attribute__((may_alias)) word;
	struct perf_event_mmap_page copy;
	uint32_t before;

	do {
		before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		for (size_t i = 0; i < sizeof(copy) / sizeof(word); i++)
			((word *)&copy)[i] = __atomic_load_n((const word *)page + i, __ATOMIC_ACQUIRE);
	} while (before & 1 || before != __atomic_load_n(&page->lock, __ATOMIC_RELAXED));
	return copy;
}

static void add_time_conversion(const struct perf_event_mmap_page *page, struct synth *synth)
{
	struct record_time_conv record = {
		.header.type = RECORD_TIME_CONV,
		.shift = page->time_shift,
		.multiplier = page->time_mult,
		.zero = page->time_zero,
		.cap_zero = page->cap_user_time_zero,
	};

	if (page->size > offsetof(struct perf_event_mmap_page, time_mask)) {
		record.cycles = page->time_cycles;
		record.mask = page->time_mask;
		record.cap_short = page->cap_user_time_short;
	}
	synth_end(synth, synth_begin(synth, &record, sizeof(record)));
}

static void add_clock(const struct perf_event_mmap_page *page, struct words *words)
{
	vec_push(words, page->time_shift);
	vec_push(words, page->time_mult);
	vec_push(words, page->time_zero);
	vec_push(words, page->cap_user_time_zero);
}

/* ── Intel ── */

static uint64_t mask_of(const struct trace_plan *plan, const char *term)
{
	const struct pmu_format *format = pmu_format(plan->pmu, term);

	return format && !format->word ? format->mask : 0;
}

static uint64_t capability_number(const struct pmu *pmu, const char *name)
{
	const char *text = pmu_capability(pmu, name);
	uint64_t value;

	return text && number_parse_u64(text, &value) ? value : 0;
}

/* Ticks of the time stamp counter for each of the core's crystal, as numerator and denominator; 0, 0 = unknown. */
static void add_crystal_ratio(struct words *words)
{
	unsigned int denominator = 0, numerator = 0;
#ifdef __x86_64__
	enum { LEAF_TSC = 0x15 };
	unsigned int c, d;
	if (!__get_cpuid(LEAF_TSC, &denominator, &numerator, &c, &d))
		denominator = numerator = 0;
#endif
	vec_push(words, numerator);
	vec_push(words, denominator);
}

/* What the decoder must know: jumps out of a filtered range end a piece of the trace. Its length, and the text with at least one zero. */
static void add_filter_text(const char *filter, struct words *words)
{
	size_t length = filter ? strlen(filter) : 0;

	vec_push(words, length);
	for (size_t at = 0; length && at <= length; at += sizeof(uint64_t)) {
		uint64_t word = 0;
		memcpy(&word, filter + at, length - at < sizeof(word) ? length - at : sizeof(word));
		vec_push(words, word);
	}
}

static void add_intel_pt(const struct trace_plan *plan, const struct perf_event_mmap_page *page, struct words *words)
{
	add_clock(page, words);
	vec_push(words, mask_of(plan, "tsc"));
	vec_push(words, mask_of(plan, "noretcomp"));
	vec_push(words, plan->switches);
	vec_push(words, plan->snapshots);
	vec_push(words, plan->by_cpu);
	vec_push(words, mask_of(plan, "mtc"));
	vec_push(words, mask_of(plan, "mtc_period"));
	add_crystal_ratio(words);
	vec_push(words, mask_of(plan, "cyc"));
	vec_push(words, capability_number(plan->pmu, "max_nonturbo_ratio"));
	add_filter_text(plan->event->filter, words);
	vec_push(words, capability_number(plan->pmu, "event_trace"));
}

static void add_intel_bts(const struct trace_plan *plan, const struct perf_event_mmap_page *page, struct words *words)
{
	add_clock(page, words);
	vec_push(words, plan->snapshots);
}

/* ── CoreSight ── */

enum { ETM_VERSION = 1, ETM_FIRST_TRACE_ID = 0x10 };
static const uint64_t MAGIC_ETM3 = 0x3030303030303030, MAGIC_ETM4 = 0x4040404040404040, MAGIC_ETE = 0x5050505050505050;

/* A register of a CPU's ETM, as the driver shows it; false where there is none. */
static bool read_register(const struct pmu *pmu, int cpu, const char *name, uint64_t *ret)
{
	cleanup_free char *path = mem_printf("%s/cpu%d/%s", pmu->path, cpu, name);
	char line[32];

	return proc_read_line(path, line, sizeof(line)) && number_parse_hex(str_starts_with(line, "0x") ? line + 2 : line, ret);
}

static void add_registers(const struct pmu *pmu, int cpu, const char *const *names, struct words *words)
{
	for (; *names; names++) {
		uint64_t value = 0;
		read_register(pmu, cpu, *names, &value);
		vec_push(words, value);
	}
}

/* TRCCONFIGR of an ETM of version 4, which the driver makes of the event's terms (Arm Embedded Trace Macrocell Architecture Specification,
 * ETMv4, "TRCCONFIGR"). */
static uint64_t etm4_config(const struct trace_plan *plan)
{
	static const struct {
		const char *term;
		uint64_t bits;
	} TERMS[] = {
		{"branch_broadcast", 1 << 3},	  {"cycacc", 1 << 4},	  {"contextid1", 1 << 6},
		{"contextid2", 1 << 7 | 1 << 15}, {"timestamp", 1 << 11}, {"retstack", 1 << 12},
	};
	uint64_t config = plan->event->attr.config, out = 0;

	for (size_t i = 0; i < sizeof(TERMS) / sizeof(TERMS[0]); i++)
		if (config & mask_of(plan, TERMS[i].term))
			out |= TERMS[i].bits;
	/* "contextid" is the one of these that the kernel's own level has. */
	if (config & mask_of(plan, "contextid") && !(out & (1 << 6 | 1 << 7)))
		out |= 1 << 6;
	return out;
}

/* An ETE says so in its architecture: version 5 of part 0xA13 (TRCDEVARCH). */
static bool is_ete(const struct pmu *pmu, int cpu)
{
	uint64_t architecture;

	return read_register(pmu, cpu, "mgmt/trcdevarch", &architecture) && (architecture & 0xffff) == 0x5a13;
}

/* Words of one CPU; false where it has no ETM. The trace's id is that of kernels before 6.3; later ones tell theirs with AUX_OUTPUT_HW_ID
 * records. */
static bool add_etm(const struct trace_plan *plan, int cpu, struct words *words)
{
	static const char *const ETM3[] = {"mgmt/etmccer", "mgmt/etmidr", NULL};
	static const char *const ETM4[] = {"trcidr/trcidr0", "trcidr/trcidr1",	   "trcidr/trcidr2",
					   "trcidr/trcidr8", "mgmt/trcauthstatus", NULL};
	enum { ETM3_REGISTERS = 4, ETM4_REGISTERS = 7, ETE_REGISTERS = 8 };
	const struct pmu *pmu = plan->pmu;
	uint64_t probe, trace_id = ETM_FIRST_TRACE_ID + 2 * (uint64_t)cpu;
	bool old = read_register(pmu, cpu, ETM3[0], &probe), ete = is_ete(pmu, cpu);

	if (!old && !read_register(pmu, cpu, ETM4[0], &probe))
		return false;
	vec_push(words, old ? MAGIC_ETM3 : ete ? MAGIC_ETE : MAGIC_ETM4);
	vec_push(words, (uint64_t)cpu);
	vec_push(words, old ? ETM3_REGISTERS : ete ? ETE_REGISTERS : ETM4_REGISTERS);
	vec_push(words, old ? plan->event->attr.config : etm4_config(plan));
	vec_push(words, trace_id);
	add_registers(pmu, cpu, old ? ETM3 : ETM4, words);
	if (ete)
		add_registers(pmu, cpu, (const char *const[]){"mgmt/trcdevarch", NULL}, words);
	return true;
}

static void add_coresight(const struct trace_plan *plan, struct words *words)
{
	int *cpus;
	size_t count, head = words->len - 1;
	uint64_t found = 0;

	vec_push(words, plan->snapshots);
	cpus_online(&cpus, &count);
	for (size_t i = 0; i < count; i++)
		found += add_etm(plan, cpus[i], words);
	words->data[head] += found; /* the words move while they grow */
	free(cpus);
}

/* ── All ── */

static void add_words(const struct trace_plan *plan, const struct perf_event_mmap_page *page, struct words *words)
{
	uint64_t type = plan->pmu->type;

	switch (plan->kind) {
	case TRACE_INTEL_PT:
		vec_push(words, type);
		return add_intel_pt(plan, page, words);
	case TRACE_INTEL_BTS:
		vec_push(words, type);
		return add_intel_bts(plan, page, words);
	case TRACE_ARM_SPE:
		vec_push(words, type);
		vec_push(words, plan->by_cpu);
		return;
	case TRACE_CORESIGHT:
		vec_push(words, ETM_VERSION);
		vec_push(words, type << 32); /* and the number of CPUs */
		return add_coresight(plan, words);
	case TRACE_HISI_PTT:
	case TRACE_NONE:
		return;
	}
}

void trace_info_add(const struct trace_plan *plan, const struct perf_event_mmap_page *page, struct synth *synth)
{
	const struct perf_event_mmap_page copy = read_page(page);
	const struct record_auxtrace_info record = {.header.type = RECORD_AUXTRACE_INFO, .type = plan->kind};
	struct words words = {0};

	add_words(plan, &copy, &words);
	size_t begin = synth_begin(synth, &record, sizeof(record));
	synth_add(synth, words.data, words.len * sizeof(*words.data));
	synth_end(synth, begin);
	vec_deinit(&words);
	add_time_conversion(&copy, synth);
}
