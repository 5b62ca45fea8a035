/* Parts of perf top. */
#pragma once

#include "analysis/report/fold.h"
#include "app/options.h"
#include "capture/live.h"
#include "capture/sampling.h"
#include "cmd/event_words.h"
#include "cmd/report/report.h"
#include "cmd/targets.h"
#include "tui/windows.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct top_options {
	struct report_options report; /* rows, columns, call graphs, filters */
	struct from_options from;     /* given: all else is said by other options (fleet.h) */
	struct targets targets;
	struct event_words words;
	struct sampling sampling;
	size_t ring_pages;
	uint64_t map_timeout_ms;
	int synth_jobs;		  /* threads that read /proc; 0 = one for each CPU */
	const char *sym_annotate; /* a function whose instructions are shown, or NULL */
	int realtime;		  /* SCHED_FIFO priority; 0 = none */
	uint64_t delay_s;	  /* between two screens */
	uint64_t entries;	  /* rows; 0 = as many as the terminal has room for */
	bool zero;		  /* each screen shows only what came since the last one */
	bool hide_kernel, hide_user;
	bool dump_symbols; /* at the end */
	bool overwrite;	   /* where more comes than is read, the newest samples stay */
};

/* options.c */
extern const struct option top_option_table[];
/* What holds without options. */
void top_options_init(struct top_options *options);
/* What options mean together; the sampling is complete then. */
struct error *top_options_check(struct top_options *options);
void top_options_deinit(struct top_options *options);

/* What came since the last screen. */
struct top_interval {
	uint64_t samples, kernel_samples, exact_samples;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
};

/* Samples that fade: what was added up since the last time, and what is shown. */
struct top_history {
	struct fold_options options;
	struct fold *fold; /* is fed */
	struct fold_feed *feed;
	struct fold *shown;  /* or NULL: nothing yet */
	struct fold *before; /* what was shown before, until it is released; only if it is kept */
	bool keeps_before;   /* somebody looks at it while the next one is shown */
	struct fold *aside;  /* what came while nobody asked for something newer, or NULL */
	unsigned int fades;  /* how often what is shown would have faded meanwhile */
};

/* A recording that is being made of what is measured. */
struct top_recording {
	int process; /* 0 = none */
	char name[32];
};

struct top {
	struct top_options *options;
	struct event_list events; /* as asked for; live_open() takes them */
	size_t event_count;	  /* of those */
	struct targets_place place;
	struct live *live;
	struct report report;	 /* its fold is that of `rows` */
	struct top_history rows; /* as the options say */
	struct top_history code; /* by address, for instructions; fed only where some may be asked for */
	char *function;		 /* by a key of the text: options.sym_annotate then; or NULL */
	unsigned int code_event; /* of the text: whose instructions are shown */
	struct top_interval interval;
	VEC(uint64_t) weights;	      /* by event: the last samples' periods, about; 0 = not known */
	uint64_t lost;		      /* when the last interval ended */
	uint32_t pid;		      /* only samples of this process, or 0 = of all */
	uint32_t tid;		      /* the same with a thread */
	bool restarts;		      /* what was added up until now isn't wanted any more */
	const struct event *on, *off; /* of --switch-on and --switch-off, or NULL */
	bool off_now;		      /* samples don't count until the event `on` */
	bool begun;		      /* there was a table */
	bool frozen;		      /* samples aren't taken */
	bool ended;		      /* by the person, or a reader that has gone */
	bool nobody_reads;	      /* standard output is a pipe whose reader has gone */
	uint64_t aside_ns;	      /* CLOCK_MONOTONIC: when something was set aside last */
	struct top_recording recording;
	struct machine_holder viewer; /* who else keeps pointers into the machine; or all zero */
};

/* top.c: whether a sort key needs files that nothing maps any more for longer than there are rows of them. */
bool top_keeps_files(const struct report *report);
/* top.c, after each table: pages of files that were looked at leave our memory, and what only the beginning needed of our own. */
void top_let_go(struct top *top);
/* top.c: takes the samples of a round, and lets the machine forget what neither runs nor is shown. False: there will be no other, because
 * of an error or an end. */
bool top_take_round(struct top *top, struct error **ret_error);
/* From now on samples are added up for instructions as well. */
void top_open_code(struct top *top);
/* Whether options.delay_s have gone by since the interval began. */
bool top_is_due(const struct top *top);

/* history.c */
void top_history_open(struct top *top, struct top_history *history, const struct fold_options *options);
void top_history_close(struct top_history *history);
/* What is to be shown next, and is history->shown then: with `due` what is older counts for less than before, or for nothing with
 * options.zero. Code in which CPUs are idle is left out, and what options hide. */
struct fold *top_history_next(struct top *top, struct top_history *history, bool due);
/* While what is shown stays as it is for longer than the time between two screens: so that no more piles up than with screens. */
void top_history_set_aside(struct top *top, struct top_history *history);
/* The machine forgets. */
void top_history_carry(const struct top_history *history, struct carrying *carrying);
/* Nothing refers to what was shown before any more. */
void top_history_release(struct top_history *history);
/* What a sample weighs now: what has faded to much less is dropped. */
void top_weigh(struct top *top, const struct event *event, uint64_t period);
/* -K and -U. */
bool top_hides(const struct top_options *options, unsigned int cpumode);

/* record.c: begins a recording, or ends it; what is to be said about it goes to `note`. */
void top_record_toggle(struct top *top, struct strbuf *note);
void top_record_end(struct top *top, struct strbuf *note);
/* Whether one is being made; when it has just ended by itself, that is said. */
bool top_record_goes_on(struct top *top, struct strbuf *note);

/* header.c */
struct top_rates {
	double samples_per_s, kernel_percent, exact_percent;
	uint64_t lost_now, lost; /* in the interval, and since the beginning */
};
/* Of the interval, which ends; the next one begins. */
struct top_rates top_rates_take(struct top *top);
/* " (target_pid: 4711)" */
void top_add_target(const struct top *top, struct strbuf *out);
/* "[4000Hz cycles]" */
void top_add_event(const struct event *event, bool rate, struct strbuf *out);

/* symbols.c: the files that were mapped, and the symbols of those in which there were samples. */
void top_write_symbols(const struct top *top, FILE *out);

/* text.c: one text after the other, to standard output. */
struct error *top_text(struct top *top);

/* text_keys.c: a terminal that gives keys as they are pressed; a pipe gives none. */
void top_keys_begin(void);
/* The terminal is as it was before. */
void top_keys_end(void);
/* Does what the keys ask for that were pressed since the last call. True when the screen is to be shown anew. */
bool top_keys_apply(struct top *top);

/* screen.c: a table to look around in. */
struct error *top_screen(struct top *top, const struct screen_tools *tools);

struct screen;
/* What the screen's functions share. */
struct top_screen {
	struct top *top;
	struct intern strings;	/* of the rows that were shown before, until these are released */
	struct error *error;	/* of the source */
	bool opened;		/* the function of --sym-annotate was shown */
	struct top_rates rates; /* of the last interval */
	bool asked;		/* for the next table, by a key or the end */
	bool over;		/* nothing more will come */
};

/* screen_keys.c: the keys that perf report has not. False: it is none of them. */
bool top_screen_key(struct top_screen *shown, struct screen *screen, int key);
extern const struct key_help top_screen_keys[];
