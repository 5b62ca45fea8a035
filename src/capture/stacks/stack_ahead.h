/* Rules for a walker (stack_walker.h) before events are enabled: so the first samples are walked as the later ones are.
 *
 *	command ──► itself, its interpreter, the libraries that it needs (symbol/elf/needed.h)
 *	what runs ──► executable mappings of its processes, those first that take most CPU time
 */
#pragma once

#include "capture/stacks/stack_walker.h"

struct stack_ahead_target {
	const char *command;  /* that is going to be executed, or NULL */
	uint32_t command_pid; /* its process, which still runs our own program; or 0 */
	bool all;	      /* the whole system: large files, of which stacks meet little, are left for later */
	bool others;	      /* whose maps the machine has; `all` as well */
};
void stack_ahead_read(struct stack_walker *walker, struct machine *machine, struct resolver *resolver,
		      const struct stack_ahead_target *target);
