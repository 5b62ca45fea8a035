/* Views by name. */
#include "view/view.h"

#include <string.h>

const struct view_ops *view_find(const char *name)
{
	for (const struct view_ops *const *view = view_list; *view; view++)
		if (strcmp((*view)->name, name) == 0)
			return *view;
	return NULL;
}
