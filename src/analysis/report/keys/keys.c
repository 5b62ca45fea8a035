/* The table of keys and how names find them. Values are made in keys_place.c, keys_extra.c, keys_memory.c and keys_trace.c. */
#include "analysis/report/keys/keys_internal.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define SET(...) __VA_ARGS__,
#define IDENTIFY(function) .identify = (function),
#define STRING(function) .string = (function),
#define NUMBER(function) .number = (function),
#define TEXT(function) .text = (function),
#define LENGTH(function) .length = (function),
#define TOTAL(n, a, t, which, k, w) \
	{.name = n, .alias = a, .title = t, .domain = KEY_TOTAL, .total = which, .kind = k, .align = ALIGN_RIGHT, .width = w},
#define ACTOR(n, t, w, functions) {.name = n, .title = t, .domain = KEY_ACTOR, .width = w, .words = 1, functions},
#define PLACE(n, a, t, f, ident, nwords, functions) \
	{.name = n, .alias = a, .title = t, .domain = KEY_PLACE, .flags = f, .identify = ident, .words = nwords, functions},
#define STACK(n, t, ident, functions) {.name = n, .title = t, .domain = KEY_STACK, .words = 1, .identify = ident, functions},
#define EXTRA(n, t, w, f, ext, functions) \
	{.name = n, .title = t, .domain = KEY_EXTRA, .width = w, .flags = f, .extract = ext, .words = 1, functions},

const struct key key_table[] = {
#include "analysis/report/keys/keys.def"
	{.name = NULL},
};

static bool name_matches(const struct key *key, const char *name)
{
	size_t length = strlen(name);
	return !strncasecmp(key->name, name, length) || (key->alias && !strncasecmp(key->alias, name, length));
}

const struct key *key_find(const char *name, bool branch_mode)
{
	if (!*name)
		return NULL;
	for (const struct key *key = key_table; key->name; key++)
		if (!strcmp(key->name, name) || (key->alias && !strcmp(key->alias, name)))
			return key;
	for (const struct key *key = key_table; key->name; key++)
		if (name_matches(key, name) && !(key->flags & KEY_HIDDEN))
			return key;
	return NULL;
}

const char *key_nearest(const char *name)
{
	VEC(const char *) names = {0};
	for (const struct key *key = key_table; key->name; key++)
		if (!(key->flags & KEY_HIDDEN))
			vec_push(&names, key->name);
	const char *nearest = str_nearest(name, names.data, names.len);
	vec_deinit(&names);
	return nearest;
}

void key_names(struct strbuf *out, unsigned int margin, unsigned int width)
{
	unsigned int longest = 0, column = 0;
	for (const struct key *key = key_table; key->name; key++)
		if (!(key->flags & KEY_HIDDEN) && strlen(key->name) > longest)
			longest = (unsigned int)strlen(key->name);
	for (const struct key *key = key_table; key->name; key++) {
		if (key->flags & KEY_HIDDEN)
			continue;
		bool full = column && column + 2 + longest > width;
		if (full)
			strbuf_add_char(out, '\n');
		if (full || !column) {
			strbuf_add_chars(out, ' ', margin);
			column = margin;
		} else {
			strbuf_add_chars(out, ' ', 2);
			column += 2;
		}
		const struct key *next = key + 1;
		while (next->name && (next->flags & KEY_HIDDEN))
			next++;
		unsigned int length = (unsigned int)strlen(key->name);
		strbuf_add_str(out, key->name);
		column += longest;
		if (next->name && column + 2 + longest <= width)
			strbuf_add_chars(out, ' ', longest - length);
	}
}
