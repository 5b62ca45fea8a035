/* Parts of perf kwork. */
#pragma once

#include "analysis/kwork/kwork.h"
#include "app/command.h"
#include "app/format_option.h"
#include "cmd/opening.h"
#include "cmd/sched/sched.h"

/* What all subcommands that read a recording share. */
struct kwork_input {
	struct sched_input common;
	const char *kinds; /* -k: "irq,softirq" or NULL */
	const char *name, *sort;
	bool summary;
};

#define KWORK_KINDS(type, field)                                                                     \
	OPTION_STRING('k', "kwork", type, field, "LIST",                                             \
		      "kinds of work: irq, softirq, workqueue, with record and top sched (default: " \
		      "the first three; top: sched,irq,softirq)")
/* Rows of an option table of `type` with a `struct kwork_input shared`. KWORK_KINDS stands before them: the letter is its own. */
#define KWORK_OPTIONS(type)                                                                                                         \
	OPTION_STRING('C', "cpu", type, shared.common.cpus, "LIST", "only work on these CPUs, such as 0-3,7"),                      \
		OPTION_STRING(0, "time", type, shared.common.time, "START,STOP", "only events in this time range, in seconds"),     \
		OPTION_FLAG('D', "dump-raw-trace", type, shared.common.dump, "dump the records of the recording instead"),          \
		OPTION_CUSTOM_FLAGS(0, "format", type, shared.common.format, "FORMAT", "machine-readable output: csv or json",      \
				    option_table_format, OPTION_NO_NEGATION),                                                       \
		OPTION_REFUSED('b', "use-bpf", NULL,                                                                                \
			       "sums inside the kernel aren't offered; record with 'perf kwork record' and read the recording, or " \
			       "use 'perf ftrace latency' for a single function"),                                                  \
		OPTION_GROUP(input_option_group, type, shared.common.input),                                                        \
		OPTION_GROUP(output_option_group, type, shared.common.output), OPTION_SANDBOX(type, shared.common.input.sandbox)

/* `allowed`: classes from the first on, as many. */
struct error *kwork_parse_kinds(const char *text, enum kwork_class allowed, struct kwork_options *ret);
/* Fills the scope, whose bitmap is `cpus`, of SCHED_CPUS bits. */
struct error *kwork_parse_scope(const struct kwork_input *input, uint64_t *cpus, struct sched_scope *ret);
/* Both, and the name and the sort key: kinds of work that run, irq to workqueue. */
struct error *kwork_parse_input(const struct kwork_input *input, uint64_t *cpus, struct kwork_options *ret);
/* Opens the recording; *ret_done: it was dumped (-D), which is all. */
struct error *kwork_open(struct opening *opening, const struct kwork_input *input, bool streaming, bool *ret_done);
/* "eth0:10", freed with the table; longer ones are whole. */
const char *kwork_name_for_table(struct table *table, const struct kwork_work *work);

extern const struct command cmd_kwork_report, cmd_kwork_latency, cmd_kwork_timehist, cmd_kwork_top;
