/* What the files of the Python side share: the interpreter and what is kept of values that come again and again. */
#pragma once

#include "analysis/stack.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "language/language.h"
#include "language/python_api.h"

/* Keys of the dictionaries that scripts get. Each is one Python string, made once. */
/* clang-format off */
#define PYTHON_KEYS(X) \
	X(ev_name) X(attr) X(sample) X(raw_buf) X(comm) X(dso) X(dso_bid) X(dso_map_start) X(dso_map_end) X(symbol) X(symoff) \
	X(callchain) X(brstack) X(brstacksym) X(iregs) X(uregs) X(pid) X(tid) X(cpu) X(ip) X(time) X(period) X(phys_addr) \
	X(addr) X(values) X(weight) X(transaction) X(datasrc) X(datasrc_decode) X(machine_pid) X(vcpu) X(cpumode) X(addr_correlates_sym) X(addr_dso) \
	X(addr_dso_bid) X(addr_dso_map_start) X(addr_dso_map_end) X(addr_symbol) X(addr_symoff) X(time_enabled) \
	X(time_running) X(from) X(to) X(mispred) X(predicted) X(in_tx) X(abort) X(cycles) X(from_dsoname) X(to_dsoname) \
	X(pred) X(sym) X(sym_off) X(start) X(end) X(binding) X(name) X(common_cpu) X(common_s) X(common_ns) X(common_pid) \
	X(common_comm) X(common_callchain)
/* clang-format on */

enum python_key {
#define PYTHON_KEY(name) KEY_##name,
	PYTHON_KEYS(PYTHON_KEY)
#undef PYTHON_KEY
		PYTHON_KEY_COUNT
};

enum { PYTHON_CONTEXT_FUNCTIONS = 8 };

struct source_files;
/* What is known of an event, so that nothing is looked up twice. */
struct python_event;

struct python {
	struct language base;
	struct python_api api;
	struct session *session;
	struct machine *machine;
	struct resolver *resolver;
	struct stack_options stack_options;
	struct stack stack;	/* scratch */
	struct strbuf text;	/* scratch */
	python_object *globals; /* of __main__; borrowed */
	python_object *context; /* the cookie that handlers pass back */
	python_object *module;	/* perf_trace_context */
	python_object *keys[PYTHON_KEY_COUNT];
	python_object *empty_bytes, *empty_text, *yes, *no, *zero;
	python_object *process_event, *trace_unhandled; /* the script's functions, borrowed; NULL = none */
	struct map64 texts;				/* address of a string that lives on → its Python string */
	struct map64 frames;				/* hash → dictionary of a frame, which is copied */
	struct map64 sources;				/* data source → its text */
	struct python_event **events;			/* by index; NULL until the event has a sample */
	size_t event_count;
	struct python_export *export; /* NULL: the script doesn't ask for it */
	bool unhandled_sample_too;    /* trace_unhandled() has a fourth argument: the sample's dictionary */
	uint64_t seconds_value;	      /* the second of `seconds`: times come in order */
	python_object *seconds;
	struct python_method methods[PYTHON_CONTEXT_FUNCTIONS]; /* of perf_trace_context: Python refers to them */
	struct source_files *sources_read;			/* NULL until a script asks for a line's text */
	const struct language_sample *at;			/* for the functions of perf_trace_context; NULL outside of handlers */
};

/* ---- python.c ---- */

/* A global function of the script, borrowed; NULL when there is none. */
python_object *python_function(struct python *python, const char *name);
/* Calls it with `count` arguments, whose references are taken away. The error is about an exception, which was printed. */
struct error *python_call(struct python *python, python_object *function, python_object **arguments, size_t count);

/* ---- python_values.c: all return new references unless they say "borrowed" ---- */

static inline python_object *python_u64(struct python *python, uint64_t value)
{
	return python->api.PyLong_FromUnsignedLongLong(value);
}

static inline python_object *python_s64(struct python *python, int64_t value)
{
	return python->api.PyLong_FromLongLong(value);
}

static inline python_object *python_share(struct python *python, python_object *object)
{
	python->api.Py_IncRef(object);
	return object;
}

/* Text from a recording; bytes that aren't UTF-8 become \xNN. */
python_object *python_text(struct python *python, const char *text, size_t length);
/* The same of a string that lives as long as the session, made once. Borrowed. */
python_object *python_lasting_text(struct python *python, const char *text);
/* dict[key] = value; the reference to `value` is taken away. */
void python_set(struct python *python, python_object *dict, enum python_key key, python_object *value);
/* The same, but the reference stays with the caller. */
void python_put(struct python *python, python_object *dict, enum python_key key, python_object *value);
/* dict[key] = the text, as python_text() makes it. */
void python_set_text(struct python *python, python_object *dict, enum python_key key, const char *text, size_t length);

/* ---- python_frames.c ---- */

/* The sample's stack as a list of dictionaries, innermost first. */
python_object *python_callchain(struct python *python, const struct language_sample *at);
/* Forgets the places that were met; python_callchain() makes them anew. */
void python_frames_deinit(struct python *python);

/* ---- python_sample.c ---- */

/* The dictionary that process_event() gets. */
python_object *python_sample_dict(struct python *python, const struct language_sample *at);

/* ---- python_trace.c ---- */

/* How many arguments the function names; -1 = it isn't written in Python. */
long python_argument_count(struct python *python, python_object *function);
/* Calls the function of the sample's tracepoint, or trace_unhandled(); neither need be there. */
struct error *python_trace(struct python *python, const struct language_sample *at);
/* What was decided for an event, made with its first sample. Lives as long as the interpreter. */
struct python_event *python_event_of(struct python *python, const struct event *event);
/* Its perf_event_attr as bytes. Borrowed. */
python_object *python_event_attr(struct python_event *event);
void python_events_deinit(struct python *python);

/* ---- python_export.c ---- */

struct python_export;
/* What a record about a context switch says. */
struct python_switch {
	uint64_t time, model_time;
	uint32_t cpu, pid, tid;
	uint32_t other_pid, other_tid; /* who comes, or went; -1 = not known */
	struct sample_guest guest;
	bool out, preempted;
};
/* NULL when the script doesn't set perf_db_export_mode. */
struct python_export *python_export_create(struct python *python);
/* Nothing else of the script is touched; NULL is fine. */
void python_export_destroy(struct python_export *export);
/* Rows that come before all events: the kinds of branches. Errors are those of the script's functions, here and below. */
struct error *python_export_begin(struct python_export *export);
/* The rows of a sample that aren't out yet, then its own. */
struct error *python_export_sample(struct python_export *export, const struct language_sample *at);
/* The same of a context switch. */
struct error *python_export_switch(struct python_export *export, const struct python_switch *at);

/* ---- python_context.c ---- */

/* Makes the module perf_trace_context and the cookie. */
void python_context_init(struct python *python);

/* ---- python_records.c ---- */

/* language_ops.record, count and interval: functions of the script that aren't there are passed over. */
struct error *python_record(struct language *language, const struct record *record);
struct error *python_count(struct language *language, const struct counted_row *row);
struct error *python_interval(struct language *language, uint64_t time_ns);
