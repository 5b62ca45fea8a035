/* Options of commands that sample: record and top. */
#include "cmd/sampling_options.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "kernel/fix.h"
#include "kernel/limits.h"

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

/* What kernel.perf_event_max_sample_rate is when the machine starts (kernel/events/core.c, DEFAULT_MAX_SAMPLE_RATE). */
enum { SAMPLE_RATE_SENSIBLE = 100000 };

struct error *sampling_option_freq(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	sampling->freq_given = true;
	sampling->freq_max = !strcasecmp(argument, "max");
	if (!sampling->freq_max && !number_parse_u64(argument, &sampling->freq))
		return error_new_kind(ERROR_USAGE, "invalid frequency '%s': expected a number in Hz or 'max'", argument);
	return NULL;
}

struct error *sampling_option_count(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *period = field;

	if (!number_parse_u64(argument, period) || !*period)
		return error_new_kind(ERROR_USAGE, "invalid number of events '%s': expected 1 or more", argument);
	return NULL;
}

/* -g alone: the mode of the configuration, else the command's own, else frame pointers. */
static struct error *configured_callgraph(struct sampling *sampling)
{
	struct config config = {0};
	struct error *error = config_open(&config);
	const char *mode = config_get(&config, "call-graph.record-mode");
	const char *size = config_get(&config, "call-graph.dump-size");
	if (!error && mode) {
		cleanup_free char *text =
			mem_printf("%s%s%s", mode, size && !strcmp(mode, "dwarf") ? "," : "", size && !strcmp(mode, "dwarf") ? size : "");
		error = error_wrap(sampling_parse_callgraph(text, sampling), "configuration: call-graph.record-mode");
	} else {
		sampling->callgraph = sampling->callgraph_default == CALLCHAIN_AUTO ? CALLCHAIN_AUTO : CALLCHAIN_FP;
		sampling->stack_grows = sampling->callgraph == CALLCHAIN_AUTO;
	}
	sampling->callgraph_implied = sampling->callgraph == CALLCHAIN_AUTO;
	config_close(&config);
	return error;
}

struct error *sampling_option_g(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	if (negated)
		sampling->callgraph = CALLCHAIN_NONE;
	else if (sampling->callgraph == CALLCHAIN_UNSET || sampling->callgraph == CALLCHAIN_NONE)
		return configured_callgraph(sampling);
	return NULL;
}

struct error *sampling_option_callgraph(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	if (!negated)
		return sampling_parse_callgraph(argument, sampling);
	sampling->callgraph = CALLCHAIN_NONE;
	return NULL;
}

struct error *sampling_option_branch_any(const struct option *option, const char *argument, bool negated, void *field)
{
	*(uint64_t *)field = PERF_SAMPLE_BRANCH_ANY;
	return NULL;
}

struct error *sampling_option_branch(const struct option *option, const char *argument, bool negated, void *field)
{
	return sampling_parse_branch(argument, field);
}

/* "16" pages, "64K", "1M"; the kernel wants a power of two. */
struct error *sampling_parse_pages(const char *text, size_t *ret)
{
	uint64_t pages, page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!number_parse_u64(text, &pages)) {
		if (!number_parse_size(text, &pages))
			return error_new_kind(ERROR_USAGE, "invalid value '%s': expected a number of pages or a size such as 512K", text);
		pages = (pages + page - 1) / page;
	}
	if (!pages || pages > (1ull << 40) / page)
		return error_new_kind(ERROR_USAGE, "invalid size '%s': expected at least one page and at most 1T", text);
	for (*ret = 1; *ret < pages;)
		*ret *= 2;
	if (*ret != pages)
		log_info("rounded up to %zu pages", *ret);
	return NULL;
}

struct error *option_ring_pages(const struct option *option, const char *argument, bool negated, void *field)
{
	if (strchr(argument, ','))
		return error_new_kind(ERROR_USAGE,
				      "'%s': the part after the comma is for hardware traces, which only 'perf record' records; omit it",
				      argument);
	return sampling_parse_pages(argument, field);
}

struct error *sampling_check_freq(struct sampling *sampling)
{
	uint64_t max = limits_max_sample_rate();

	if (sampling->freq_max) {
		if (!max)
			return error_new("-F max: cannot read kernel.perf_event_max_sample_rate");
		sampling->freq = max;
		log_info("sampling at the highest frequency allowed, %llu Hz", (unsigned long long)max);
	}
	if (sampling->period && sampling->freq_given)
		return error_new_kind(ERROR_USAGE, "-F (samples per second) and -c (a sample every N events) cannot be combined");
	if (sampling->period) {
		sampling->freq = 0;
		return NULL;
	}
	if (!sampling->freq_given)
		sampling->freq = SAMPLING_FREQ_DEFAULT;
	if (!sampling->freq)
		return error_new_kind(ERROR_USAGE, "invalid frequency 0 (-F): nothing would be sampled");
	if (!max || sampling->freq <= max)
		return NULL;
	struct strbuf remedy = {0};
	struct error *error = NULL;
	/* Beyond the kernel's own default the machine would do little but sample: that limit stands. */
	if (sampling->freq <= SAMPLE_RATE_SENSIBLE) {
		strbuf_add_str(&remedy, ". To raise that limit:  ");
		fix_sample_rate(&remedy, sampling->freq);
	}
	if (sampling->freq_strict)
		error = error_new("-F %llu exceeds the kernel's limit of %llu Hz%s", (unsigned long long)sampling->freq,
				  (unsigned long long)max, strbuf_str(&remedy));
	else
		log_warning("-F %llu exceeds the kernel's limit: sampling at %llu Hz%s", (unsigned long long)sampling->freq,
			    (unsigned long long)max, strbuf_str(&remedy));
	strbuf_deinit(&remedy);
	sampling->freq = max;
	return error;
}

size_t sampling_ring_pages_of_switches(size_t cpus, bool kept)
{
	enum { RING = 16 << 20, TOGETHER = 128 << 20, LEAST = 2 << 20, KEPT_RING = 64 << 20, KEPT_TOGETHER = 256 << 20 };
	size_t bytes = kept ? KEPT_RING : RING;
	while (cpus * bytes > (kept ? KEPT_TOGETHER : TOGETHER))
		bytes /= 2;
	return limits_has_perfmon() && bytes >= LEAST ? bytes / (size_t)sysconf(_SC_PAGESIZE) : 0;
}
