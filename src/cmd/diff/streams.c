/* perf diff --stream: on which ways code came to where it was sampled, in two recordings with branch records. */
#include "cmd/diff/diff.h"

#include "analysis/diff/streams.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_STREAMS = 20, COLUMN_WIDTH = 35 };

/* Those of an event in both recordings. */
struct both {
	const struct diff *diff;
	struct intern names;
	struct streams *files[2];
	const struct hot_stream **matches; /* of the old ones: the new one that is the same, or NULL */
	bool *matched;			   /* of the new ones */
};

static struct error *find(struct both *both, size_t index)
{
	struct diff_file *file = &both->diff->files[index];
	struct report *report = &file->report;
	if (!(file->event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
		return error_new("%s: --stream: its event '%s' has no branch records; record with -b", file->path, file->event->name);
	const struct streams_options options = {.event = file->event,
						.accept = report_accept,
						.context = report,
						.most = HOT_STREAMS,
						.full_path = both->diff->options->report.full_source_path,
						.names = &both->names};
	return streams_create(report->session, report->opening.resolver, &options, &both->files[index]);
}

static void match(struct both *both)
{
	const struct streams *old = both->files[0], *new = both->files[1];
	both->matches = mem_zalloc_array(old->count + 1, sizeof(*both->matches));
	both->matched = mem_zalloc_array(new->count + 1, sizeof(*both->matched));
	for (size_t i = 0; i < old->count; i++)
		for (size_t k = 0; k < new->count && !both->matches[i]; k++)
			if (!both->matched[k] && hot_stream_is_same(&old->list[i], &new->list[k])) {
				both->matches[i] = &new->list[k];
				both->matched[k] = true;
			}
}

static double share(const struct streams *streams, const struct hot_stream *stream)
{
	return streams->hits ? 100 * (double)stream->hits / (double)streams->hits : 0;
}

static uint64_t average(const struct hot_stream *stream)
{
	return stream->cycles / stream->hits;
}

/* ---- text ---- */

static const char *head_of(const struct streams *streams, const struct hot_stream *stream, char text[64])
{
	snprintf(text, 64, "cycles: %" PRIu64 ", hits: %.2f%%", average(stream), share(streams, stream));
	return text;
}

/* Columns of the old recording and the new one; NULL = an empty one. */
static void print_line(const char *old, const char *new)
{
	struct strbuf safe[2] = {0};
	const char *const texts[] = {old, new};
	for (size_t i = 0; i < 2; i++)
		if (texts[i])
			text_add_safe(&safe[i], texts[i], strlen(texts[i]));
	printf(new ? "%*s\t%*s\n" : "%*s\n", COLUMN_WIDTH, strbuf_str(&safe[0]), COLUMN_WIDTH, strbuf_str(&safe[1]));
	strbuf_deinit(&safe[0]);
	strbuf_deinit(&safe[1]);
}

static void print_stream(const struct both *both, const struct hot_stream *old, const struct hot_stream *new)
{
	static const char rule[] = "--------------------------";
	char heads[2][64];
	const struct hot_stream *any = old ? old : new;
	print_line(old ? head_of(both->files[0], old, heads[0]) : NULL, new ? head_of(both->files[1], new, heads[1]) : NULL);
	print_line(old ? rule : NULL, new ? rule : NULL);
	for (size_t i = 0; i < any->count; i++)
		print_line(old ? any->places[i] : NULL, new ? any->places[i] : NULL);
	putchar('\n');
}

static void print_text(const struct both *both)
{
	const struct streams *old = both->files[0], *new = both->files[1];
	size_t number = 0;
	printf("[ Matched hot streams ]\n\n");
	for (size_t i = 0; i < old->count; i++)
		if (both->matches[i]) {
			printf("hot chain pair %zu:\n", ++number);
			print_stream(both, &old->list[i], both->matches[i]);
		}
	number = 0;
	printf("[ Hot streams in old perf data only ]\n\n");
	for (size_t i = 0; i < old->count; i++)
		if (!both->matches[i]) {
			printf("hot chain %zu:\n", ++number);
			print_stream(both, &old->list[i], NULL);
		}
	number = 0;
	printf("[ Hot streams in new perf data only ]\n\n");
	for (size_t i = 0; i < new->count; i++)
		if (!both->matched[i]) {
			printf("hot chain %zu:\n", ++number);
			print_stream(both, NULL, &new->list[i]);
		}
}

/* ---- for programs ---- */

static void add_row(struct table *table, const struct both *both, const struct hot_stream *old, const struct hot_stream *new)
{
	const struct hot_stream *any = old ? old : new;
	struct strbuf text = {0};
	for (size_t i = 0; i < any->count; i++)
		strbuf_printf(&text, "%s%s", i ? ";" : "", any->places[i]);
	const union cell cells[] = {
		{.text = old && new ? "both"
			 : old	    ? "old"
				    : "new"},
		{.real = old ? share(both->files[0], old) : 0},
		{.integer = old ? average(old) : 0},
		{.real = new ? share(both->files[1], new) : 0},
		{.integer = new ? average(new) : 0},
		{.text = arena_strdup(&table->arena, strbuf_str(&text))},
	};
	table_add_row(table, cells);
	strbuf_deinit(&text);
}

static struct error *print_table(const struct both *both)
{
	static const struct column columns[] = {
		{.id = "recordings", .title = "Recordings", .kind = COLUMN_TEXT},
		{.id = "old_hits", .title = "Old hits", .kind = COLUMN_PERCENT, .align = ALIGN_RIGHT, .decimals = 2},
		{.id = "old_cycles", .title = "Old cycles", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "new_hits", .title = "New hits", .kind = COLUMN_PERCENT, .align = ALIGN_RIGHT, .decimals = 2},
		{.id = "new_cycles", .title = "New cycles", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "stream", .title = "Stream", .kind = COLUMN_TEXT},
	};
	const struct streams *old = both->files[0], *new = both->files[1];
	struct table *table = table_create_columns("streams", columns, sizeof(columns) / sizeof(*columns));
	table->subject_id = "event";
	table->subject = both->diff->files[0].event->name;
	for (size_t i = 0; i < old->count; i++)
		add_row(table, both, &old->list[i], both->matches[i]);
	for (size_t i = 0; i < new->count; i++)
		if (!both->matched[i])
			add_row(table, both, NULL, &new->list[i]);
	return view_print_table(both->diff->options->report.format, table, stdout);
}

struct error *diff_streams(const struct diff *diff)
{
	struct both both = {.diff = diff};
	struct error *error = find(&both, 0);
	if (!error)
		error = find(&both, 1);
	if (!error)
		match(&both);
	if (!error && diff->options->report.format)
		error = print_table(&both);
	else if (!error)
		print_text(&both);
	free(both.matches);
	free(both.matched);
	streams_destroy(both.files[0]);
	streams_destroy(both.files[1]);
	intern_deinit(&both.names);
	return error;
}
