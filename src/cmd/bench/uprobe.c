/* perf bench uprobe: what it costs that a function has a uprobe: usleep(3) of the C library without one, and with BPF programs at its
 * beginning or its end. */
#include "cmd/bench/bench.h"

#include "base/clock.h"
#include "bpf/probes/probe_cost.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <unistd.h>

enum { SLEEP_US = 1000 };

struct uprobe_options {
	struct bench_common common;
	uint64_t loops;
};

static const struct option table[] = {
	OPTION_U64('l', "loop", struct uprobe_options, loops, "N", "calls (default 1000)"),
	BENCH_COMMON(struct uprobe_options),
	OPTION_END,
};

static uint64_t sleep_often(uint64_t loops)
{
	uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < loops; i++)
		usleep(SLEEP_US);
	return clock_now_ns(CLOCK_MONOTONIC) - begin_ns;
}

/* Against the same without a probe, measured just before. */
static void tell(const struct uprobe_options *options, uint64_t elapsed_ns, const uint64_t *bare_ns)
{
	double us = (double)elapsed_ns / 1e3, each = us / (double)options->loops;
	bench_say("# Executed %'" PRIu64 " usleep(%d) calls\n", options->loops, SLEEP_US);
	bench_say(" %14s: %'.0f usecs\n\n", "Total time", us);
	bench_say(" %'.3f usecs/op", each);
	bench_simple("%.3f\n", us / 1e6);
	bench_figure("us", each, "time per operation");
	if (bare_ns) {
		double more = each - (double)*bare_ns / 1e3 / (double)options->loops;
		bench_say(" %'.3f usecs/op to baseline", more);
		bench_figure("us", more, "more than without a probe");
	}
	bench_say("\n");
}

static struct error *measure_bare(int argc, char **argv, int *ret_status)
{
	struct uprobe_options options = {.loops = 1000};
	struct error *error = options_parse_alone(table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--loop", options.loops);
	if (error)
		return error;
	bench_begin("uprobe/baseline", &options.common);
	tell(&options, sleep_often(options.loops), NULL);
	bench_end();
	return NULL;
}

static struct error *measure(const char *name, bool prints, bool at_return, int argc, char **argv)
{
	struct uprobe_options options = {.loops = 1000};
	struct bpf_probe_cost *cost;
	Dl_info library;
	struct error *error = options_parse_alone(table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--loop", options.loops);
	if (!error && !dladdr((void *)(uintptr_t)usleep, &library))
		error = error_new("cannot find the C library's file");
	if (error)
		return error;
	bench_begin(name, &options.common);
	uint64_t bare_ns = sleep_often(options.loops);
	error = bpf_probe_cost_open(library.dli_fname, "usleep", getpid(), prints, at_return, &cost);
	if (error)
		return error;
	uint64_t elapsed_ns = sleep_often(options.loops);
	bpf_probe_cost_close(cost);
	tell(&options, elapsed_ns, &bare_ns);
	bench_end();
	return NULL;
}

static struct error *run_empty(int argc, char **argv, int *ret_status)
{
	return measure("uprobe/empty", false, false, argc, argv);
}

static struct error *run_print(int argc, char **argv, int *ret_status)
{
	return measure("uprobe/trace_printk", true, false, argc, argv);
}

static struct error *run_empty_return(int argc, char **argv, int *ret_status)
{
	return measure("uprobe/empty_ret", false, true, argc, argv);
}

static struct error *run_print_return(int argc, char **argv, int *ret_status)
{
	return measure("uprobe/trace_printk_ret", true, true, argc, argv);
}

static const struct command baseline = BENCH(uprobe, "baseline", "usleep(1000) without a uprobe", table, measure_bare);
static const struct command empty = BENCH(uprobe, "empty", "with a BPF program that does nothing", table, run_empty);
static const struct command print = BENCH(uprobe, "trace_printk", "with a BPF program that writes to the kernel's trace", table, run_print);
static const struct command empty_return = BENCH(uprobe, "empty_ret", "with one that does nothing at the return", table, run_empty_return);
static const struct command print_return = BENCH(uprobe, "trace_printk_ret", "with one that writes at the return", table, run_print_return);
static const struct command *const benchmarks[] = {&baseline, &empty, &print, &empty_return, &print_return, NULL};
BENCH_COLLECTION(uprobe, "Probes of functions of programs", benchmarks);
