/* Which languages there are, and which one a script is in. */
#include "language/language.h"

#include <string.h>
#include <strings.h>

static const struct language_ops *const languages[] = {&language_python, &language_perl};
enum { LANGUAGES = sizeof(languages) / sizeof(*languages) };

const char *language_names(void)
{
	return "python, perl";
}

/* `word` has `length` bytes and no end. */
static bool same(const char *word, const char *name, size_t length)
{
	return strlen(word) == length && strncasecmp(word, name, length) == 0;
}

const struct language_ops *language_find(const char *name, size_t length)
{
	for (size_t i = 0; i < LANGUAGES; i++)
		if (same(languages[i]->name, name, length) || same(languages[i]->suffix, name, length))
			return languages[i];
	return NULL;
}

/* What stands before a colon is a language only if there is one of that name: paths may have colons. */
const struct language_ops *language_of_script(const char *text, const char **ret_path)
{
	const char *colon = strchr(text, ':'), *dot = strrchr(text, '.');
	const struct language_ops *found = colon ? language_find(text, (size_t)(colon - text)) : NULL;
	*ret_path = found ? colon + 1 : text;
	if (!found && dot)
		found = language_find(dot + 1, strlen(dot + 1));
	return found;
}

/* ASCII, whatever the locale says. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* No leading underscore: names like __import__ are Python's own. */
bool language_is_identifier(const char *text)
{
	if (!is_letter(*text))
		return false;
	while (is_letter(*text) || (*text >= '0' && *text <= '9') || *text == '_')
		text++;
	return !*text;
}

/* Inlined functions only where stacks were unwound, as the kernel's tool has it. */
struct stack_options language_stack_options(const struct language_setup *setup)
{
	return (struct stack_options){
		.max_depth = setup->max_stack,
		.inlines = setup->inlines ? STACK_INLINES_UNWOUND : STACK_INLINES_NONE,
		.stitcher = setup->stitcher,
	};
}
