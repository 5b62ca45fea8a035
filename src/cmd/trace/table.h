/* The system calls of this machine (or of a recording's), by number: what each means, and whether it is asked for. */
#pragma once

#include "analysis/syscalls/syscall.h"
#include "base/arena.h"
#include "base/error.h"
#include "bpf/syscalls/syscalls_shared.h"

#include <stdbool.h>

struct event_catalog;

/* Those of 32-bit programs are behind the machine's own, from TRACE_COMPAT on. */
enum { TRACE_COMPAT = SYSCALL_NUMBERS, TRACE_NUMBERS = 2 * SYSCALL_NUMBERS };

struct trace_table {
	enum syscall_abi abi, compat;
	const struct syscall_description *calls[TRACE_NUMBERS]; /* never NULL: unknown ones have six numbers as arguments */
	bool selected[TRACE_NUMBERS];
	struct arena arena;
};

/* `machine` as uname -m calls it. Calls that have no description take names and kinds of their arguments from tracefs, where `catalog` (may
 * be NULL) has it. All are selected. */
void trace_table_init(struct trace_table *table, const char *machine, struct event_catalog *catalog);
/* Frees the descriptions that came from tracefs. */
void trace_table_deinit(struct trace_table *table);

/* Selects (or takes out) what one word of -e means: a name, a pattern, a %class. False when it is no system call. */
bool trace_table_select(struct trace_table *table, const char *word, bool selected);
/* Selects all calls of both tables, or none. */
void trace_table_select_all(struct trace_table *table, bool selected);
/* Whether some call is selected. */
bool trace_table_any(const struct trace_table *table);

/* What the BPF program is to do for each selected call; freed by the caller. */
struct syscall_plan *trace_table_plans(const struct trace_table *table);
