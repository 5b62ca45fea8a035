/* Parts of perf kwork. */
#pragma once

#include "analysis/kwork/kwork.h"
#include "app/command.h"
#include "app/format_option.h"
#include "capture/live.h"
#include "cmd/opening.h"
#include "cmd/sched/sched.h"
#include "cmd/targets.h"
#include "event/catalog.h"
#include "kernel/workload.h"

/* What all subcommands that read a recording share. */
struct kwork_input {
	struct sched_input common;
	const char *kinds; /* -k: "irq,softirq" or NULL */
	const char *name, *sort;
	bool summary;
	bool live;	/* -b: what happens now … */
	char **command; /* … until this command ends, or with NULL a signal comes */
};

#define KWORK_KINDS(type, field)                                                                     \
	OPTION_STRING('k', "kwork", type, field, "LIST",                                             \
		      "kinds of work: irq, softirq, workqueue, with record and top sched (default: " \
		      "the first three; top: sched,irq,softirq)")
/* Rows of an option table of `type` with a `struct kwork_input shared`. KWORK_KINDS stands before them: the letter is its own. */
#define KWORK_OPTIONS(type)                                                                                                     \
	OPTION_STRING('C', "cpu", type, shared.common.cpus, "LIST", "only work on these CPUs, such as 0-3,7"),                  \
		OPTION_STRING(0, "time", type, shared.common.time, "START,STOP", "only events in this time range, in seconds"), \
		OPTION_FLAG('D', "dump-raw-trace", type, shared.common.dump, "dump the records of the recording instead"),      \
		OPTION_CUSTOM_FLAGS(0, "format", type, shared.common.format, "FORMAT", "machine-readable output: csv or json",  \
				    option_table_format, OPTION_NO_NEGATION),                                                   \
		OPTION_JSON(0, type, shared.common.format), OPTION_GROUP(input_option_group, type, shared.common.input),        \
		OPTION_GROUP(output_option_group, type, shared.common.output), OPTION_SANDBOX(type, shared.common.input.sandbox)

#define KWORK_LIVE(type)                               \
	OPTION_FLAG('b', "use-bpf", type, shared.live, \
		    "measure what happens now, until Ctrl-C or the end of a command, instead of reading a recording")

/* A recording, or what happens now. All zero is closed. */
struct kwork_source {
	struct opening opening;
	struct event_catalog *catalog;
	struct event_list events; /* as asked for; live_open() takes them */
	struct targets_place place;
	struct workload workload;
	struct live *live; /* NULL = a recording */
};

/* `allowed`: classes from the first on, as many. */
struct error *kwork_parse_kinds(const char *text, enum kwork_class allowed, struct kwork_options *ret);
/* Fills the scope, whose bitmap is `cpus`, of SCHED_CPUS bits. */
struct error *kwork_parse_scope(const struct kwork_input *input, uint64_t *cpus, struct sched_scope *ret);
/* Both, and the name and the sort key: kinds of work that run, irq to workqueue. */
struct error *kwork_parse_input(const struct kwork_input *input, uint64_t *cpus, struct kwork_options *ret);
/* Events of these kinds, with commas. */
void kwork_add_events(struct strbuf *out, const enum kwork_class *classes, size_t count);

/* live.c. Options of a page that can measure: words are a command. */
struct error *kwork_parse_live(const struct option *options, int argc, char **argv, void *values, struct kwork_input *input);
/* What a page asks the machine for, each more than the one before it. */
enum kwork_needs { KWORK_KERNEL, KWORK_THREADS, KWORK_STACKS };
/* Opens the recording, or measures `events`; *ret_done: it was dumped (-D), which is all. To be closed also after an error. */
struct error *kwork_open(struct kwork_source *source, const struct kwork_input *input, const char *events, bool streaming,
			 enum kwork_needs needs, bool *ret_done);
void kwork_close(struct kwork_source *source);
/* "eth0:10", freed with the table; longer ones are whole. */
const char *kwork_name_for_table(struct table *table, const struct kwork_work *work);

/* Those whose files are in this folder; made by the build. */
extern const struct command *const kwork_subcommands[];
