/* What is shown together: results of any kinds, one after the other. */
#pragma once

#include "base/vec.h"

struct annotation;
struct calltree;
struct counting;
struct samples;
struct table;
struct type_layout;

enum result_kind { RESULT_TABLE, RESULT_CALLTREE, RESULT_COUNTING, RESULT_ANNOTATION, RESULT_SAMPLES, RESULT_TYPE_LAYOUT };

struct result {
	enum result_kind kind;
	union { /* by kind; somebody else's */
		const struct table *table;
		const struct calltree *calltree;
		const struct counting *counting;
		const struct annotation *annotation;
		const struct samples *samples;
		const struct type_layout *type_layout;
	};
};

/* All zero is empty. */
struct document {
	VEC(struct result) results;
};

static inline void document_add(struct document *document, struct result result)
{
	vec_push(&document->results, result);
}

static inline void document_deinit(struct document *document)
{
	vec_deinit(&document->results);
}

/* "tables", "call trees", … */
const char *result_kind_name(enum result_kind kind);
