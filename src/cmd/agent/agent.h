/* Parts of perf agent. */
#pragma once

#include "analysis/report/fold.h"
#include "app/command.h"
#include "app/config.h"
#include "app/groups.h"
#include "app/options.h"
#include "base/intern.h"
#include "capture/live.h"
#include "capture/sampling.h"
#include "cmd/agent/flight.h"
#include "cmd/event_words.h"
#include "cmd/opening.h"
#include "cmd/targets.h"
#include "fleet/outbox.h"
#include "fleet/sender.h"
#include "result/window.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define AGENT_CONFIG "/etc/perf-agent.conf"
#define AGENT_SOCKET "/run/perf-agent/socket"
#define AGENT_SPOOL "/var/lib/perf-agent"

/* ---- settings.c: configuration and command line ---- */

struct agent_label {
	char *name, *value;
};
typedef VEC(struct agent_label) agent_labels;

struct agent_sink_settings {
	char *name;
	struct fleet_sink_options options; /* its strings are those of `config`, or of the command line */
	uint64_t limit;			   /* of its spool; 0 = the sender's own */
	const char *where;		   /* "FILE:LINE" of its URL, or "--sink" */
};

struct agent_settings {
	struct config file; /* owns texts of the others */
	const char *config; /* --config, or NULL */
	struct event_words words;
	struct sampling sampling;
	struct output_options output;
	bool off_cpu;
	uint64_t window_ns;
	double budget_percent; /* of one CPU */
	uint64_t memory;       /* bytes */
	const char *host;      /* NULL = the machine's own name */
	const char *spool, *socket, *metrics;
	bool sandbox;
	agent_labels labels;	  /* of all samples, sorted by their names */
	agent_labels environment; /* value: the variable whose value the label gets */
	VEC(struct agent_sink_settings) sinks;
	struct flight_settings flight;
};

extern const struct option agent_option_table[];
/* Of the configuration file, then of the command line, which wins. To be freed also after an error. */
struct error *agent_settings_read(int argc, char *const *argv, struct agent_settings *ret);
void agent_settings_deinit(struct agent_settings *settings);
/* --label NAME=VALUE; the field is agent_labels. */
option_parse_fn agent_parse_label;
void agent_labels_deinit(agent_labels *labels);
/* "127.0.0.1:9464", "[::1]:9464": an address that only this machine reaches. */
struct sockaddr_storage;
struct error *agent_parse_loopback(const char *text, struct sockaddr_storage *ret, unsigned int *ret_size);

/* ---- labels.c: whose a thread is ---- */

struct agent_who {
	uint64_t cgroup; /* number of the thread's group; 0 = not known */
	uint32_t pid;
};

/* Of one window. All zero is empty. */
struct agent_labelling {
	struct map64 threads; /* by tid: place in `who` + 1 */
	VEC(struct agent_who) who;
	struct map64 environments; /* by pid: place in `environment` + 1 */
	VEC(agent_labels) environment;
};

/* A sample of the thread has come: while it is there. */
void agent_labelling_note(struct agent_labelling *labelling, const struct agent_settings *settings, const struct sample *sample);
/* Labels of the window and its threads; then the labelling is empty. */
void agent_labelling_apply(struct agent_labelling *labelling, const struct agent_settings *settings, const struct machine *machine,
			   struct window *window);
void agent_labelling_deinit(struct agent_labelling *labelling);

/* ---- identity.c: which machine ---- */

struct agent_identity {
	char host[256];
	char id[33]; /* hexadecimal */
};
void agent_identity_read(const char *host, struct agent_identity *ret);

/* ---- cost.c: what the agent costs, and the rate that it can have for that ---- */

enum { AGENT_COST_WINDOWS = 6 };

/* What the kernel has written for us so far. */
struct agent_records {
	uint64_t all, samples;
};

struct agent_cost {
	double budget_percent;
	uint64_t memory_budget;
	int statm;		/* the descriptor of our own /proc/PID/statm */
	uint64_t wanted_hz, hz; /* of each CPU; 0 = events have periods of their own */
	/* At the beginning of the window: */
	uint64_t begun_ns, cpu_ns;
	struct agent_records records;
	struct {
		uint64_t elapsed_ns, used_ns;
	} windows[AGENT_COST_WINDOWS]; /* with this rate, the last ones */
	unsigned int window_count;
	int bpf_stats;	       /* descriptor by which the kernel measures BPF programs; -1 = it doesn't now */
	uint64_t bpf_at_begin; /* nanoseconds of our programs */
	double bpf_percent;    /* when it was measured last */
	unsigned int bpf_age;  /* windows since then */
	double percent;	       /* of the last windows */
	double kernel_percent; /* the part of it that the kernel spends for us: programs and records */
	uint64_t rss;	       /* bytes */
	uint64_t lowered, raised;
	bool exceeds; /* though the rate is the lowest */
	bool exceeds_memory;
};

void agent_cost_init(struct agent_cost *cost, const struct agent_settings *settings);
void agent_cost_deinit(struct agent_cost *cost);
/* What is spent from here on counts. */
void agent_cost_begin(struct agent_cost *cost, struct agent_records records);
/* What is used now of the memory that there may be, in percent: a look costs a microsecond. */
unsigned int agent_cost_memory(const struct agent_cost *cost);
/* Where it is tight, what can be read again is given back, which costs a tenth of the agent; nothing else helps where it is full. */
enum { AGENT_MEMORY_TIGHT = 75, AGENT_MEMORY_NEAR = 90, AGENT_MEMORY_ALL = 100, AGENT_MEMORY_FULL = 150 };
/* A window is over. True: the rate is another one from now on, `hz`. */
bool agent_cost_end(struct agent_cost *cost, struct agent_records records);

/* ---- status.c: what it tells of itself ---- */

/* Written by the agent, read by the thread that answers; under `lock`. */
struct agent_numbers {
	uint64_t started_wall_ns;
	uint64_t windows, taken, stored, lost, dropped;
	uint64_t records_lost;	   /* of any kind, as the kernel says */
	struct flight_waits waits; /* off the CPU, that are missing */
	uint64_t suspensions, clock_jumps;
	uint64_t reloads, reloads_failed;
	struct flight_counts flight;
	uint64_t wanted_hz, hz, lowered, raised;
	double budget_percent, percent, kernel_percent, start_s;
	uint64_t memory_budget, rss;
	bool exceeds, exceeds_memory;
};

struct agent_sink {
	char *name;
	struct fleet_sink *sink;
	struct sender *sender;
};
typedef VEC(struct agent_sink) agent_sinks;

enum { AGENT_WISHES = 8 };
struct agent_status {
	pthread_mutex_t lock; /* of all below */
	struct agent_numbers numbers;
	bool has_flight;
	struct flight_cause wishes[AGENT_WISHES]; /* of who asks for a recording, since the last round */
	size_t wish_count;
	const struct agent_identity *identity;
	const agent_sinks *sinks;
	struct outbox *outbox; /* NULL before it is open */
};

void agent_status_init(struct agent_status *status);
void agent_status_deinit(struct agent_status *status);
/* For people, as JSON, and as OpenMetrics. */
void agent_status_add_text(struct agent_status *status, struct strbuf *out);
void agent_status_add_json(struct agent_status *status, struct strbuf *out);
void agent_status_add_metrics(struct agent_status *status, struct strbuf *out);

/* ---- server.c: who asks ---- */

struct agent_server;
/* Opens the socket and the port, if there is to be one: before rights are given up. */
struct error *agent_server_open(const struct agent_settings *settings, struct agent_status *status, struct agent_server **ret);
/* Answers from now on, on a thread of its own. */
void agent_server_start(struct agent_server *server);
void agent_server_close(struct agent_server *server);
/* Where a socket is; to be freed. */
char *agent_socket_folder(const char *path);
/* Asks an agent: "text" or "json". */
struct error *agent_ask(const char *socket, const char *what, struct strbuf *ret);

/* ---- rights.c ---- */

/* Gives up what measuring doesn't need. Counters and programs are open by then. */
void agent_rights_drop(const struct agent_settings *settings);

/* ---- notify.c: systemd ---- */

/* "READY=1", "STATUS=…": nothing where nobody wants to know. */
void agent_notify(const char *text);

/* ---- window.c, agent.c ---- */

/* Which rate events had from a time on. */
struct agent_rate {
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	uint64_t hz;
};

enum { AGENT_RATES = 8 };

struct agent {
	char *const *argv; /* of the command line, for a reload */
	int argc;
	struct agent_settings *settings;
	struct agent_identity identity;
	struct event_catalog *catalog;
	struct event_list events; /* as asked for; live_open() takes them */
	struct targets_place place;
	struct live *live;
	const struct counter_set *counters; /* the live source's */
	struct input_options input;
	struct opening opening;
	struct fold *fold;
	struct fold_feed *feed;
	struct agent_labelling labelling;
	struct agent_cost cost;
	struct agent_status status;
	struct agent_server *server;
	agent_sinks sinks;
	struct outbox *outbox;
	struct flight_settings flight_settings; /* as it began */
	struct flight_watch *watch;
	struct flight *flight;		      /* or NULL */
	struct agent_rate rates[AGENT_RATES]; /* the last ones, the newest first: samples come late */
	struct agent_records written;
	bool begun;	/* samples count */
	bool reload;	/* is wanted */
	bool lost_told; /* the kernel counts lost samples of counters (Linux 6.0) */
	/* The open window: */
	uint64_t wall_ns, mono_ns, boot_ns; /* when it began */
	uint64_t count;			    /* samples that came */
	uint64_t dropped;		    /* of the samples: for want of memory */
	bool full;			    /* there is none until it ends */
	bool shed;			    /* what could go has gone once */
	uint64_t lost_before;		    /* when it began */
};

/* Samples that came since the last window, or the beginning, are a window: it goes to all sinks. */
void agent_window_end(struct agent *agent);
void agent_window_begin(struct agent *agent);
/* Of all records, in the order in which they are taken: those of a window are never fewer than none. */
void agent_window_count(struct agent *agent, const struct record *record);
void agent_window_add(struct agent *agent, const struct record *record);
/* Off the CPU: those of which nothing is known. */
struct flight_waits agent_missing_waits(const struct agent *agent);
/* Whether it has been open for as long as it is to be, or the machine slept. */
bool agent_window_is_over(struct agent *agent);

/* sinks.c */
struct error *agent_sinks_open(const struct agent_settings *settings, agent_sinks *ret);
/* Waits at most so long, for all of them together. */
void agent_sinks_close(agent_sinks *sinks, unsigned int wait_ms);

/* rate.c: how often events are sampled */
void agent_rate_init(struct agent *agent);
/* From now on it is that of `cost`. */
void agent_rate_set(struct agent *agent);
/* What a sample of the first event stands for: so much time of a CPU; 0 = that can't be told, or it is of another event. */
uint64_t agent_rate_time_ns(const struct agent *agent, const struct event *event, const struct sample *sample);
/* What a sample stands for, in the unit of its event. */
uint64_t agent_rate_weight(const struct agent *agent, const struct event *event, const struct sample *sample);

/* recorder.c: the flight recorder, where there is one; else these do nothing */
/* Before rights are given up. */
struct error *agent_recorder_open(struct agent *agent);
/* When there is a session. */
void agent_recorder_start(struct agent *agent);
void agent_recorder_close(struct agent *agent);
/* `sample`: NULL = the record is none. */
void agent_recorder_add(struct agent *agent, const struct record *record, const struct sample *sample);
void agent_recorder_want(struct agent *agent, const struct flight_cause *cause);
void agent_recorder_take_round(struct agent *agent, const struct record *round);
void agent_recorder_end(struct agent *agent);

/* run.c */
struct error *agent_run(int argc, char **argv, int *ret_status);

extern const struct command cmd_agent_rollup, cmd_agent_run, cmd_agent_schema, cmd_agent_check, cmd_agent_push, cmd_agent_status,
	cmd_agent_symbolize;
