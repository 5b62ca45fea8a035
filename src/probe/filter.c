/* Conditions on names: PATTERN { & PATTERN | | PATTERN }, ! and brackets. */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "probe/probe.h"

#include <string.h>

struct name_filter {
	const char *at, *name;
	bool bad;
};

static bool any(struct name_filter *filter);

static void skip_spaces(struct name_filter *filter)
{
	filter->at += strspn(filter->at, " \t");
}

static bool one(struct name_filter *filter)
{
	skip_spaces(filter);
	if (*filter->at == '!') {
		filter->at++;
		return !one(filter);
	}
	if (*filter->at == '(') {
		filter->at++;
		bool matches = any(filter);
		skip_spaces(filter);
		filter->bad |= *filter->at != ')';
		filter->at += *filter->at == ')';
		return matches;
	}
	size_t len = strcspn(filter->at, "&|!() \t");
	cleanup_free char *pattern = mem_strndup(filter->at, len);
	filter->bad |= !len;
	filter->at += len;
	return str_glob_match(pattern, filter->name);
}

static bool all(struct name_filter *filter)
{
	bool matches = one(filter);

	for (skip_spaces(filter); *filter->at == '&'; skip_spaces(filter)) {
		filter->at++;
		matches = one(filter) && matches;
	}
	return matches;
}

static bool any(struct name_filter *filter)
{
	bool matches = all(filter);

	for (skip_spaces(filter); *filter->at == '|'; skip_spaces(filter)) {
		filter->at++;
		matches = all(filter) || matches;
	}
	return matches;
}

bool probe_filter_matches(const char *filter, const char *name)
{
	struct name_filter state = {filter, name, false};

	return any(&state);
}

struct error *probe_filter_check(const char *text)
{
	struct name_filter state = {text, "", false};

	any(&state);
	if (!state.bad && !*state.at)
		return NULL;
	return error_new_kind(ERROR_USAGE,
			      "invalid filter '%s': expected patterns with * and ?, combined with &, |, ! and parentheses; error at '%s'",
			      text, state.at);
}
