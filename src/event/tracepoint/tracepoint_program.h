/* A print format as a program: a list of steps, each of which adds some text. tracepoint_compile.c makes it, tracepoint_run.c runs it. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An integer expression over the record's fields. All values are 64-bit and unsigned, as libtraceevent computes. */
enum node_kind {
	NODE_VALUE,	      /* `value` */
	NODE_FIELD,	      /* `size` bytes at `offset` */
	NODE_ELEMENT,	      /* `size` bytes at offset + size × left */
	NODE_DYNAMIC_ELEMENT, /* `size` bytes at (what the __data_loc at `offset` points to) + left */
	NODE_DYNAMIC_LENGTH,  /* of what the __data_loc at `offset` points to */
	NODE_MASK,	      /* left & value: a cast */
	NODE_NOT,
	NODE_INVERT,
	NODE_BINARY, /* `operation`: one or two characters of C */
	NODE_CHOICE, /* left ? right : third */
};

#define NODE_OPERATION(a, b) ((uint16_t)((a) << 8 | (b)))

struct print_node {
	enum node_kind kind;
	uint16_t operation;
	bool relative; /* __rel_loc */
	uint32_t offset, size;
	uint64_t value;
	const struct print_node *left, *right, *third;
};

/* A name of a flag or symbol. */
struct flag_name {
	int64_t value; /* -1: one that isn't known */
	const char *text;
};

enum text_kind {
	TEXT_NONE,     /* nothing is printed, whatever the width */
	TEXT_CONSTANT, /* `constant` */
	TEXT_FIELD,    /* characters in the record: `size` of them at `offset`; size 0 = to the record's end */
	TEXT_POINTER,  /* the field holds the address of a string of the kernel's printk formats */
	TEXT_DYNAMIC,  /* where the __data_loc at `offset` points to */
	TEXT_FLAGS,    /* `names` of the bits of `value`, `constant` between them */
	TEXT_SYMBOL,   /* the one of `names` that `value` is */
	TEXT_HEX,      /* `value` bytes in hexadecimal, `constant` between them */
	TEXT_NUMBERS,  /* {0x1,0x2}: `value` numbers of `element` bytes */
	TEXT_BITMASK,  /* __get_bitmask */
	TEXT_CPUMASK,  /* __get_cpumask: "0-3,7" */
	TEXT_CHOICE,   /* `value` ? first : second */
};

struct text_source {
	enum text_kind kind;
	bool dynamic;  /* HEX, NUMBERS: at what the __data_loc points to */
	bool relative; /* … which is a __rel_loc */
	uint32_t offset, size;
	const char *constant;
	const struct print_node *value, *element;
	const struct flag_name *names;
	size_t name_count;
	const struct text_source *first, *second;
};

/* One conversion of printf. */
struct conversion {
	char letter; /* d u x X o c s */
	int8_t bits; /* 8, 16, 32 or 64 */
	bool minus, zero, plus, alternate;
	bool star_width, star_precision; /* given by `star` of the step */
	int width, precision;		 /* 0 and -1 = none */
};

enum { STEP_TEXT_PADDING = 16 };

enum step_kind {
	STEP_TEXT,
	STEP_NUMBER,
	STEP_DECIMAL, /* %d %u %ld … without width or anything: the common ones */
	STEP_HEX,     /* %x %lx … */
	STEP_POINTER,
	STEP_FUNCTION,
	STEP_FUNCTION_OFFSET,
	STEP_STRING,
	STEP_SPECIAL, /* %pM %pI4 %pU %ph …: `text` are the letters behind %p, `source` says where the bytes are */
};

struct step {
	enum step_kind kind;
	struct conversion conversion;
	const char *text;
	uint32_t len; /* of STEP_TEXT's text, behind which STEP_TEXT_PADDING bytes can be read */
	const struct print_node *value;
	const struct print_node *star;
	const struct text_source *source;
};

struct tracepoint_program {
	bool understood; /* else there are no steps, and all fields are listed */
	const struct step *steps;
	size_t count;
};

/* The record that a program runs over, and the text that grows: [out->data, at) is filled, [at, end) is reserved. Text is put here without
 * calls; functions that use `out` itself are framed by run_close() and run_open(). */
struct print_run {
	const struct tracepoint_formats *formats;
	const uint8_t *raw;
	size_t size;
	struct strbuf *out;
	char *at, *end;
};

/* Makes room for `need` bytes and takes `at` and `end` from `out`. */
void run_open(struct print_run *run, size_t need);
/* Hands what was put down to `out`. */
void run_close(struct print_run *run);
/* Makes room for `need` more bytes. */
void run_grow(struct print_run *run, size_t need);

/* `size` bytes at `offset` as an unsigned number. */
uint64_t run_read(const struct print_run *run, uint64_t offset, uint32_t size);
/* Where the __data_loc at `field` points to; length 0 when that isn't inside the record. */
uint64_t run_locate(const struct print_run *run, uint32_t field, bool relative, uint64_t *ret_len);
uint64_t run_evaluate(const struct print_run *run, const struct print_node *node);

/* The bytes of a source that is a field or what a __data_loc points to; *ret_left of them up to the record's end, *ret_len of them meant.
 */
const uint8_t *run_bytes(const struct print_run *run, const struct text_source *source, size_t *ret_left, size_t *ret_len);

/* STEP_SPECIAL, into run->out. `limit`: the value of '*', or 1. */
void run_special(const struct print_run *run, const struct step *step, int limit);

/* How a string conversion puts one text: width and precision apply to it. */
struct text_style {
	int width, precision; /* 0 and -1 = none */
	bool minus;
};
void run_put_text(struct print_run *run, const struct text_source *source, const struct text_style *style);
