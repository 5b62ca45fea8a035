/* Times of function calls from the text of the kernel's function_graph tracer, with names behind the ends of functions:
 *
 *	 1)               |  vfs_read() {
 *	 1)   0.123 us    |    rw_verify_area();
 *	 1) + 10.500 us   |  } / * vfs_read * /          (without the spaces)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_call {
	const char *name; /* within the line, not terminated */
	size_t name_len;
	uint64_t ns;
};
/* One line; false when no call ends in it. */
bool function_graph_parse(const char *line, size_t size, struct function_call *ret);
