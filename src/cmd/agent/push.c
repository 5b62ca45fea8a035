/* perf agent push: recordings that are there already, into the database of many machines.
 *
 *	perf agent push --sink clickhouse://db.example/perf perf.data
 *
 * A recording becomes windows, as the agent would have made them. A window's id is made of the recording's contents, so that whoever pushes
 * a file again changes nothing. */
#include "analysis/samples.h"
#include "app/command.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/from.h"
#include "cmd/hidden_kernel.h"
#include "cmd/opening.h"
#include "fleet/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DETAIL = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES, LABELS_MAX = 64 };
#define SECOND_NS UINT64_C(1000000000)

struct push_options {
	struct input_options input;
	struct output_options output;
	const char *sink, *host;
	uint64_t window_ns;
	struct window_labels labels;
};

struct pushing {
	const struct push_options *options;
	const char *path;
	struct opening opening;
	struct samples *samples;
	/* Two of the same: a sink believes that nobody has had yet what it has encoded, but somebody may have pushed the file before. */
	struct fleet_sink *encoder, *sink;
	uint64_t file_id;    /* what all windows of the recording have in common */
	int64_t wall_offset; /* what makes a time of the recording one since 1970 */
	uint64_t windows, count;
};

/* ---- options ---- */

static struct error *parse_window(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t ns;
	(void)option;
	if (negated || !number_parse_duration(argument, "s", &ns) || ns < SECOND_NS || ns > 3600 * SECOND_NS)
		return error_new_kind(ERROR_USAGE, "invalid length '%s': expected 1s to 1h", argument ? argument : "");
	*(uint64_t *)field = ns;
	return NULL;
}

/* In the order of their names. */
static struct error *parse_label(const struct option *option, const char *argument, bool negated, void *field)
{
	struct window_labels *labels = field;
	const char *equals = strchr(argument, '=');
	(void)option;
	(void)negated;
	if (!equals || equals == argument)
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected NAME=VALUE", argument);
	if (labels->list.len == LABELS_MAX)
		return error_new_kind(ERROR_USAGE, "more than %d labels", LABELS_MAX);
	struct window_label label = {mem_strndup(argument, (size_t)(equals - argument)), equals + 1};
	size_t at = 0;
	while (at < labels->list.len && strcmp(labels->list.data[at].name, label.name) < 0)
		at++;
	if (at < labels->list.len && !strcmp(labels->list.data[at].name, label.name))
		return error_new_kind(ERROR_USAGE, "the label %s is given twice", label.name);
	vec_push(&labels->list, label);
	memmove(labels->list.data + at + 1, labels->list.data + at, (labels->list.len - 1 - at) * sizeof(label));
	labels->list.data[at] = label;
	return NULL;
}

#define TYPE struct push_options
static const struct option push_option_table[] = {
	OPTION_STRING(0, "sink", TYPE, sink, "URL", "where it goes, such as clickhouse://HOST/DATABASE"),
	OPTION_CUSTOM_FLAGS(0, "label", TYPE, labels, "NAME=VALUE", "a label of all samples, such as service=shop; may be repeated",
			    parse_label, OPTION_NO_NEGATION),
	OPTION_STRING(0, "host", TYPE, host, "NAME", "whose samples they are (default: the machine that the recording names)"),
	OPTION_CUSTOM_FLAGS(0, "window", TYPE, window_ns, "TIME", "samples of so long a time are added up (default 60s)", parse_window,
			    OPTION_NO_NEGATION),
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_END,
};

/* ---- the recording ---- */

static struct error *read_recording(struct pushing *pushing)
{
	struct fold_options options;
	struct fold *fold;
	struct input_options input = pushing->options->input;
	input.input = pushing->path;
	const struct opening_options opening = {.input = &input};
	struct error *error = opening_begin(&pushing->opening, &opening);
	if (error)
		return error;
	samples_fold_options(DETAIL, &options);
	error = fold_of_session(pushing->opening.session, pushing->opening.resolver, &options, &fold);
	if (error)
		return error;
	hidden_kernel_warn(fold);
	pushing->samples = samples_of_fold(fold, pushing->opening.resolver, DETAIL, STACK_INLINES_ALL);
	fold_destroy(fold);
	opening_warn(&pushing->opening);
	return pushing->samples->rows.len ? NULL : error_new("%s has no samples: nothing to push", pushing->path);
}

/* When the recording doesn't say it, it ended when its file was written last. */
static void find_time(struct pushing *pushing)
{
	const struct samples *samples = pushing->samples;
	struct stat status;
	if (samples->wall_offset_ns)
		pushing->wall_offset = (int64_t)samples->wall_offset_ns;
	else if (!stat(pushing->path, &status))
		pushing->wall_offset = (int64_t)status.st_mtime * (int64_t)SECOND_NS - (int64_t)samples->last_time;
}

static void mix_in(struct pushing *pushing, const void *data, size_t size)
{
	uint64_t words[2] = {pushing->file_id, hash_id(data, size, 0)};
	pushing->file_id = hash_id(words, sizeof(words), 0);
}

static void mix_text(struct pushing *pushing, const char *text)
{
	mix_in(pushing, text ? text : "", text ? strlen(text) : 0);
}

static void mix_numbers(struct pushing *pushing, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t words[] = {a, b, c, d};
	mix_in(pushing, words, sizeof(words));
}

/* All that its windows will have. */
static void identify(struct pushing *pushing)
{
	const struct samples *samples = pushing->samples;
	const struct push_options *options = pushing->options;
	mix_text(pushing, options->host ? options->host : samples->hostname);
	mix_numbers(pushing, (uint64_t)pushing->wall_offset, options->window_ns, samples->rows.len, samples->stacks.len);
	for (size_t i = 0; i < options->labels.list.len; i++) {
		mix_text(pushing, options->labels.list.data[i].name);
		mix_text(pushing, options->labels.list.data[i].value);
	}
	for (size_t i = 0; i < samples->functions.len; i++)
		mix_text(pushing, samples->functions.data[i].name);
	for (size_t i = 0; i < samples->frames.len; i++) {
		const struct samples_frame *frame = &samples->frames.data[i];
		mix_numbers(pushing, frame->function, frame->file_address, frame->line, 0);
	}
	for (size_t i = 0; i < samples->stacks.len; i++)
		mix_numbers(pushing, samples->stacks.data[i].parent, samples->stacks.data[i].frame, 0, 0);
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *row = &samples->rows.data[i];
		mix_numbers(pushing, row->time, row->period, (uint64_t)row->event << 32 | row->actor,
			    (uint64_t)row->stack << 32 | row->count);
	}
}

/* ---- windows ---- */

static void fill_window(const struct pushing *pushing, uint64_t begin_ns, struct window *window)
{
	const struct samples *samples = pushing->samples;
	const uint64_t words[2] = {pushing->file_id, begin_ns};
	for (uint64_t half = 0; half < 2; half++) {
		uint64_t id = hash_id(words, sizeof(words), half + 1);
		memcpy(window->id + half * sizeof(id), &id, sizeof(id));
	}
	window->host = pushing->options->host ? pushing->options->host : samples->hostname ? samples->hostname : "unknown";
	window->host_id = "";
	window->begin_ns = begin_ns;
	window->end_ns = begin_ns + pushing->options->window_ns;
	for (size_t i = 0; i < pushing->options->labels.list.len; i++)
		vec_push(&window->labels.list, pushing->options->labels.list.data[i]);
	for (size_t i = 0; i < samples->threads.len; i++)
		vec_push(&window->thread_sets, 0);
	for (size_t i = 0; i < window->samples->rows.len; i++)
		window->taken += window->samples->rows.data[i].count;
}

/* Rows from `from` to before `to` are the window's: its samples are those of the recording meanwhile, with these rows. */
static struct error *send_window(struct pushing *pushing, size_t from, size_t to, uint64_t begin_ns)
{
	struct window *window = window_create();
	struct samples *own = window->samples, *samples = pushing->samples;
	__auto_type rows = samples->rows;
	struct strbuf batch = {0};
	struct error *why = NULL;
	samples->rows.data += from;
	samples->rows.len = to - from;
	window->samples = samples;
	fill_window(pushing, begin_ns, window);
	struct error *error = fleet_sink_encode(pushing->encoder, window, &batch);
	if (!error && fleet_sink_send(pushing->sink, window->id, batch.data, batch.len, &why) != SINK_TAKEN)
		error = why;
	pushing->windows++;
	pushing->count += window->taken;
	samples->rows = rows;
	window->samples = own;
	window_destroy(window);
	strbuf_deinit(&batch);
	return error;
}

static int by_time(const void *a, const void *b)
{
	const struct samples_row *x = a, *y = b;
	return x->time < y->time ? -1 : x->time > y->time;
}

static uint64_t begin_of(const struct pushing *pushing, const struct samples_row *row)
{
	uint64_t time = row->time + (uint64_t)pushing->wall_offset;
	return time - time % pushing->options->window_ns;
}

static struct error *send_windows(struct pushing *pushing)
{
	struct samples *samples = pushing->samples;
	struct error *error = NULL;
	qsort(samples->rows.data, samples->rows.len, sizeof(*samples->rows.data), by_time);
	for (size_t from = 0, to; from < samples->rows.len && !error; from = to) {
		uint64_t begin_ns = begin_of(pushing, &samples->rows.data[from]);
		for (to = from + 1; to < samples->rows.len && begin_of(pushing, &samples->rows.data[to]) == begin_ns; to++)
			;
		error = send_window(pushing, from, to, begin_ns);
	}
	return error;
}

static struct error *push(const struct push_options *options, const char *path, struct fleet_sink *encoder, struct fleet_sink *sink)
{
	struct pushing pushing = {.options = options, .path = path, .encoder = encoder, .sink = sink};
	struct error *error = read_recording(&pushing);
	if (!error) {
		find_time(&pushing);
		identify(&pushing);
		error = send_windows(&pushing);
	}
	if (!error)
		log_info("%s: %" PRIu64 " samples in %" PRIu64 " windows", path, pushing.count, pushing.windows);
	samples_destroy(pushing.samples);
	opening_end(&pushing.opening);
	return error_wrap(error, "%s", path);
}

static struct error *push_all(const struct push_options *options, char *const *paths, int count)
{
	struct config config = {0};
	struct fleet_sink_options sink_options = {.name = "push", .url = options->sink};
	struct fleet_sink *encoder = NULL, *sink = NULL;
	struct error *error = config_open(&config);
	fleet_access(&config, &sink_options.http);
	error = error ? error : fleet_sink_open(&sink_options, &encoder);
	error = error ? error : fleet_sink_open(&sink_options, &sink);
	for (int i = 0; i < count && !error; i++)
		error = push(options, paths[i], encoder, sink);
	fleet_sink_close(encoder);
	fleet_sink_close(sink);
	config_close(&config);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct push_options options = {.window_ns = 60 * SECOND_NS};
	char *named[] = {"perf.data"};
	int words;
	(void)ret_status;
	input_options_init(&options.input);
	struct error *error = options_parse(push_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && !options.sink)
		error = error_new_kind(ERROR_USAGE, "say with --sink where it goes, such as clickhouse://HOST/DATABASE");
	if (!error && words && options.input.input)
		error = error_new_kind(ERROR_USAGE, "-i %s: give the recordings as words", options.input.input);
	if (!error && options.input.input)
		named[0] = (char *)options.input.input;
	if (!error)
		error = push_all(&options, words ? argv : named, words ? words : 1);
	for (size_t i = 0; i < options.labels.list.len; i++)
		free((char *)options.labels.list.data[i].name);
	vec_deinit(&options.labels.list);
	return error;
}

static const char *const usage[] = {"--sink URL [FILE]… [--label NAME=VALUE]… [OPTIONS]", NULL};
const struct command cmd_agent_push = {
	"agent push", "Send recordings to a database of many machines", .usage = usage, .options = push_option_table, .run = run,
};
