/* Reading filters of addresses (address_filter.h). What names mean is found out later: capture/traces/trace_filter.h. */
#include "event/address_filter.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct filter_text {
	const char *whole, *at;
	struct arena *arena;
};

/* The error points at `text->at`. */
static struct error *expected(const struct filter_text *text, const char *what)
{
	struct strbuf before = {0}, message = {0};

	text_add_safe(&before, text->whole, (size_t)(text->at - text->whole));
	strbuf_printf(&message, "--filter: expected %s\n  %s", what, strbuf_str(&before));
	text_add_safe(&message, text->at, strlen(text->at));
	strbuf_add_str(&message, "\n  ");
	strbuf_add_chars(&message, ' ', text_width(strbuf_str(&before), before.len));
	strbuf_add_str(&message, "^ filters of addresses: filter|start|stop|tracestop START [/ END or SIZE] [@FILE], with a space behind "
				 "each name: 'filter main @./program'");
	struct error *error = error_new_kind(ERROR_USAGE, "%s", strbuf_str(&message));
	strbuf_deinit(&message);
	strbuf_deinit(&before);
	return error;
}

static void skip(struct filter_text *text, const char *characters)
{
	text->at += strspn(text->at, characters);
}

/* Up to one of the characters, which isn't taken; NULL where nothing is. */
static const char *take_word(struct filter_text *text, const char *until)
{
	size_t length = strcspn(text->at, until);
	const char *word = length ? arena_strndup(text->arena, text->at, length) : NULL;

	text->at += length;
	return word;
}

static struct error *take_number(struct filter_text *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text->at, &end, 0);
	if (errno)
		return expected(text, "a number of 64 bits");
	text->at = end;
	return NULL;
}

/* "#2", "#g": which of those of one name. */
static struct error *take_which(struct filter_text *text, int *ret)
{
	uint64_t number = 0;

	*ret = ADDRESS_ONLY;
	skip(text, " ");
	if (*text->at != '#')
		return NULL;
	text->at++;
	if (*text->at == 'g' || *text->at == 'G') {
		text->at++;
		*ret = ADDRESS_GLOBAL;
		return NULL;
	}
	const char *begin = text->at;
	struct error *error = isdigit((unsigned char)*begin) ? take_number(text, &number) : expected(text, "a number, or g");
	if (!error && number > INT_MAX) {
		text->at = begin;
		error = expected(text, "a smaller number");
	}
	if (!error)
		*ret = (int)number;
	return error;
}

static struct error *take_place(struct filter_text *text, const char *what, struct address_place *ret)
{
	skip(text, " ");
	if (isdigit((unsigned char)*text->at))
		return take_number(text, &ret->number);
	ret->name = take_word(text, " ");
	return ret->name ? take_which(text, &ret->which) : expected(text, what);
}

static struct error *take_action(struct filter_text *text, struct address_filter *filter)
{
	static const struct {
		const char *name, *kernel_name;
		bool is_range;
	} ACTIONS[] = {{"filter", "filter", true}, {"start", "start", false}, {"stop", "stop", false}, {"tracestop", "stop", true}};
	const char *begin = text->at, *word = take_word(text, " ");

	for (size_t i = 0; word && i < sizeof(ACTIONS) / sizeof(ACTIONS[0]); i++) {
		if (strcmp(word, ACTIONS[i].name))
			continue;
		filter->action = ACTIONS[i].kernel_name;
		filter->is_range = ACTIONS[i].is_range;
		return NULL;
	}
	text->at = begin;
	return expected(text, "filter, start, stop or tracestop");
}

static struct error *take_filter(struct filter_text *text, struct address_filter *filter)
{
	struct error *error = take_action(text, filter);

	if (!error)
		error = take_place(text, "where it begins: a function or an address", &filter->begin);
	skip(text, " ");
	if (!error && *text->at == '/') {
		text->at++;
		filter->is_range = filter->has_end = true;
		error = take_place(text, "where it ends: a function or a size", &filter->end);
	}
	skip(text, " ");
	if (error || *text->at != '@')
		return error;
	text->at++;
	skip(text, " ");
	filter->file = take_word(text, " ,");
	return filter->file ? NULL : expected(text, "a file");
}

struct error *address_filters_parse(const char *text, struct address_filters *ret)
{
	struct filter_text rest = {.whole = text, .at = text, .arena = &ret->arena};
	struct error *error = NULL;

	skip(&rest, " ,");
	do {
		struct address_filter filter = {0};
		error = take_filter(&rest, &filter);
		if (!error && filter.is_range && !filter.has_end && !filter.begin.name)
			error = expected(&rest, "a size, as in 'filter 0x1000 / 0x20'");
		vec_push(&ret->filters, filter);
		skip(&rest, " ,");
	} while (!error && *rest.at);
	return error;
}

void address_filters_deinit(struct address_filters *filters)
{
	vec_deinit(&filters->filters);
	arena_deinit(&filters->arena);
}

bool address_place_is_all(const struct address_place *place)
{
	return place->name && !strcmp(place->name, "*");
}
