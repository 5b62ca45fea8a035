/* The kinds of results. */
#include "result/document.h"

const char *result_kind_name(enum result_kind kind)
{
	static const char *const names[] = {
		[RESULT_TABLE] = "tables",    [RESULT_CALLTREE] = "call trees",	   [RESULT_COUNTING] = "counts",
		[RESULT_ANNOTATION] = "code", [RESULT_SAMPLES] = "single samples", [RESULT_TYPE_LAYOUT] = "types of data"};
	return names[kind];
}
