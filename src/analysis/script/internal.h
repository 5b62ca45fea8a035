/* What the files of `perf script`'s text share. */
#pragma once

#include "analysis/script/counted.h"
#include "analysis/script/fields.h"
#include "analysis/script/text.h"
#include "base/hash.h"
#include "base/untrusted.h"
#include "perfdata/layout.h"
#include "symbol/resolve.h"

/* One sample on its way to its line. */
struct script_sample {
	const struct event *event;
	const struct sample *sample;
	struct thread *thread; /* NULL: no process */
	uint64_t model_time;
	const struct script_plan *plan;
	uint32_t type; /* of the record: RECORD_SAMPLE, or the side-band record whose beginning of line is printed */
	uint16_t misc;
	bool is_last_member;	      /* of the counters that were read with it */
	const struct untrusted *comm; /* instead of the thread's name; NULL = that one */
};

/* A field is either short, and put where there is room for SCRIPT_PUT_ROOM bytes (returned is its end), or added as a piece of text. */
enum { SCRIPT_PUT_ROOM = 48 };
typedef char *script_field_put(struct script_text *text, const struct script_sample *at, char *to);
typedef void script_field_print(struct script_text *text, const struct script_sample *at, struct strbuf *out);

struct script_step {
	script_field_put *put; /* or NULL */
	script_field_print *print;
};

/* How the samples of one event are printed. */
struct script_plan {
	uint64_t fields; /* SCRIPT_BIT()s */
	enum script_type type;
	bool branch_trace;   /* every branch of a program: printed as "from => to" */
	bool stacks;	     /* stacks are printed, one frame a line */
	bool comm_aligned;   /* 16 columns; names before stacks aren't */
	bool addr_is_symbol; /* the sampled address belongs to code or data with a name */
	bool plain_chain;    /* its stacks come from the call chain alone: no registers, no branch records */
	bool own_lines;	     /* a frame's source line is the one in its own function: inlined ones have frames too */
	struct strbuf name;  /* of the event, right-aligned, with ": " */
	unsigned int steps_used;
	unsigned int prefix; /* how many steps belong to the beginning of the line that side-band records have too */
	struct script_step steps[SCRIPT_FIELD_COUNT];
};

struct script_field_row {
	const char *name;
	uint64_t sample_type;	/* PERF_SAMPLE_* bits of which the event needs one; 0 = none */
	const char *content;	/* these bits in messages */
	unsigned int not_types; /* bits by enum script_type: makes no sense for these */
	script_field_put *put;
	script_field_print *print; /* neither: the field changes how others print */
	const char *help;
};

extern const struct script_field_row script_field_table[SCRIPT_FIELD_COUNT];

static inline bool script_shows(const struct script_plan *plan, enum script_field field)
{
	return plan->fields & SCRIPT_BIT(field);
}

struct script_metrics;
void script_metrics_destroy(struct script_metrics *metrics);
/* The lines of -F metric, when the sample is the last one of its group's. */
void script_add_metrics(struct script_text *text, const struct script_sample *at, struct strbuf *out);

struct script_code;
void script_code_destroy(struct script_code *code);

struct script_text {
	struct script_code *code; /* NULL until code was shown */
	const struct session *session;
	const struct machine *machine;
	struct resolver *resolver;
	struct script_text_options options;
	struct script_plan **plans; /* by event index; NULL until the event has a sample */
	size_t plan_count;
	size_t name_width;		/* of the longest name of an event */
	struct script_stacks *stacks;	/* NULL until there is a stack to be shown */
	struct stack stack;		/* scratch */
	uint64_t first_time;		/* --reltime; 0 = none yet */
	uint64_t previous_time;		/* --deltatime */
	struct source_files *sources;	/* srccode; NULL until asked for */
	struct map64 last_lines;	/* srccode: thread → hash of the line that was shown last */
	struct script_metrics *metrics; /* NULL until they are asked for */
	struct counted *counted;	/* counts of `perf stat record`; NULL until there are any */
	bool counts_shown;		/* … and the heading of their table is written */
	size_t memory_width;		/* widest text of a data source so far: later ones are filled up to it */
	size_t call_width;		/* columns of -F callindent */
};

const struct script_plan *script_plan_of(struct script_text *text, const struct event *event);
/* The beginning of a line: who, where, when. */
void script_text_prefix(struct script_text *text, const struct script_sample *at, struct strbuf *out);

/* Copies a name that has only plain ASCII, and returns its end; NULL when it has other bytes, or more than `limit`. */
char *script_put_plain(char *to, const char *name, size_t limit);

/* "name+0xoff", "[unknown]" without a symbol. */
void script_add_symbol(const struct frame *frame, bool offset, struct strbuf *out);
/* "file", without brackets; `path` tells the kernel's file instead of [kernel.kallsyms]. */
void script_add_dso(const struct script_text *text, const struct map *map, struct strbuf *out);
/* " symbol+0xoff (file)", as far as the plan shows them. */
void script_add_place(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out);
/* The same of a frame of a stack: with its source line, and whether it is inlined. */
void script_add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out);
/* The text of the sampled source line, as a line of its own; nothing when it is the thread's last one again, or not known. */
void script_add_source_code(struct script_text *text, const struct script_sample *at, struct strbuf *out);
/* The frame of a code address. */
void script_resolve_ip(struct script_text *text, const struct script_sample *at, uint8_t cpumode, uint64_t ip, struct frame *ret);
/* The frame of an address that comes with a sample of `cpumode`: kernel or user space is told by the address itself. */
void script_resolve_data(struct script_text *text, const struct script_sample *at, uint64_t addr, struct frame *ret);

/* The path of the sample's control group; NULL when it isn't known. */
const struct untrusted *script_cgroup(const struct script_text *text, const struct script_sample *at);

/* A count of `perf stat record` as a line of JSON. */
void script_json_count(const struct counted_row *row, struct strbuf *out);
/* The sample as a line of JSON. */
void script_json_sample(struct script_text *text, const struct script_sample *at, struct strbuf *out);

/* The functions of all fields. */
#define PUTS(function) script_field_put function;
#define PRINTS(function) script_field_print function;
#define CHANGES
#define FIELD(identifier, name, bits, content, types, functions, help) functions
#include "analysis/script/fields.def"
#undef FIELD
#undef PUTS
#undef PRINTS
#undef CHANGES
/* No field of its own: what follows the addresses of a branch event. */
script_field_print script_print_branch;
/* … and what stands before them: with callindent, which isn't shown of other events. */
script_field_print script_print_callindent;
