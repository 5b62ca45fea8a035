/* What the BPF program that filters samples and its loader exchange. */
#pragma once

#include <stdint.h>

enum {
	SAMPLE_FILTER_TERMS_MAX = 64,
	SAMPLE_FILTER_PINNED_MAX = 4096, /* events that the pinned program filters: each CPU's counter is one */
};

/* What a term looks at. */
enum sample_filter_field {
	SAMPLE_FILTER_IP,
	SAMPLE_FILTER_ID,
	SAMPLE_FILTER_TID,
	SAMPLE_FILTER_PID,
	SAMPLE_FILTER_CPU,
	SAMPLE_FILTER_TIME, /* ns, by the clock of the samples */
	SAMPLE_FILTER_ADDR,
	SAMPLE_FILTER_PERIOD,
	SAMPLE_FILTER_TRANSACTION,
	SAMPLE_FILTER_WEIGHT,
	SAMPLE_FILTER_PHYS_ADDR,
	SAMPLE_FILTER_CODE_PAGE_SIZE,
	SAMPLE_FILTER_DATA_PAGE_SIZE,
	SAMPLE_FILTER_DATA_SOURCE,
	SAMPLE_FILTER_SNOOP, /* of the data source: snoop, and snoopx above it */
	SAMPLE_FILTER_UID,
	SAMPLE_FILTER_GID,
};

enum sample_filter_operator {
	SAMPLE_FILTER_EQUAL,
	SAMPLE_FILTER_UNEQUAL,
	SAMPLE_FILTER_GREATER,
	SAMPLE_FILTER_GREATER_EQUAL,
	SAMPLE_FILTER_LESS,
	SAMPLE_FILTER_LESS_EQUAL,
	SAMPLE_FILTER_BITS, /* has one of these bits */
};

/* (field >> shift & mask) OPERATOR value */
struct sample_filter_term {
	uint32_t field, operator_;
	uint32_t shift;
	uint32_t or_next; /* true of the samples for which this term or the next is; else the next must be true as well */
	uint64_t mask, value;
};

struct sample_filter_config {
	uint32_t count;
	struct sample_filter_term terms[SAMPLE_FILTER_TERMS_MAX];
};

/* What the pinned program knows of an event, by its id. */
struct sample_filter_entry {
	uint64_t dropped;
	struct sample_filter_config config;
};
