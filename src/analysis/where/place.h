/* Where a thread is when it leaves the CPU, or when the clock samples it: a stack, and what is told of it in words. Equal stacks are one
 * place. */
#pragma once

#include "analysis/stack.h"
#include "analysis/where/kind.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"
#include "session/session.h"

#include <stdbool.h>
#include <stddef.h>

/* All strings are interned by the places: equal ones have equal pointers. They are as in files and recordings: not safe to print. */
struct where_place {
	enum where_kind kind; /* of a wait that begins here; WHERE_CPU: a sample */
	const char *teller;   /* the function of the kernel that tells the kind; or NULL */
	const char *syscall;  /* "pread64", or NULL */
	bool of_fault;	      /* a sample of the clock: the kernel serves a page fault */
	uint64_t
		lock; /* of WHERE_LOCK: lock_type_family() of a lock of programs, as the C library's functions tell; 0 = of files, or none */
	const char *function;		  /* the program's own: the innermost one in user space that isn't of the C library; or NULL */
	const char *innermost;		  /* the innermost function at all, of the C library and the kernel too; or NULL */
	const char *const *frames;	  /* names, innermost first; "[unknown]" and files in brackets where there are none */
	size_t frame_count, kernel_count; /* … of which so many are the kernel's */
};

struct where_places {
	struct session *session;
	struct resolver *resolver;
	struct stack stack;	 /* scratch */
	VEC(const char *) names; /* scratch */
	struct arena arena;
	struct intern strings;
	uint64_t kernel_stacks; /* places with a part in the kernel; … */
	uint64_t named_stacks;	/* … of which so many have a function with a name there */
	bool is_partial;	/* stacks without a copy are the kernel's part, and the instruction of the program that a register tells */
	VEC(uint64_t) chain;	/* scratch: such a one */
	struct map64 by_chain;	/* a hash of the recorded chain and its address space → place: for stacks that need no unwinding */
	struct map64 by_frames; /* a hash of kind and names → place */
	VEC(struct where_place *) all;
};

/* A thread that /proc has shown asleep. */
struct where_asleep {
	uint32_t pid, tid;
	uint64_t argument;     /* the first one of its system call */
	uint64_t sp, ip;       /* in the program; 0 = not known */
	const char *functions; /* of the kernel, innermost first, a line each */
	const void *stack;     /* at `sp` */
	size_t stack_len;
};

/* A register of the program, by the SAMPLE number of its architecture (arch/arch.h). */
bool where_register(const struct sample *sample, unsigned int number, uint64_t *ret);

void where_places_init(struct where_places *places, struct session *session, struct resolver *resolver);
void where_places_deinit(struct where_places *places);
/* The place of a sample of `thread`; of a wait, unless it is a sample of the clock (`running`). Lives as long as the places. */
const struct where_place *where_place_of(struct where_places *places, const struct record *record, const struct sample *sample,
					 const struct thread *thread, bool running);
/* The place where it sleeps; NULL when nothing tells. */
const struct where_place *where_place_asleep(struct where_places *places, const struct where_asleep *asleep, const struct thread *thread,
					     uint64_t model_time);
