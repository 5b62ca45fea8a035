/* perf agent push: recordings that exist, as windows of a fleet.
 *
 *	FILE ──► a process that may only read ──► batch ──► sink
 *
 * A recording is read by a child, which gives up its rights first; we, who have the network and the secrets, see no more of it than the
 * batches of its windows. Their ids are made of the recording and its labels, so that engines know them when it is sent again. */
#include "analysis/samples.h"
#include "base/cleanup.h"
#include "base/files/mapping.h"
#include "base/files/whole.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/agent/agent.h"
#include "cmd/hidden_kernel.h"
#include "cmd/opening.h"
#include "fleet/sink.h"
#include "result/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DETAIL = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES };
#define SECOND_NS UINT64_C(1000000000)

struct push_options {
	struct input_options input;
	const char *sink; /* URL */
	const char *host;
	uint64_t window_ns;
	agent_labels labels;
	struct http_options http;
};

static struct error *parse_window(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ns = field;
	if (!number_parse_duration(argument, "s", ns) || *ns < SECOND_NS)
		return error_new_kind(ERROR_USAGE, "invalid length '%s': expected one from 1s on", argument);
	return NULL;
}

static struct error *parse_timeout(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t ns;
	if (!number_parse_duration(argument, "s", &ns) || ns < SECOND_NS || ns > 3600 * SECOND_NS)
		return error_new_kind(ERROR_USAGE, "invalid time '%s': expected 1s to 1h", argument);
	*(unsigned int *)field = (unsigned int)(ns / 1000000);
	return NULL;
}

#define TYPE struct push_options
static const struct option push_option_table[] = {
	OPTION_STRING(0, "sink", TYPE, sink, "URL",
		      "where they go, such as file:///FOLDER, clickhouse://HOST/DATABASE, otlp://HOST; the manual page has all"),
	OPTION_STRING(0, "host", TYPE, host, "NAME", "the machine that they are of (default: what each recording says)"),
	OPTION_CUSTOM_FLAGS(0, "label", TYPE, labels, "NAME=VALUE", "a label of all samples; may be repeated", agent_parse_label,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "window", TYPE, window_ns, "TIME", "samples of so long a time are added up (default 60s)", parse_window,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "timeout", TYPE, http.timeout_ms, "TIME", "wait no longer for an answer (default 30s)", parse_timeout,
			    OPTION_NO_NEGATION),
	OPTION_STRING(0, "token-file", TYPE, http.token_file, "FILE", "its first line says who asks (a bearer token)"),
	OPTION_STRING(0, "password-file", TYPE, http.password_file, "FILE", "its first line is the password of the URL's user"),
	OPTION_STRING(0, "ca-file", TYPE, http.ca_file, "FILE", "certificates that are trusted, instead of the system's"),
	OPTION_STRING(0, "certificate-file", TYPE, http.certificate_file, "FILE", "our own certificate, for servers that ask for one"),
	OPTION_STRING(0, "key-file", TYPE, http.key_file, "FILE", "… and its key"),
	OPTION_SANDBOX(TYPE, input.sandbox),
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_END,
};
#undef TYPE

/* ---- the child ---- */

/* What it hands over for each window: this, and behind it the batch; or a message, at the end. */
struct parcel {
	uint8_t id[16];
	uint64_t samples, size;
	uint32_t error; /* enum error_kind + 1 of a message; 0 = a batch */
};

struct reading {
	const struct push_options *options;
	struct fleet_sink *sink;
	const char *path;
	int fd; /* parcels are written there */
	struct opening opening;
	struct samples *samples;
	uint64_t recording[2]; /* an id, of its bytes and of what is said about it */
	uint64_t offset_ns;    /* what makes a time of the recording one since 1970 */
	struct strbuf batch;
};

static const char *host_of(const struct reading *reading)
{
	const char *said = reading->samples->hostname;
	return reading->options->host ? reading->options->host : said ? said : "unknown";
}

static struct error *identify(struct reading *reading)
{
	const struct push_options *options = reading->options;
	struct strbuf text = {0};
	struct mapping mapping;
	struct stat st;
	cleanup_free char *file =
		!stat(reading->path, &st) && S_ISDIR(st.st_mode) ? mem_printf("%s/data", reading->path) : mem_strdup(reading->path);
	struct error *error = mapping_open(file, &mapping);
	if (error)
		return error;
	strbuf_printf(&text, "%s\n%llu\n", host_of(reading), (unsigned long long)options->window_ns);
	for (size_t i = 0; i < options->labels.len; i++)
		strbuf_printf(&text, "%s=%s\n", options->labels.data[i].name, options->labels.data[i].value);
	for (size_t half = 0; half < 2; half++)
		reading->recording[half] = hash_id(mapping.data, mapping.size, half) ^ hash_mix(hash_id(strbuf_str(&text), text.len, half));
	mapping_close(&mapping);
	strbuf_deinit(&text);
	return NULL;
}

/* Where the recording doesn't tell the time, it ended when its file was written last. */
static void find_time(struct reading *reading)
{
	const struct samples *samples = reading->samples;
	struct stat st;
	reading->offset_ns = samples->wall_offset_ns;
	if (!reading->offset_ns && !stat(reading->path, &st))
		reading->offset_ns = (uint64_t)st.st_mtim.tv_sec * SECOND_NS + (uint64_t)st.st_mtim.tv_nsec - samples->last_time;
}

static struct error *fold_recording(struct reading *reading)
{
	struct fold_options folding;
	struct fold *fold;
	if (!opening_events_sampled(&reading->opening))
		return error_new("%s has no samples: nothing to send", reading->path);
	samples_fold_options(DETAIL, &folding);
	struct error *error = fold_of_session(reading->opening.session, reading->opening.resolver, &folding, &fold);
	if (error)
		return error;
	hidden_kernel_warn(fold);
	reading->samples = samples_of_fold(fold, reading->opening.resolver, DETAIL, STACK_INLINES_ALL);
	fold_destroy(fold);
	return NULL;
}

static struct error *write_parcel(struct reading *reading, struct parcel *parcel)
{
	parcel->size = reading->batch.len;
	if (whole_write(reading->fd, parcel, sizeof(*parcel)) && whole_write(reading->fd, strbuf_str(&reading->batch), reading->batch.len))
		return NULL;
	return error_system(errno, "memory for the windows of %s", reading->path);
}

/* Its samples are those of the recording meanwhile, which have the window's rows. */
static struct error *write_window(struct reading *reading, uint64_t begin_ns)
{
	const struct push_options *options = reading->options;
	struct window *window = window_create();
	struct samples *own = window->samples, *samples = reading->samples;
	window->samples = samples;
	window->host = host_of(reading);
	window->host_id = "";
	window->begin_ns = begin_ns;
	window->end_ns = begin_ns + options->window_ns;
	for (size_t half = 0; half < 2; half++) {
		const uint64_t words[] = {reading->recording[half], begin_ns};
		uint64_t word = hash_id(words, sizeof(words), half);
		memcpy(window->id + half * sizeof(word), &word, sizeof(word));
	}
	for (size_t i = 0; i < options->labels.len; i++)
		vec_push(&window->labels.list, (struct window_label){options->labels.data[i].name, options->labels.data[i].value});
	for (size_t i = 0; i < samples->threads.len; i++)
		vec_push(&window->thread_sets, 0);
	for (size_t i = 0; i < samples->rows.len; i++)
		window->taken += samples->rows.data[i].count;
	struct parcel parcel = {.samples = window->taken};
	memcpy(parcel.id, window->id, sizeof(parcel.id));
	strbuf_clear(&reading->batch);
	struct error *error = fleet_sink_encode(reading->sink, window, &reading->batch);
	error = error ? error : write_parcel(reading, &parcel);
	window->samples = own;
	window_destroy(window);
	return error;
}

static int by_time(const void *a, const void *b)
{
	const struct samples_row *x = a, *y = b;
	return x->time < y->time ? -1 : x->time > y->time;
}

static int by_kind(const void *a, const void *b)
{
	const struct samples_row *x = a, *y = b;
	const uint64_t kinds[] = {(uint64_t)x->event << 32 | x->actor, (uint64_t)y->event << 32 | y->actor};
	return kinds[0] != kinds[1] ? (kinds[0] < kinds[1] ? -1 : 1) : x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Those that are alike are one. */
static void add_up(struct samples_row *rows, size_t count, struct samples *ret)
{
	qsort(rows, count, sizeof(*rows), by_kind);
	ret->rows.len = 0;
	for (size_t i = 0; i < count; i++) {
		struct samples_row *last = ret->rows.len ? vec_last(&ret->rows) : NULL;
		if (last && !by_kind(last, &rows[i])) {
			last->count += rows[i].count;
			last->period += rows[i].period;
		} else {
			vec_push(&ret->rows, rows[i]);
		}
	}
}

static uint64_t window_of(const struct reading *reading, const struct samples_row *row)
{
	uint64_t time = row->time + reading->offset_ns;
	return time - time % reading->options->window_ns;
}

static struct error *write_windows(struct reading *reading)
{
	struct samples *samples = reading->samples;
	size_t count = samples->rows.len;
	struct samples_row *rows = samples->rows.data;
	struct error *error = NULL;
	samples->rows.data = NULL;
	samples->rows.len = samples->rows.cap = 0;
	qsort(rows, count, sizeof(*rows), by_time);
	for (size_t from = 0, to; from < count && !error; from = to) {
		uint64_t begin_ns = window_of(reading, &rows[from]);
		for (to = from + 1; to < count && window_of(reading, &rows[to]) == begin_ns; to++)
			;
		add_up(rows + from, to - from, samples);
		error = write_window(reading, begin_ns);
	}
	free(rows);
	return error;
}

static struct error *read_recording(struct reading *reading)
{
	struct input_options input = reading->options->input;
	input.input = reading->path;
	struct error *error =
		opening_begin(&reading->opening, &(struct opening_options){.input = &input, .confined = "agent", .output = "-"});
	error = error ? error : fold_recording(reading);
	error = error ? error : identify(reading);
	if (error)
		return error;
	find_time(reading);
	error = write_windows(reading);
	if (!error)
		opening_warn(&reading->opening);
	return error;
}

/* Nothing is freed: it is over. */
static void run_child(const struct push_options *options, struct fleet_sink *sink, const char *path, int fd)
{
	struct reading reading = {.options = options, .sink = sink, .path = path, .fd = fd};
	struct error *error = read_recording(&reading);
	if (error) {
		struct parcel parcel = {.error = error_kind(error) + 1u};
		strbuf_clear(&reading.batch);
		strbuf_add_str(&reading.batch, error_message(error));
		error_free(write_parcel(&reading, &parcel));
	}
	_exit(0);
}

/* ---- the parent ---- */

/* The next one; *ret_end: there is none. */
static struct error *read_parcel(const struct mapping *parcels, size_t *place, struct parcel *ret, const uint8_t **ret_batch, bool *ret_end)
{
	size_t left = parcels->size - *place;
	*ret_end = !left;
	if (*ret_end)
		return NULL;
	if (left >= sizeof(*ret))
		memcpy(ret, parcels->data + *place, sizeof(*ret));
	if (left < sizeof(*ret) || ret->size > left - sizeof(*ret))
		return error_new("the process that reads it has said only a part of it");
	*ret_batch = parcels->data + *place + sizeof(*ret);
	*place += sizeof(*ret) + ret->size;
	if (!ret->error)
		return NULL;
	cleanup_free char *message = mem_strndup((const char *)*ret_batch, ret->size);
	return error_new_kind((enum error_kind)(ret->error - 1), "%s", message);
}

static struct error *send_parcels(struct fleet_sink *sink, const struct mapping *parcels, const char *path)
{
	struct parcel parcel;
	const uint8_t *batch = NULL;
	uint64_t samples = 0, windows = 0;
	size_t place = 0;
	char number[32];
	for (bool end = false; !end;) {
		struct error *error = read_parcel(parcels, &place, &parcel, &batch, &end);
		if (!error && !end && fleet_sink_send(sink, parcel.id, batch, parcel.size, &error) == SINK_LATER)
			error = error_wrap(error, "%s: not everything was sent; sending it again stores nothing twice", path);
		if (error)
			return error;
		samples += end ? 0 : parcel.samples;
		windows += !end;
	}
	printf("%s: %s samples sent, %llu window%s\n", path, number_format_grouped(samples, number), (unsigned long long)windows,
	       windows == 1 ? "" : "s");
	return NULL;
}

static struct error *push_file(const struct push_options *options, struct fleet_sink *sink, const char *path)
{
	int status;
	struct mapping parcels;
	cleanup_close int fd = memfd_create("perf-push", MFD_CLOEXEC);
	if (fd < 0)
		return error_system(errno, "memory for the windows of %s", path);
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		return error_system(errno, "a process that reads %s", path);
	if (!child)
		run_child(options, sink, path, fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return error_new("the process that reads %s was ended by signal %d", path, WTERMSIG(status));
	struct error *error = mapping_open_fd(fd, path, &parcels);
	if (error)
		return error;
	error = send_parcels(sink, &parcels, path);
	mapping_close(&parcels);
	return error;
}

static struct error *push_files(const struct push_options *options, const char *const *paths, int count)
{
	const struct fleet_sink_options sink_options = {.name = "--sink", .url = options->sink, .http = options->http};
	struct fleet_sink *sink;
	struct error *error = fleet_sink_open(&sink_options, &sink);
	if (error)
		return error;
	for (int i = 0; i < count && !error; i++)
		error = push_file(options, sink, paths[i]);
	fleet_sink_close(sink);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct push_options options = {.window_ns = 60 * SECOND_NS};
	int words;
	(void)ret_status;
	input_options_init(&options.input);
	struct error *error = options_parse(push_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && !options.sink)
		error = error_new_kind(ERROR_USAGE, "say where the recordings go with --sink URL");
	if (!error && words && options.input.input)
		error = error_new_kind(ERROR_USAGE, "name recordings with -i or without: '%s' is another one", argv[0]);
	const char *one = options.input.input ? options.input.input : "perf.data";
	if (!error)
		error = words ? push_files(&options, (const char *const *)argv, words) : push_files(&options, &one, 1);
	agent_labels_deinit(&options.labels);
	return error;
}

static const char *const usage[] = {"--sink URL [OPTIONS] [FILE...]", NULL};
const struct command cmd_agent_push = {
	.name = "agent push",
	.summary = "Send recordings to an engine of a fleet",
	.usage = usage,
	.options = push_option_table,
	.run = run,
};
