/* Cells as text for people. */
#pragma once

#include "result/table.h"

/* Adds the text of a cell, made harmless, without padding; `width`: of the column, by which decimals are aligned; 0 = none. */
void cell_add(const struct column *column, union cell cell, unsigned int width, struct strbuf *out);
