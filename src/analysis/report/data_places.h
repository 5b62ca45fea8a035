/* Addresses that samples of memory accesses tell, resolved: each once, so that equal places have equal pointers. */
#pragma once

#include "model/machine.h"
#include "symbol/resolve.h"

#include <stdint.h>

struct data_place {
	uint64_t address;	     /* in memory */
	uint64_t dso_addr;	     /* map_to_dso(); = address without a map */
	const struct dso *dso;	     /* NULL = nothing was mapped there */
	const struct symbol *symbol; /* NULL = none */
	uint8_t cpumode;
	bool shared;  /* a shared mapping of a file, that isn't code */
	uint32_t pid; /* of cache lines of private memory: whose; else 0 */
};

struct data_places;
struct data_places *data_places_create(struct resolver *resolver);
void data_places_destroy(struct data_places *places);

/* All three are thread-safe. Places live as long as `places`. `cpumode` is the sample's. */

/* Where data is: kernel or user space is told by the address. */
const struct data_place *data_places_data(struct data_places *places, const struct thread *thread, uint8_t cpumode, uint64_t address,
					  uint64_t time);
/* Where code is. */
const struct data_place *data_places_code(struct data_places *places, const struct thread *thread, uint8_t cpumode, uint64_t address,
					  uint64_t time);
/* The cache line (of 64 bytes) that data is in. Its addresses are the line's; lines of shared files and of the kernel are the same for all
 * processes. Its symbol is what covers the line's beginning, else the first that begins in it. */
const struct data_place *data_places_line(struct data_places *places, const struct thread *thread, uint8_t cpumode, uint64_t address,
					  uint64_t time);
