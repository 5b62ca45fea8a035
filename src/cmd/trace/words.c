/* Lists of -e told apart (words.h). A list holds system calls (names, patterns, %classes) and events in any order; one that begins
 * with ! leaves out system calls. */
#include "cmd/trace/words.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "event/parse/parse.h"

#include <errno.h>
#include <stdio.h>
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

/* Nothing in it looks like an event's name: it can only have been meant as a system call. */
static bool is_plain(const char *piece)
{
	return !strpbrk(piece, ":/{");
}

/* ---- groups ---- */

/* Groups of calls that the kernel's tool brings: files with a name a line. */
static const char group_folder[] = "/usr/share/perf-core/strace/groups";

static bool select_listed(struct trace_table *table, FILE *file, bool selected)
{
	char line[256];
	bool found = false;

	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, " \t\n#")] = '\0';
		found |= *line && trace_table_select(table, line, selected);
	}
	return found;
}

/* "file", "string": the group of that name; where it isn't installed, the class. */
static bool select_group(struct trace_table *table, const char *name, bool selected)
{
	cleanup_free char *path = mem_printf("%s/%s", group_folder, name), *class = mem_printf("%%%s", name);
	FILE *file = *name && !strpbrk(name, "/.%") ? fopen(path, "re") : NULL;
	bool found = file && select_listed(table, file, selected);

	if (file)
		fclose(file);
	return found || trace_table_select(table, class, selected);
}

/* "file://PATH": the calls that a file lists. */
static struct error *select_file(struct trace_table *table, const char *path, bool selected)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return error_system(errno, "-e: cannot open %s", path);
	bool found = select_listed(table, file, selected);
	fclose(file);
	return found ? NULL : error_new_kind(ERROR_USAGE, "-e: %s contains no system calls", path);
}

/* The call or class that `word` was probably meant to be, or NULL. */
static const char *nearest_call(const struct trace_table *table, const char *word)
{
	static const char *const classes[] = {"%file", "%desc", "%net", "%process", "%memory", "%signal", "%ipc", "%stat"};
	VEC(const char *) names = {0};

	if (*word == '%')
		return str_nearest(word, classes, sizeof(classes) / sizeof(classes[0]));
	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++)
		if (syscall_name(table->abi, i))
			vec_push(&names, table->calls[i]->name);
	const char *near = names.len ? str_nearest(word, names.data, names.len) : NULL;
	vec_deinit(&names);
	return near;
}

/* ---- lists ---- */

struct pieces {
	struct trace_table *table;
	struct strbuf events; /* those of one list, with commas */
	bool calls;
};

static struct error *take_piece(struct pieces *pieces, const char *piece, bool negated)
{
	if (!*piece)
		return NULL;
	bool listed = str_starts_with(piece, "file://");
	if (listed ||
	    (is_plain(piece) && (trace_table_select(pieces->table, piece, !negated) || select_group(pieces->table, piece, !negated)))) {
		pieces->calls = true;
		return listed ? select_file(pieces->table, piece + strlen("file://"), !negated) : NULL;
	}
	if (negated || *piece == '%') {
		const char *near = nearest_call(pieces->table, piece);
		return error_new_kind(ERROR_USAGE, "-e: unknown system call '%s'%s%s%s", piece, near ? "; did you mean '" : "",
				      near ? near : "", near ? "'?" : "");
	}
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

/* Why a word is neither: the nearest call, or else what is known of events. Takes `error`. */
static struct error *explain_word(const struct trace_table *table, const char *word, struct error *error)
{
	const char *near = nearest_call(table, word);
	struct error *better =
		near ? error_new_kind(ERROR_USAGE, "-e: '%s' is neither a system call nor an event; did you mean '%s'?", word, near)
		     : error_new_kind(ERROR_USAGE, "-e: '%s' is neither a system call nor an event:\n%s", word, error_message(error));

	error_free(error);
	return better;
}

/* The error of the first word that isn't an event, as it concerns system calls, too. Takes `error`. */
static struct error *explain(const struct trace_table *table, struct event_catalog *catalog, const char *text, struct error *error)
{
	while (*text) {
		size_t length = piece_length(text);
		cleanup_free char *word = mem_strndup(text, length);
		struct event_list list = {0};
		struct error *own = is_plain(word) ? event_parse(&list, catalog, word) : NULL;
		event_list_deinit(&list);
		if (own) {
			error_free(error);
			return explain_word(table, word, own);
		}
		text += length + (text[length] == ',');
	}
	return error;
}

static struct error *add_events(struct trace_events *events, const struct trace_table *table, struct event_catalog *catalog,
				const char *text)
{
	struct error *error = event_parse(&events->list, catalog, text);

	if (error)
		return explain(table, catalog, text, error);
	vec_push(&events->words, (struct event_word){.kind = WORD_EVENT, .text = arena_strdup(&events->texts, text)});
	return NULL;
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
			error = error_new_kind(ERROR_USAGE, "--filter must follow the -e of its tracepoint");
		} else if (word->kind == TRACE_WORD_FILTER) {
			vec_push(&ret_events->words, (struct event_word){.kind = WORD_FILTER, .text = word->text});
		} else {
			strbuf_clear(&pieces.events);
			error = take_list(&pieces, word->text);
			events_last = pieces.events.len;
			if (!error && events_last)
				error = add_events(ret_events, table, catalog, strbuf_str(&pieces.events));
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
