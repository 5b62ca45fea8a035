/* Samples added up by the type of the data that they access, and by the offset in it. */
#pragma once

#include "base/error.h"
#include "result/annotation.h"
#include "result/type_layout.h"
#include "session/session.h"
#include "symbol/data/data_access.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A type in a file. */
struct profiled_type {
	const struct data_type *type; /* none that stands for data without one */
	struct dso *dso;
	struct annotation_value *values; /* of each event of the recording */
	uint32_t number;		 /* private */
};

/* How often an instruction was sampled whose data is known, and was not. */
struct profiled_instruction {
	const char *mnemonic;
	uint64_t good, bad;
};

struct data_profile {
	struct profiled_type *types; /* the largest period of the first event first */
	size_t type_count;
	struct annotation_value *totals; /* of each event: all samples */
	size_t event_count;
	uint64_t outcomes[DATA_OUTCOMES], tracked; /* samples; tracked: of those that were found */
	struct profiled_instruction *instructions; /* the most frequent first */
	size_t instruction_count;
	struct data_profile_private *private;
};

struct data_profile_options {
	bool (*wanted)(void *context, const struct dso *dso, const struct symbol *symbol); /* of functions; `symbol` may be NULL */
	void *context;
};

/* Reads all samples that pass the session's filter. Session and resolver must outlive it. */
struct error *data_profile_create(struct session *session, struct resolver *resolver, const struct data_profile_options *options,
				  struct data_profile **ret);
void data_profile_destroy(struct data_profile *profile);
/* The type with what these events have in it; the names of the events, and how it is shown, are left to the caller. */
struct type_layout *data_profile_layout(const struct data_profile *profile, const struct profiled_type *type, const unsigned int *events,
					size_t event_count);
