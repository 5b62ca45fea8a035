/* What the BPF program that walks user stacks (user_stacks.bpf.c) and its loader (user_stacks.c) exchange.
 *
 * Rows of call frame information are kept by file, as rules for its bytes:
 *
 *	files: file ──► blocks of 256 bytes of code, from `first_block` on ──► words ──► the block's rows
 *
 * A word of a block is the number of its first row << 8 | how many rows it has - 1; 0: they have not been given yet. The first row holds
 * from the block's first byte on, so that no other block's rows are needed. Words and rows lie in chunks, arrays that are made when the
 * ones before are full; the rows of one block lie in one chunk. A file's words are there as soon as it is known, its rows when they are
 * needed. The first row of all is of no block: its start counts how often all was forgotten. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	USER_STACKS_BLOCK_BITS = 8,
	USER_STACKS_ROWS = 1 << 17, /* in a chunk */
	USER_STACKS_GENERATION = 0, /* the row that is of no block */
	USER_STACKS_ROW_CHUNKS = 128,
	USER_STACKS_WORDS = 1 << 18, /* in a chunk */
	USER_STACKS_WORD_CHUNKS = 16,
	USER_STACKS_FILES = 8192,
	USER_STACKS_MEMORY = 200 << 20, /* of rows, at most */
	USER_STACKS_DEPTH = 1024,	/* frames */
	USER_STACKS_PAGE = 4096,	/* a stack is copied in pieces of at most this */
	USER_STACKS_COPY = 15 * USER_STACKS_PAGE,
};

/* Where the canonical frame address is (enum walk_base, unwind/walk_row.h, which says more about each). */
enum user_stacks_base {
	USER_STACKS_SP,
	USER_STACKS_FP,
	USER_STACKS_OTHER, /* the row says more than fits here: the recorder unwinds a copy */
	USER_STACKS_END,   /* nobody calls this code */
	USER_STACKS_NONE,  /* no row: the frame pointer is tried */
	USER_STACKS_THIRD,
	USER_STACKS_ALIGNED,
	USER_STACKS_STUB,
	USER_STACKS_WIDE,
	USER_STACKS_SWITCH,
	USER_STACKS_SIGNAL,
};

enum user_stacks_switch { USER_STACKS_AT_CALL, USER_STACKS_AT_PLACE, USER_STACKS_BEGINS_THREAD };

/* Places are the canonical frame address plus so many times USER_STACKS_UNIT bytes. */
enum { USER_STACKS_UNIT = 4, USER_STACKS_SAME = INT16_MIN, USER_STACKS_LOST = INT16_MIN + 1, USER_STACKS_MORE_LOST = UINT8_MAX };

struct user_stacks_row {
	uint32_t start; /* offset in the file from which on it holds */
	int16_t cfa;
	int16_t fp, ip; /* where frame pointer and return address are; or USER_STACKS_SAME, USER_STACKS_LOST */
	uint8_t base;	/* enum user_stacks_base */
	uint8_t more;	/* x86-64: how far below that rbx is, arm64: whether the return address is signed */
};

/* What a file is known by. The program takes it from what is mapped; nobody else needs to understand it. The vDSO, which is no file, has
 * USER_STACKS_VDSO for an inode and 0 for the others. */
enum { USER_STACKS_VDSO = 1 };
struct user_stacks_file {
	uint64_t inode, size;
	uint32_t device, generation;
};

/* Asked of the program: what is mapped at an address of ours. */
struct user_stacks_place {
	uint64_t address;
	struct user_stacks_file file; /* inode 0: no file */
};

/* Bytes of a file. */
struct user_stacks_span {
	uint32_t begin, size;
};

/* Where _PyEval_EvalFrameDefault() is: compilers lay what they take for its cold part somewhere else, which may be most of it. */
enum { USER_STACKS_PARTS = 2 };

struct user_stacks_code {
	uint32_t first_block; /* offset in the file >> USER_STACKS_BLOCK_BITS */
	uint32_t blocks;      /* 0 = it has no rows: frame pointers are all that there is */
	uint32_t first_word;
	uint32_t copied; /* there was no room for its rows: stacks are copied */
	uint32_t python; /* place in `pythons`, plus 1; 0 = it is no interpreter of Python */
	struct user_stacks_span evaluates[USER_STACKS_PARTS];
};

/* An interpreter of Python (CPython) whose frames are read beside its C functions': where things are in its file, and in its structures.
 *
 *	C stack, a frame of the function that evaluates:  … struct _PyCFrame ── current_frame ──► frame ─► previous ─► … ─► entry
 *
 * Since CPython 3.13 there is no struct _PyCFrame: the thread's state leads to the newest frame of all, and an entry, which lies in the
 * function's own frame, to the newest one of the next function that evaluates.
 *
 * Places are offsets in the file, as code's are; so they become addresses as that does. */
struct user_stacks_python {
	uint64_t runtime, code_type;	      /* places of _PyRuntime and PyCode_Type */
	uint16_t interpreter, threads;	      /* in _PyRuntime: the main interpreter; in that: its newest thread */
	uint16_t next_thread, thread_cframe;  /* in a thread */
	uint16_t cframe_current;	      /* in struct _PyCFrame */
	uint16_t thread_frame, thread_number; /* in a thread: its newest frame, and what the kernel calls it; 0 = by struct _PyCFrame */
	uint16_t next_interpreter;	      /* in an interpreter, by thread_number: `interpreter` leads to the newest one then */
	uint16_t code, previous, instruction, end; /* in a frame */
	uint8_t end_mask, end_value, end_counts;   /* the last frame of a C function has this there; it counts, or is only a mark */
	uint8_t kind_shift;			   /* in a string's state: how many bytes a character has */
	uint16_t code_instructions, code_line, code_file, code_name, code_lines; /* in a code object */
	uint16_t text, wide_text;						 /* in strings: characters, of ASCII and of others */
	uint16_t head; /* how many bytes more than elsewhere the head of each object has */
	uint16_t
		code_copies; /* in a code object: where its instructions are, by the number that is in the frame; 0 = there are no copies */
	uint16_t frame_copy; /* in a frame: that number; 0 = the code's own ones */
	uint32_t cframe_below; /* how far below the canonical frame address struct _PyCFrame is; 0 = not known yet: the program finds out */
};
enum { USER_STACKS_PYTHONS = 16, USER_STACKS_PYTHON_FRAME = 80, USER_STACKS_PYTHON_CODE = 160 };

/* A reference to an object, as since CPython 3.14 frames have it, says in these bits whether it counts. */
enum { USER_STACKS_PYTHON_TAGS = 3 };

/* A file that has one: the program follows frames of the function that evaluates. */
struct user_stacks_interpreter {
	struct user_stacks_span evaluates[USER_STACKS_PARTS];
	struct user_stacks_python python;
};

/* A frame of Python in a chain, behind the function that evaluates it: number of the code << 24 | instructions begun. No code of a process
 * lies there. */
#define USER_STACKS_PYTHON_MARK ((uint64_t)0xfe << 56)
enum { USER_STACKS_OTHERS_CODES = 1 << 30 }; /* numbers above are another program's, with the same rows */
static inline bool user_stacks_is_python(uint64_t address)
{
	return address >> 56 == USER_STACKS_PYTHON_MARK >> 56;
}

/* Told once, before the first chain that has its number: a program remembers USER_STACKS_CODES. */
enum { USER_STACKS_NAME = 256, USER_STACKS_PATH = 512, USER_STACKS_LINES = 8192, USER_STACKS_TOLD = 32, USER_STACKS_CODES = 1 << 17 };
struct user_stacks_text {
	uint32_t length, width; /* characters; bytes of one: 1, 2 or 4 */
};
struct user_stacks_python_code {
	uint32_t number, first_line;
	struct user_stacks_text name, file;
	uint8_t name_text[USER_STACKS_NAME], file_text[USER_STACKS_PATH]; /* may be cut */
	uint8_t lines[USER_STACKS_LINES];				  /* co_linetable, as many bytes as the record's count says */
};

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
/* As PERF_SAMPLE_REGS_USER numbers them: ax bx cx dx si di bp sp ip, r8 to r15. */
enum { USER_STACKS_REGISTERS = 17 };
#define USER_STACKS_REGISTER_MASK 0xff01ffULL
#else
/* x0 to x30, sp, pc. */
enum { USER_STACKS_REGISTERS = 33 };
#define USER_STACKS_REGISTER_MASK 0x1ffffffffULL
#endif

enum user_stacks_kind {
	USER_STACKS_CHAIN,  /* complete: `count` addresses follow, as unwind/unwind.h gives them */
	USER_STACKS_CUT,    /* the same, but there are more frames than the program may follow */
	USER_STACKS_LEFT,   /* the same, but the rest was neither walked nor copied: the ring has no room */
	USER_STACKS_BARE,   /* the same, but the last address has no rules, and the frame pointer leads nowhere */
	USER_STACKS_PYTHON, /* no stack: a struct user_stacks_python_code, with `count` bytes of lines */
	USER_STACKS_STACK,  /* not to be walked by the program: a struct user_stacks_copy follows, with `count` bytes of the stack */
};

/* The first word of a record, which lies 4 bytes behind a multiple of 8. */
#define USER_STACKS_HEAD(kind, count) ((uint32_t)(kind) | (uint32_t)(count) << 8)
static inline uint32_t user_stacks_kind(uint32_t head)
{
	return head & 0xff;
}
static inline uint32_t user_stacks_count(uint32_t head)
{
	return head >> 8;
}

struct user_stacks_copy {
	struct user_stacks_file file; /* no rows have been given for `address` in it; inode 0 = that wasn't the reason */
	uint64_t address;	      /* in the process, where the walk ended */
	uint64_t abi;		      /* PERF_SAMPLE_REGS_ABI_* */
	uint64_t registers[USER_STACKS_REGISTERS];
};

/* What a record and its sample take of a ring, about. Of each CPU the program adds up what it writes, the recorder what it has read. */
enum { USER_STACKS_SAMPLE = 256 };
static inline uint64_t user_stacks_bytes(uint32_t head)
{
	uint64_t count = user_stacks_count(head);

	if (user_stacks_kind(head) == USER_STACKS_STACK)
		return USER_STACKS_SAMPLE + sizeof(struct user_stacks_copy) + count;
	return USER_STACKS_SAMPLE +
	       (user_stacks_kind(head) == USER_STACKS_PYTHON ? USER_STACKS_NAME + USER_STACKS_PATH + count : count * sizeof(uint64_t));
}
