/* Keys: what samples are told apart by, and shown with, in a report: one row of a table for each. Parsing, help, sorting and printing read
 * the row.
 *
 * A key belongs to a domain, which says what its value is a function of. Rows are made from one class for each domain (rows.h), so that a
 * value is made once for each class and not for each sample:
 *  - KEY_TOTAL: sums (overhead, sample, period): no part of the identity;
 *  - KEY_ACTOR: the thread and its name;
 *  - KEY_PLACE: a resolved address (in branch mode: from and to);
 *  - KEY_EXTRA: raw words of the sample that the fold keeps apart;
 *  - KEY_STACK: the whole call chain (parent).
 */
#pragma once

#include "analysis/report/fold.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "result/table.h"

enum key_domain { KEY_TOTAL, KEY_ACTOR, KEY_PLACE, KEY_EXTRA, KEY_STACK };

/* Which sum a KEY_TOTAL is. */
enum key_total {
	TOTAL_OVERHEAD_CHILDREN,
	TOTAL_OVERHEAD,
	TOTAL_OVERHEAD_SYS,
	TOTAL_OVERHEAD_US,
	TOTAL_OVERHEAD_GUEST_SYS,
	TOTAL_OVERHEAD_GUEST_US,
	TOTAL_SAMPLES,
	TOTAL_PERIOD,
};

enum key_flag {
	KEY_HAS_SYM = 1 << 0, /* tells symbols apart */
	KEY_HAS_DSO = 1 << 1,
	KEY_BRANCH = 1 << 2,	 /* needs branch records (-b) */
	KEY_DESCENDING = 1 << 3, /* larger numbers first */
	KEY_DYNAMIC = 1 << 4,	 /* a field of a tracepoint, named by event.field */
	KEY_HIDDEN = 1 << 5,	 /* not listed */
	KEY_MEMORY = 1 << 7,	 /* needs report --mem-mode */
	KEY_BY_ADDRESS = 1 << 6, /* tells addresses in one symbol apart: the fold must as well (fold_options.by_line) */
	KEY_THREADS = 1 << 8,	 /* tells threads of one name apart: the fold must as well (fold_options.threads) */
	KEY_RAGGED = 1 << 9,	 /* as the last column it isn't filled up with spaces */
};

/* How wide a column is: at least key.width, and … */
enum key_width {
	KEY_WIDTH_CONTENT, /* the longest text */
	KEY_WIDTH_FIXED,   /* no wider */
	KEY_WIDTH_NAMES,   /* the longest text, and the longest last name of the threads whose samples made the rows */
	KEY_WIDTH_FILES,   /* the longest text, and 16 where a place has no symbol */
};

/* By which of the names that a user wants to see rows can be chosen: a column with one value only is left out. */
enum key_filter { KEY_FILTER_NONE, KEY_FILTER_COMM, KEY_FILTER_DSO, KEY_FILTER_SYMBOL };

enum { KEY_WORDS_MAX = 6 };

struct key_context;
struct key;

/* What a value is made from: the representative of a class. Only the part of the key's domain is set. */
struct key_source {
	const struct fold_actor *actor;
	const struct fold_frame *place;	    /* branch mode: where from */
	const struct fold_frame *target;    /* branch mode: where to */
	bool caller;			    /* the place is a caller's: unresolved ones are shown with the raw address */
	char level;			    /* k . g u H */
	const uint64_t *words;		    /* this key's extra words */
	const struct fold_entry *entry;	    /* one of the class' entries */
	const struct record_header *record; /* its first sample; NULL = not known */
	const struct symbol *parent;
	const char *string; /* KEY_EXTRA with a string: that, made before */
	uint64_t count;	    /* samples of the row, for weights */
};

struct key {
	const char *name;
	const char *alias; /* another name, or NULL */
	const char *title;
	enum key_domain domain;
	enum key_total total;
	enum column_kind kind;
	enum column_align align;
	unsigned int flags;
	unsigned int width;	   /* least width of the column */
	enum key_width width_rule; /* of the column */
	unsigned int name_room;	   /* KEY_WIDTH_NAMES: what stands beside a name */
	unsigned int exact_width;  /* of the column where times are in nanoseconds; 0 = the same */
	enum key_filter filter;
	unsigned int words; /* of identity; KEY_EXTRA: kept by the fold */
	/* KEY_EXTRA: from the sample. On several threads. */
	void (*extract)(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words);
	/* KEY_ACTOR, KEY_PLACE, KEY_STACK: equal words, same row. */
	void (*identify)(const struct key_context *context, const struct key_source *source, uint64_t *words);
	/* One of the two gives the order of rows: a string (NULL last) or a number. */
	const char *(*string)(struct key_context *context, const struct key *key, const struct key_source *source);
	int64_t (*number)(struct key_context *context, const struct key *key, const struct key_source *source);
	/* Text of the cell; NULL: the string or the number. */
	void (*text)(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out);
	/* Length of the text, where it is known without making it; may be NULL. */
	unsigned int (*length)(const struct key_context *context, const struct key_source *source);
	/* Dynamic keys. */
	const struct event *event;
	const struct tracepoint_field *field;
};

/* What keys may need besides the sample. */
struct key_context {
	struct fold *fold;
	const struct session *session;
	struct resolver *resolver;
	struct intern *strings;
	struct arena *arena;
	struct source_lines *lines;	/* for KEY_BY_ADDRESS keys */
	struct data_places *places;	/* for KEY_MEMORY keys */
	struct data_accesses *accesses; /* for keys of data types */
	bool has_dso;			/* the sort keys tell files apart */
	bool verbose;			/* -v: long names, addresses */
	bool nanoseconds;
	bool raw_trace;
	uint64_t time_quantum_ns; /* 0 = none */
	void *parent_regex;	  /* regex_t *, or NULL */
};

struct key_list {
	VEC(const struct key *) keys;
};

/* All keys; ends with one whose name is NULL. */
extern const struct key key_table[];
/* By name, alias, or a unique beginning as the kernel tool takes it; NULL when there is none. */
const struct key *key_find(const char *name, bool branch_mode);
/* Fields of tracepoints: "field", "event.field", "system:event.field", "event.*", "trace_fields", with "/raw" behind. Adds them to `list`;
 * false when there is no such field. `events` are those of the recording. */
bool key_find_dynamic(const char *name, const struct event_list *events, struct arena *arena, struct key_list *list);
/* The one that was meant, or NULL. */
const char *key_nearest(const char *name);
/* All in columns, from `margin` to `width`, for help and messages; no newline at the end. */
void key_names(struct strbuf *out, unsigned int margin, unsigned int width);

/* The raw data of an entry's first sample; decodes it. False when it has none. */
bool key_raw(const struct key_context *context, const struct key_source *source, const void **ret_raw, uint32_t *ret_size);
