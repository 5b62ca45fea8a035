/* --stdio-color: whether text is coloured. */
#pragma once

#include "app/options.h"

#include <stdbool.h>

enum color_choice { COLOR_ON_TERMINALS, COLOR_ALWAYS, COLOR_NEVER };

/* For rows of option tables; the field is an enum color_choice. */
option_parse_fn color_choice_option;
/* Call it after pager_start(). */
bool color_wanted(enum color_choice choice);
/* The same of what is written to a descriptor without a pager. */
bool color_of_output(enum color_choice choice, int fd);
