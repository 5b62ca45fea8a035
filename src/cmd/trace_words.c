/* Lists of -e told apart (trace_words.h). A list holds system calls (names, patterns, %classes) and events in any order; one that begins with ! leaves out
 * system calls. */
#include "cmd/trace_words.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "event/parse.h"

#include <string.h>

static struct error *add_word(struct trace_words *words, int kind, const char *text)
{
	vec_push(words, (struct trace_word){.kind = kind, .text = text});
	return NULL;
}

struct error *trace_words_parse_list(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, TRACE_WORD_LIST, argument);
}

struct error *trace_words_parse_filter(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, TRACE_WORD_FILTER, argument);
}

/* The length of the first piece of a list: up to a comma that is neither between slashes nor in braces. */
static size_t piece_length(const char *list)
{
	unsigned int depth = 0;
	bool terms = false;
	size_t i;

	for (i = 0; list[i] && (list[i] != ',' || depth || terms); i++) {
		terms ^= list[i] == '/';
		depth += list[i] == '{';
		depth -= list[i] == '}' && depth;
	}
	return i;
}

struct pieces {
	struct trace_table *table;
	struct strbuf events; /* those of one list, with commas */
	bool calls;
};

/* Nothing in it looks like an event's name: it can only have been meant as a system call. */
static bool is_plain(const char *piece)
{
	return !strpbrk(piece, ":/{");
}

static struct error *take_piece(struct pieces *pieces, const char *piece, bool negated)
{
	if (!*piece)
		return NULL;
	if (is_plain(piece) && trace_table_select(pieces->table, piece, !negated)) {
		pieces->calls = true;
		return NULL;
	}
	if (negated || *piece == '%')
		return error_new_kind(ERROR_USAGE, "-e: there is no system call '%s'", piece);
	if (pieces->events.len)
		strbuf_add_char(&pieces->events, ',');
	strbuf_add_str(&pieces->events, piece);
	return NULL;
}

static struct error *take_list(struct pieces *pieces, const char *list)
{
	bool negated = *list == '!' || *list == '~';
	struct error *error = NULL;

	list += negated;
	if (negated)
		trace_table_select_all(pieces->table, true);
	while (!error && *list) {
		size_t length = piece_length(list);
		cleanup_free char *piece = mem_strndup(list, length);
		error = take_piece(pieces, piece, negated);
		list += length + (list[length] == ',');
	}
	return error;
}

static struct error *add_events(struct trace_events *events, struct event_catalog *catalog, const char *text)
{
	struct error *error = event_parse(&events->list, catalog, text);

	if (error && is_plain(text)) {
		struct error *both = error_new_kind(ERROR_USAGE, "-e: '%s' is neither a system call nor an event:\n%s", text, error_message(error));
		error_free(error);
		return both;
	}
	if (!error)
		vec_push(&events->words, (struct event_word){.kind = WORD_EVENT, .text = arena_strdup(&events->texts, text)});
	return error;
}

struct error *trace_words_apply(const struct trace_words *words, struct trace_table *table, struct event_catalog *catalog,
				struct trace_events *ret_events, bool *ret_calls)
{
	struct pieces pieces = {.table = table};
	struct error *error = NULL;
	bool events_last = false, asked = false;

	for (size_t i = 0; i < words->len; i++)
		asked |= words->data[i].kind == TRACE_WORD_LIST;
	if (asked)
		trace_table_select_all(table, false);
	for (size_t i = 0; i < words->len && !error; i++) {
		const struct trace_word *word = &words->data[i];
		if (word->kind == TRACE_WORD_FILTER && !events_last) {
			error = error_new_kind(ERROR_USAGE, "--filter belongs behind the -e of its tracepoint");
		} else if (word->kind == TRACE_WORD_FILTER) {
			vec_push(&ret_events->words, (struct event_word){.kind = WORD_FILTER, .text = word->text});
		} else {
			strbuf_clear(&pieces.events);
			error = take_list(&pieces, word->text);
			events_last = pieces.events.len;
			if (!error && events_last)
				error = add_events(ret_events, catalog, strbuf_str(&pieces.events));
		}
	}
	strbuf_deinit(&pieces.events);
	*ret_calls = pieces.calls;
	if (!error && ret_events->words.len) { /* once more, all together: filters are checked */
		event_list_deinit(&ret_events->list);
		error = event_words_apply(&ret_events->words, &ret_events->list, catalog, true);
	}
	return error;
}

void trace_events_deinit(struct trace_events *events)
{
	vec_deinit(&events->words);
	event_list_deinit(&events->list);
	arena_deinit(&events->texts);
}
