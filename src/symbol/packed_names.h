/* Names of which few are ever asked for, as those of the kernel: packed in blocks, a fifth of what they are. Thread-safe once they are
 * complete. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct packed_names;

struct packed_names *packed_names_create(void);
/* Returns its place; there are at most 4 GB of them. Longer ones than a block, which the kernel has none of, are cut. */
uint32_t packed_names_add(struct packed_names *names, const char *name);
/* All were added. */
void packed_names_end(struct packed_names *names);
/* The name at a place, freed by the caller. */
char *packed_names_get(struct packed_names *names, uint32_t place);
size_t packed_names_bytes(const struct packed_names *names);
void packed_names_destroy(struct packed_names *names);
