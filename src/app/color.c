/* The choice of colours. */
#include "app/color.h"

#include "app/pager.h"

#include <string.h>
#include <unistd.h>

struct error *color_choice_option(const struct option *option, const char *argument, bool negated, void *field)
{
	static const char *const choices[] = {[COLOR_ON_TERMINALS] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (!strcmp(argument, choices[i])) {
			*(enum color_choice *)field = (enum color_choice)i;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "invalid value '%s': use always, never or auto", argument);
}

bool color_wanted(enum color_choice choice)
{
	return choice == COLOR_ALWAYS || (choice == COLOR_ON_TERMINALS && output_color());
}

bool color_of_output(enum color_choice choice, int fd)
{
	return choice == COLOR_ALWAYS || (choice == COLOR_ON_TERMINALS && isatty(fd) && terminal_takes_color());
}
