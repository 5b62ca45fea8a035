/* What stacks look like: the text of whole call chains, and of single frames, remembered within bounds. Private to script_*.c; one owner.
 */
#pragma once

#include "analysis/script/internal.h"

void script_stacks_destroy(struct script_stacks *stacks);

/* Adds the sample's stack, a frame a line. */
void script_stacks_add(struct script_text *text, const struct script_sample *at, struct strbuf *out);

/* Adds the address of the sample itself and what is there. */
void script_stacks_add_ip(struct script_text *text, const struct script_sample *at, struct strbuf *out);
