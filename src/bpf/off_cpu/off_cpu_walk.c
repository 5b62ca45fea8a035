/* Opens off_cpu_walk.bpf.c; the rest is off_cpu.c's. */
#include "bpf/off_cpu/off_cpu_internal.h"
#include "off_cpu_walk.skel.h"

#include <errno.h>
#include <unistd.h>

int off_cpu_open_walking(const struct bpf_user_stacks *stacks, uint32_t depth, uint64_t room, struct off_cpu_program *ret)
{
	struct off_cpu_walk_bpf *open = off_cpu_walk_bpf__open();

	if (!open)
		return -errno;
	open->rodata->room = room;
	open->rodata->page_bits = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	open->rodata->depth = depth < USER_STACKS_DEPTH ? depth : USER_STACKS_DEPTH;
	*ret = OFF_CPU_PROGRAM(open);
	ret->python_codes = open->maps.python_codes;
	ret->python_threads = open->maps.python_threads;
	open->rodata->first_python_code = USER_STACKS_OTHERS_CODES;
	const struct user_stacks_maps maps = {.files = open->maps.files,
					      .pythons = open->maps.pythons,
					      .first_rows = open->maps.first_rows,
					      .row_chunks = open->maps.row_chunks,
					      .first_words = open->maps.first_words,
					      .word_chunks = open->maps.word_chunks};
	return bpf_user_stacks_share(stacks, &maps);
}
