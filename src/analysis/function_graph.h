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

/* Calls by how long they took: the first bucket below 1 unit, then doubling, the last without an end. */
enum { LATENCY_BUCKETS = 22 };
struct latency_histogram {
	uint64_t counts[LATENCY_BUCKETS];
	uint64_t calls, total_ns, longest_ns, shortest_ns;
};
void latency_histogram_add(struct latency_histogram *histogram, uint64_t ns, bool in_ns);
