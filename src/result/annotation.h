/* A function, instruction by instruction, with the source lines they come from and what each of them costs. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "result/branch_counts.h"

#include <stdbool.h>
#include <stdint.h>

enum annotation_kind {
	ANNOTATION_NOTE,   /* `text`: the section, the function's name, the function that was inlined from here on */
	ANNOTATION_SOURCE, /* `text`: a line of source, `file` and `line` where it is from */
	ANNOTATION_INSTRUCTION,
};

/* Where an instruction goes. */
enum annotation_flow { FLOW_ON, FLOW_JUMP, FLOW_CALL, FLOW_RETURN };

#define ANNOTATION_NO_LINE UINT32_MAX

struct annotation_name {
	const char *name; /* NULL = none; unsafe bytes still in it */
	uint64_t offset;  /* from where it begins */
	bool slot;	  /* a slot of the global offset table that points to it */
};

struct annotation_line {
	uint8_t kind; /* enum annotation_kind */
	uint8_t flow; /* enum annotation_flow */
	bool has_target, has_reference;
	bool is_target;	      /* a jump of the function leads here */
	uint32_t target_line; /* of a jump within the function: number in `lines`; else ANNOTATION_NO_LINE */
	uint32_t line;	      /* of the source, 0 = unknown */
	const char *text;     /* notes, source: unsafe bytes still in it */
	const char *file;     /* source file by debug information, or NULL; equal files have equal pointers */
	/* Instructions. */
	uint64_t address; /* as the disassembly of the file shows it */
	const uint8_t *bytes;
	uint32_t size;
	const char *mnemonic, *operands;
	uint64_t target;    /* of a jump or call */
	uint64_t reference; /* an operand's address that is relative to the instruction */
	struct annotation_name target_name, reference_name;
};

struct annotation_value {
	uint64_t samples, period;
};

/* What branch records tell of an instruction. */
struct annotation_cycles {
	double ipc;		       /* instructions a cycle in the block that it is in; 0 = not known */
	uint64_t average, least, most; /* cycles of the block that ends here; 0 = none does */
	/* How often that ran, and what happened meanwhile: one for each of the annotation's counters; NULL = there are none. */
	uint64_t runs;
	const struct branch_count *counts;
};

/* What one event has in the function, and in the whole recording. */
struct annotation_event {
	const char *name; /* unsafe bytes still in it */
	struct annotation_value local, global;
};

/* A source line with the sum of its instructions, the hottest first. */
struct annotation_source {
	const char *file;
	uint32_t line;
	const struct annotation_value *values; /* one for each event */
};

enum annotation_show { ANNOTATION_PERCENT, ANNOTATION_SAMPLES, ANNOTATION_PERIOD };

/* How views write it. */
struct annotation_style {
	enum annotation_show show;
	bool global; /* percentages of the whole recording, else of the function */
	bool hits;   /* of samples, else of periods */
	bool full_paths;
	bool raw;	  /* the bytes of instructions */
	bool print_lines; /* the summary by source lines, and the line behind each instruction that has samples */
	bool compact;	  /* offsets and arrows instead of addresses */
	/* Compact: which instructions have their offset before them. */
	enum annotation_offsets { OFFSETS_TARGETS, OFFSETS_CALLS, OFFSETS_ALL } offsets;
	/* Compact: before the text of a source line, its number or also its file. */
	enum annotation_places { PLACES_NONE, PLACES_NUMBERS, PLACES_FILES } places;
	bool data_types;      /* behind instructions that access memory, what of, where that is known */
	bool cycle_range;     /* compact: the least and the most cycles as well as the average */
	bool counts;	      /* -v: a table of the sampled addresses first; compact: numbers of branch counters, not letters */
	double least_percent; /* of source lines in the summary */
};

/* Texts are owned by `arena` or live as long as what it was made from. */
struct annotation {
	struct arena arena;
	const char *function;	 /* name */
	const char *path, *file; /* what it is in, and the short name of that */
	const char *section;	 /* ".text", or NULL */
	const char *events_name; /* of all events together: "cpu-clock", "anon group { … }" */
	uint64_t frequency;	 /* samples a second, 0 = by period */
	uint64_t start;		 /* address of the function */
	VEC(struct annotation_line) lines;
	const char *subject_id; /* what values are of: "event"; stable, lower case */
	struct annotation_event *events;
	size_t event_count;
	struct annotation_value *values;  /* lines × events; 0 but for instructions */
	struct annotation_cycles *cycles; /* by line; NULL = the first event's branch records count none */
	const char **data_types;	  /* by line, "struct item +0x8 (next)"; entries and all may be NULL; unsafe bytes still in it */
	struct branch_counter *counters;  /* events that branch records count */
	size_t counter_count;
	double ipc, ipc_coverage;	   /* of all blocks; per cent of the instructions that are in one */
	struct annotation_source *sources; /* hottest first */
	size_t source_count;
	struct annotation_style style;
};

struct annotation *annotation_create(void);
void annotation_destroy(struct annotation *annotation);

/* The value of event `event` at line `line`. */
static inline const struct annotation_value *annotation_value(const struct annotation *annotation, size_t line, size_t event)
{
	return &annotation->values[line * annotation->event_count + event];
}

/* A value's share of all that the event has, in the whole recording or in what is shown, in samples or in periods: in per cent. */
double annotation_share(const struct annotation_event *event, const struct annotation_value *value, bool global, bool hits);
/* The share of a value by the style, in per cent. */
double annotation_percent(const struct annotation *annotation, const struct annotation_value *value, size_t event);
/* Fills `sources` from the lines' values: every source line with a sample, by the share of the first event. */
void annotation_sum_sources(struct annotation *annotation);

struct table;
union cell;
enum { ANNOTATION_VALUE_COLUMNS = 3 };
/* The columns that tables have of each event: percentage, samples, period; and their cells. */
void annotation_add_columns(struct table *table, const struct annotation_event *events, size_t count);
void annotation_value_cells(const struct annotation_value *value, double percent, union cell *ret);
/* A row for each instruction, for programs. Destroy it before the annotation. */
struct table *annotation_table(const struct annotation *annotation);
