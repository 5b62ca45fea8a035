/* perf agent push: recordings that exist, as windows of a fleet.
 *
 *	FILE ──► a process that may only read ──► batch ──► sink
 *
 * Each recording is one window. It is read by a child, which gives up its rights first; we, who have the network and the secrets, see no
 * more of it than the batch. Its id is made of the recording and the labels, so that engines know it when it is sent again. */
#include "analysis/samples.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/files/mapping.h"
#include "base/files/whole.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/opening.h"
#include "fleet/sink.h"
#include "result/window.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef VEC(struct window_label) label_list;

struct push_options {
	struct input_options input;
	const char *to;
	const char *host;
	label_list labels;
	struct http_options http;
};

static bool is_label_name(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!islower((unsigned char)name[i]) && name[i] != '_' && !(i && isdigit((unsigned char)name[i])))
			return false;
	return length;
}

/* In the order of names; the last value of a name holds. */
static struct error *parse_label(const struct option *option, const char *argument, bool negated, void *field)
{
	label_list *labels = field;
	const char *equals = strchr(argument, '=');
	if (!equals || !is_label_name(argument, (size_t)(equals - argument)))
		return error_new_kind(ERROR_USAGE, "expected NAME=VALUE, with lower-case letters, digits and '_' in the name");
	char *name = mem_strndup(argument, (size_t)(equals - argument));
	size_t place = 0;
	while (place < labels->len && strcmp(labels->data[place].name, name) < 0)
		place++;
	if (place < labels->len && !strcmp(labels->data[place].name, name)) {
		labels->data[place].value = equals + 1;
		free(name);
		return NULL;
	}
	vec_push(labels, (struct window_label){0});
	memmove(labels->data + place + 1, labels->data + place, (labels->len - 1 - place) * sizeof(*labels->data));
	labels->data[place] = (struct window_label){name, equals + 1};
	return NULL;
}

#define TYPE struct push_options
static const struct option push_option_table[] = {
	OPTION_STRING(0, "to", TYPE, to, "URL",
		      "where they go, such as file:///FOLDER, clickhouse://HOST/DATABASE, otlp://HOST; the manual page has all"),
	OPTION_STRING(0, "host", TYPE, host, "NAME", "the machine that they are of (default: what each recording says)"),
	OPTION_CUSTOM_FLAGS(0, "label", TYPE, labels, "NAME=VALUE", "a label of all samples; may be repeated", parse_label,
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

/* What it hands over: this, and behind it the batch or a message. */
struct parcel {
	uint8_t id[16];
	uint64_t samples, size;
	uint32_t error; /* enum error_kind + 1 of a message; 0 = a batch */
};

static struct error *make_id(const struct push_options *options, const char *host, const char *path, uint8_t ret[16])
{
	struct strbuf text = {0};
	struct mapping mapping;
	struct stat st;
	cleanup_free char *file = !stat(path, &st) && S_ISDIR(st.st_mode) ? mem_printf("%s/data", path) : mem_strdup(path);
	struct error *error = mapping_open(file, &mapping);
	if (error)
		return error;
	strbuf_printf(&text, "%s\n", host);
	for (size_t i = 0; i < options->labels.len; i++)
		strbuf_printf(&text, "%s=%s\n", options->labels.data[i].name, options->labels.data[i].value);
	for (uint64_t half = 0; half < 2; half++) {
		uint64_t word = hash_id(mapping.data, mapping.size, half) ^ hash_mix(hash_id(text.data, text.len, half));
		memcpy(ret + half * sizeof(word), &word, sizeof(word));
	}
	mapping_close(&mapping);
	strbuf_deinit(&text);
	return NULL;
}

/* By the recording's clock; where that can't be told, it ended when the file was written last. */
static void set_times(const char *path, struct window *window)
{
	const struct samples *samples = window->samples;
	struct stat st;
	uint64_t length = samples->last_time - samples->first_time, end = samples->last_time + samples->wall_offset_ns;
	if (!samples->wall_offset_ns && !stat(path, &st))
		end = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	window->begin_ns = end > length ? end - length : 0;
	window->end_ns = end;
}

static struct error *describe(const struct push_options *options, const char *path, struct window *window)
{
	struct samples *samples = window->samples;
	window->host = options->host ? options->host : samples->hostname ? samples->hostname : "unknown";
	window->host_id = "";
	for (size_t i = 0; i < options->labels.len; i++)
		vec_push(&window->labels.list, options->labels.data[i]);
	for (size_t i = 0; i < samples->threads.len; i++)
		vec_push(&window->thread_sets, 0);
	for (size_t i = 0; i < samples->rows.len; i++)
		window->taken += samples->rows.data[i].count;
	set_times(path, window);
	return make_id(options, window->host, path, window->id);
}

static struct error *read_recording(const struct push_options *options, struct opening *opening, const char *path, struct window *window)
{
	const unsigned int detail = SAMPLES_STACKS | SAMPLES_ADDRESSES;
	struct fold_options folding;
	struct fold *fold = NULL;
	struct error *error = NULL;
	if (!opening_events_sampled(opening))
		return error_new("it has no samples: nothing to send");
	samples_fold_options(detail, &folding);
	error = fold_of_session(opening->session, opening->resolver, &folding, &fold);
	if (error)
		return error;
	samples_destroy(window->samples);
	window->samples = samples_of_fold(fold, opening->resolver, detail, STACK_INLINES_ALL);
	fold_destroy(fold);
	return describe(options, path, window);
}

static struct error *make_batch(const struct push_options *options, struct fleet_sink *sink, const char *path, struct parcel *ret,
				struct strbuf *ret_batch)
{
	struct input_options input = options->input;
	struct opening opening = {0};
	struct window *window = window_create();
	input.input = path;
	struct error *error = opening_begin(&opening, &(struct opening_options){.input = &input, .confined = "agent", .output = "-"});
	error = error ? error : read_recording(options, &opening, path, window);
	error = error ? error : fleet_sink_encode(sink, window, ret_batch);
	if (!error) {
		memcpy(ret->id, window->id, sizeof(ret->id));
		ret->samples = window->taken;
		opening_warn(&opening);
	}
	window_destroy(window);
	opening_end(&opening);
	return error;
}

static void run_child(const struct push_options *options, struct fleet_sink *sink, const char *path, int fd)
{
	struct parcel parcel = {0};
	struct strbuf content = {0};
	struct error *error = make_batch(options, sink, path, &parcel, &content);
	if (error) {
		strbuf_clear(&content);
		strbuf_add_str(&content, error_message(error));
		parcel.error = error_kind(error) + 1u;
	}
	parcel.size = content.len;
	bool written = whole_write(fd, &parcel, sizeof(parcel)) && whole_write(fd, strbuf_str(&content), content.len);
	_exit(!written);
}

/* ---- the parent ---- */

static struct error *read_parcel(int fd, struct parcel *ret, struct strbuf *ret_content)
{
	if (lseek(fd, 0, SEEK_SET) || !whole_read(fd, ret, sizeof(*ret)))
		return error_new("the process that reads it has said nothing");
	int failed = strbuf_read(ret_content, fd, SIZE_MAX / 2);
	if (failed)
		return error_system(-failed, "what the process that reads it has said");
	if (ret_content->len != ret->size)
		return error_new("the process that reads it has said only a part of it");
	return ret->error ? error_new_kind((enum error_kind)(ret->error - 1), "%s", strbuf_str(ret_content)) : NULL;
}

static struct error *read_apart(const struct push_options *options, struct fleet_sink *sink, const char *path, struct parcel *ret,
				struct strbuf *ret_batch)
{
	int status;
	cleanup_close int fd = memfd_create("perf-push", MFD_CLOEXEC);
	if (fd < 0)
		return error_system(errno, "memory for a batch");
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		return error_system(errno, "a process that reads it");
	if (!child)
		run_child(options, sink, path, fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return error_new("the process that reads it was ended by signal %d", WTERMSIG(status));
	return read_parcel(fd, ret, ret_batch);
}

static struct error *push_file(const struct push_options *options, struct fleet_sink *sink, const char *path)
{
	struct strbuf batch = {0};
	struct parcel parcel;
	char number[32];
	struct error *error = read_apart(options, sink, path, &parcel, &batch);
	if (!error && fleet_sink_send(sink, parcel.id, strbuf_str(&batch), batch.len, &error) == SINK_LATER)
		error = error_wrap(error, "not sent; what was sent already isn't there twice when it is sent again");
	if (!error)
		printf("%s: %s samples sent\n", path, number_format_grouped(parcel.samples, number));
	strbuf_deinit(&batch);
	return error_wrap(error, "%s", path);
}

static struct error *push_files(const struct push_options *options, const char *const *paths, int count)
{
	const struct fleet_sink_options sink_options = {.name = "--to", .url = options->to, .http = options->http};
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
	struct push_options options = {0};
	int words;
	(void)ret_status;
	input_options_init(&options.input);
	struct error *error = options_parse(push_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && !options.to)
		error = error_new_kind(ERROR_USAGE, "say where the recordings go with --to URL");
	if (!error && words && options.input.input)
		error = error_new_kind(ERROR_USAGE, "name recordings with -i or without: '%s' is another one", argv[0]);
	const char *one = options.input.input ? options.input.input : "perf.data";
	if (!error)
		error = words ? push_files(&options, (const char *const *)argv, words) : push_files(&options, &one, 1);
	for (size_t i = 0; i < options.labels.len; i++)
		free((char *)(uintptr_t)options.labels.data[i].name);
	vec_deinit(&options.labels);
	return error;
}

static const char *const usage[] = {"--to URL [<options>] [FILE...]", NULL};
const struct command cmd_agent_push = {
	.name = "agent push",
	.summary = "Send recordings to an engine of a fleet",
	.usage = usage,
	.options = push_option_table,
	.run = run,
};
