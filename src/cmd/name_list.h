/* A list of names given as "a,b,c", or as file://PATH with one name a line. */
#pragma once

#include "app/options.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>

/* All zero is empty. */
struct name_list {
	VEC(const char *) names;
	char *text; /* owns them */
};

/* Replaces what was in it. */
struct error *name_list_set(struct name_list *list, const char *text);
/* Frees the names as well. */
void name_list_deinit(struct name_list *list);
bool name_list_has(const struct name_list *list, const char *name);
/* name_list_set() for rows of option tables. */
option_parse_fn name_list_option;
