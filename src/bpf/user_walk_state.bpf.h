/* What a walk of user_walk.bpf.h knows: of the stack, and of files. */
#pragma once

#include "bpf/kernel_types.bpf.h"
#include "bpf/user_stacks_shared.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* What lies in front of a chain or copy where it is sent from, a multiple of 8 bytes: by default the first word of a sample's record, so
 * that the addresses behind it are aligned. Who includes this may have defined another one. */
#ifndef WALK_HEAD
#define WALK_HEAD struct walk_word
#endif
struct walk_word {
	uint64_t written; /* user_stacks_bytes() of all records */
	uint32_t padding;
	uint32_t word;
};

enum {
	MAPPINGS = 8,
	TREE_DEPTH = 6,
	TREE_NODE = 256,
	TREE_LEAF = 1,
	TREE_RANGE = 2,
	TREE_ALLOC_RANGE = 3,
	FEW_ROWS = 16,
	FIRST_WINDOW = 256,
	WINDOW = 512,
	KNOWN_ROWS = 256,
	PLAIN_STEPS = 8
};
enum { TASK_IS_KERNEL = 0x200000, MAPPED_EXECUTABLE = 4, FRAME_POINTER_REACH = 0x4000 };

const volatile uint32_t depth = USER_STACKS_DEPTH;
const volatile uint32_t page_bits = 12; /* of the kernel: offsets of mappings are in pages */

/* The registers as the kernel shows them to programs. */
#if defined(__TARGET_ARCH_x86)
struct seen_registers {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
enum { CODE_OF_32_BITS = 0x23 };
#define IS_USER(regs) ((regs)->cs & 3)
#define ABI(regs) ((regs)->cs == CODE_OF_32_BITS ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64)
#define IP(regs) ((regs)->ip)
#define FP(regs) ((regs)->bp)
#define THIRD(regs) ((regs)->bx)
#define HAS_THIRD 1
#define LINK(regs) 0
#define HAS_LINK 0
#define VARIABLES(task) ((task)->thread.fsbase)
#elif defined(__TARGET_ARCH_arm64)
struct seen_registers {
	uint64_t x[31], sp, pc, pstate;
};
enum { MODE_MASK = 0xf, MODE_32_BITS = 0x10 };
#define IS_USER(regs) (!((regs)->pstate & MODE_MASK))
#define ABI(regs) ((regs)->pstate & MODE_32_BITS ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64)
#define IP(regs) ((regs)->pc)
#define FP(regs) ((regs)->x[29])
#define THIRD(regs) 0
#define HAS_THIRD 0
#define LINK(regs) ((regs)->x[30])
#define HAS_LINK 1
#define VARIABLES(task) ((task)->thread.uw.tp_value)
#endif

struct mapping {
	uint64_t start, size;
	uint64_t to_file; /* address plus this: offset in the file */
	struct user_stacks_code code;
	struct user_stacks_file file;
};

/* The row of an address, which spares looking for it: a stack has much in common with the one before. */
struct known_row {
	uint64_t address;
	uint64_t period;
	struct user_stacks_row row;
	uint16_t mapping;  /* place in walk.mappings */
	uint8_t evaluates; /* Python: then the mapping must still be there, to say more */
	uint8_t plain;	   /* take_plain_steps() may follow it */
};

struct python_key {
	uint64_t code;
	uint64_t pid;
};
/* What tells that a code is still the same one, and its number. */
struct python_known {
	uint64_t name, lines;
	uint32_t first_line, number;
};
struct python_news {
	struct python_key key;
	uint64_t name, file, lines;
	uint32_t first_line, number;
	uint32_t python, unused;
};

/* What a walk knows; one for each CPU, since no program is run while it runs there itself. */
struct walk {
	struct seen_registers registers;
	uint64_t ip, sp, fp, third, link;
	uint64_t address; /* that is looked up */
	struct user_stacks_file file;
	uint32_t exact, has_fp, has_third, has_link;
	uint32_t count;
	uint32_t done, bare; /* why it ends: it is complete, or there are no rules and no frame pointer */
	uint32_t found;	     /* mappings so far */
	uint64_t period;     /* of one address space that doesn't change; rows and mappings that are known hold for one */
	struct known_row known[KNOWN_ROWS];
	uint64_t space, space_changes, space_arguments; /* in which they are (keep_mappings()) */
	uint64_t generation;				/* of rows (USER_STACKS_GENERATION) */
	struct mapping mappings[MAPPINGS];
	uint64_t node[TREE_NODE / sizeof(uint64_t)];
	uint64_t vma_end;
	uint64_t window[WINDOW], window_at, window_words; /* a piece of the stack, and how many words of it there are */
	uint64_t environment_end, variables;		  /* of which one lies above the stack, as a rule */
	/* Frames of Python: the next one, 0 = none; where addresses are counted from, as mapping.to_file. */
	uint64_t python_frame, python_to_file, python_bottom;
	/* Since CPython 3.13: the newest frame of the next function that evaluates, if one has come by already; of this one, and `count`
	 * before it. */
	uint64_t python_outer, python_first;
	uint32_t python_begun, python_had;
	/* While a thread's state is looked for, and a code's number: four functions in each other have little room on the stack. */
	uint64_t interpreter, thread, thread_number, thread_key;
	struct python_known code_now;
	uint32_t python_passed, python_known; /* the frame before evaluates Python, and was passed by its row; its place in `mappings` */
	uint32_t python, codes;		      /* place in `pythons`; how many codes are to be told of */
	uint64_t frame_words[USER_STACKS_PYTHON_FRAME / 8], code_words[USER_STACKS_PYTHON_CODE / 8];
	struct python_news news[USER_STACKS_TOLD];
	uint64_t text_words[5];
	uint64_t code_kind; /* what sends records may put something in front */
	uint32_t code_padding, code_word;
	struct user_stacks_python_code code_record;
	WALK_HEAD head; /* kept from one walk to the next */
	union {
		uint64_t chain[USER_STACKS_DEPTH];
		struct {
			struct user_stacks_copy copy;
			uint8_t stack[USER_STACKS_COPY];
		};
	};
};

/* What functions of bpf_loop() are called with. */
struct step {
	struct walk *walk;
};

#include "bpf/walks.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, USER_STACKS_FILES);
	__type(key, struct user_stacks_file);
	__type(value, struct user_stacks_code);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USER_STACKS_PYTHONS);
	__type(key, uint32_t);
	__type(value, struct user_stacks_python);
} pythons SEC(".maps");

/* Codes of Python that have a number; of this program alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, USER_STACKS_CODES);
	__type(key, struct python_key);
	__type(value, struct python_known);
} python_codes SEC(".maps");

/* States of Python's threads since CPython 3.13, by pid << 32 | tid; of this program alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, uint64_t);
	__type(value, uint64_t);
} python_threads SEC(".maps");

const volatile uint32_t first_python_code; /* before the first number */
uint32_t python_code_count;

struct row_chunk {
	struct user_stacks_row rows[USER_STACKS_ROWS];
};
struct rows_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct row_chunk));
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, USER_STACKS_ROW_CHUNKS);
	__type(key, uint32_t);
	__array(values, struct rows_map);
} row_chunks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct row_chunk);
} first_rows SEC(".maps");

struct word_chunk {
	uint32_t words[USER_STACKS_WORDS];
};
struct words_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct word_chunk));
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, USER_STACKS_WORD_CHUNKS);
	__type(key, uint32_t);
	__array(values, struct words_map);
} word_chunks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct word_chunk);
} first_words SEC(".maps");
