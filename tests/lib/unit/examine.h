/* For tests and fuzz targets: everything that the reader can do with a recording, done once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct examined {
	int opened; /* 0: reader_open() returned an error */
	uint64_t records;
	uint64_t samples; /* decoded */
	uint64_t broken;  /* samples that could not be, or of no known event */
	uint64_t sum;	  /* over all that was decoded, so that nothing is optimised away: equal for equal content */
};

/* Opens the bytes as a recording (by way of a memory file), walks all records, decodes the samples, prints header and dump. */
struct examined examine_recording(const void *data, size_t size);
/* A whole file, to be freed; ends the program when it cannot be read. */
uint8_t *read_test_file(const char *name, size_t *ret_size);
