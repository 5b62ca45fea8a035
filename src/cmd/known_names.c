/* A sorted list, in which words are looked up (known_names.h). */
#include "cmd/known_names.h"

#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void known_names_deinit(struct known_names *names)
{
	vec_deinit(&names->list);
}

void known_names_add(struct known_names *names, const char *name)
{
	vec_push(&names->list, name);
}

void known_names_add_untrusted(struct known_names *names, const struct untrusted *name)
{
	vec_push(&names->list, untrusted_raw(name));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct known_names *names)
{
	size_t kept = 0;
	if (!names->list.len)
		return;
	qsort(names->list.data, names->list.len, sizeof(*names->list.data), by_name);
	for (size_t i = 1; i < names->list.len; i++)
		if (strcmp(names->list.data[kept], names->list.data[i]) != 0)
			names->list.data[++kept] = names->list.data[i];
	names->list.len = kept + 1;
}

static bool has_name(const struct known_names *names, const char *name)
{
	return names->list.len && bsearch(&name, names->list.data, names->list.len, sizeof(*names->list.data), by_name);
}

static void tell(const struct known_names *names, const char *option, const char *what, const char *word)
{
	const char *near = str_nearest_part(word, names->list.data, names->list.len);
	struct strbuf text = {0};
	strbuf_printf(&text, "%s ", option);
	text_add_safe(&text, word, strlen(word));
	strbuf_printf(&text, ": nothing in the recording matches; it has no %s of this name", what);
	if (near) {
		strbuf_add_str(&text, ". Did you mean '");
		text_add_safe(&text, near, strlen(near));
		strbuf_add_str(&text, "'?");
	}
	log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
}

void known_names_check(struct known_names *names, const char *const *words, size_t count, const char *option, const char *what)
{
	sort_names(names);
	for (size_t i = 0; i < count; i++)
		if (!has_name(names, words[i]) && !str_starts_with(words[i], "0x"))
			tell(names, option, what, words[i]);
}

static bool contains(const struct known_names *names, const char *part)
{
	for (size_t i = 0; i < names->list.len; i++)
		if (strstr(names->list.data[i], part))
			return true;
	return false;
}

void known_names_check_part(struct known_names *names, const char *part, const char *option, const char *what)
{
	sort_names(names);
	if (!contains(names, part))
		tell(names, option, what, part);
}
