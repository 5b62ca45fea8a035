/* One pass over the records in the order of time; what is written goes out as it is made. */
#include "analysis/convert/ctf.h"
#include "analysis/convert/json.h"
#include "base/cleanup.h"
#include "base/files/output.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/data/data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct data_conversion {
	const struct data_convert_options *options;
	struct session *session;
	struct resolver *resolver;
	uint64_t samples, others; /* that were written … */
	uint64_t left_out;	  /* samples that weren't */
	uint64_t bytes;		  /* … JSON: as text, CTF: of the recording */
};

/* ---- JSON ---- */

enum { TEXT_SIZE = 256 << 10 };

/* A failed write is remembered by the stream. */
static void flush(struct data_conversion *conversion, FILE *file, struct strbuf *text)
{
	fwrite(text->data, 1, text->len, file);
	conversion->bytes += text->len;
	strbuf_clear(text);
}

static struct error *write_json(struct data_conversion *conversion, FILE *file)
{
	struct json_export export = {.session = conversion->session, .resolver = conversion->resolver};
	struct strbuf text = {0};
	struct record record;
	struct sample sample;
	struct error *error = NULL;
	int more = session_next(export.session, &record, &error);
	json_export_begin(&export, &text);
	for (; more > 0 && !ferror(file); more = session_next(export.session, &record, &error)) {
		if (record.header->type != RECORD_SAMPLE || !session_decode(export.session, &record, &sample))
			continue;
		json_export_sample(&export, &record, &sample, &text);
		conversion->samples++;
		if (text.len >= TEXT_SIZE)
			flush(conversion, file, &text);
	}
	json_export_end(&text);
	flush(conversion, file, &text);
	strbuf_deinit(&text);
	return error;
}

static struct error *convert_to_json(struct data_conversion *conversion)
{
	const char *path = conversion->options->to_json;
	struct replacement file = {.file = stdout};
	bool named = strcmp(path, "-") != 0;
	struct error *error = named ? replacement_begin(path, &file) : NULL;
	if (error)
		return error;
	error = write_json(conversion, file.file);
	if (named)
		return replacement_end(&file, error);
	int failure = output_failure(stdout);
	return !error && failure && failure != EPIPE ? error_system(failure, "writing the output") : error;
}

/* ---- CTF ---- */

static struct error *write_event(struct data_conversion *conversion, struct ctf_export *export, const struct record *record)
{
	struct sample sample;
	struct error *error;
	bool written = true;
	if (record->header->type == RECORD_SAMPLE) {
		if (!session_decode(conversion->session, record, &sample))
			return NULL;
		error = ctf_export_sample(export, record->event, &sample, &written);
		*(written ? &conversion->samples : &conversion->left_out) += 1;
	} else {
		if (!conversion->options->all)
			return NULL;
		error = ctf_export_record(export, record, &written);
		conversion->others += written;
	}
	conversion->bytes += written ? record->header->size : 0;
	return error;
}

static struct error *write_ctf(struct data_conversion *conversion, struct ctf_writer *writer)
{
	struct ctf_export *export = ctf_export_create(conversion->session, writer);
	struct record record;
	struct error *error = NULL;
	while (!error && session_next(conversion->session, &record, &error) > 0)
		error = write_event(conversion, export, &record);
	if (!error && conversion->options->wall_clock)
		error = ctf_check_wall_clock(conversion->session);
	if (!error)
		error = ctf_export_finish(export, conversion->options->wall_clock);
	ctf_export_destroy(export);
	return error;
}

static struct error *convert_to_ctf(struct data_conversion *conversion)
{
	struct ctf_writer *writer = NULL;
	bool early = conversion->options->wall_clock && !conversion->session->reader->pipe;
	struct error *error = early ? ctf_check_wall_clock(conversion->session) : NULL;
	if (!error)
		error = ctf_writer_create(conversion->options->to_ctf, conversion->options->input.force, &writer);
	if (!error)
		error = write_ctf(conversion, writer);
	ctf_writer_destroy(writer);
	return error;
}

/* A slash at the end of a folder's name would follow a link, and hides from the sandbox where it is to be. Freed by the caller. */
static char *without_slashes(const char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	return mem_strndup(path, length);
}

/* The folders above the trace's, as the kernel's tool makes them. */
static struct error *make_parents(const char *path)
{
	cleanup_free char *part = mem_strdup(path);
	for (char *slash = strchr(part + 1, '/'); slash && slash[1]; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0777) && errno != EEXIST)
			return error_system(errno, "%s", part);
		*slash = '/';
	}
	return NULL;
}

/* ---- */

static struct error *check(const struct data_convert_options *wanted)
{
	const char *json = wanted->to_json;
	struct stat status;
	if (json && wanted->to_ctf)
		return error_new_kind(ERROR_USAGE, "--to-json and --to-ctf cannot be combined: convert twice");
	if (!json && !wanted->to_ctf)
		return error_new_kind(ERROR_USAGE, "into what? Give --to-json FILE or --to-ctf FOLDER");
	if (!*(json ? json : wanted->to_ctf))
		return error_new_kind(ERROR_USAGE, "the name of what is to be written is empty");
	if (json && (wanted->all || wanted->wall_clock))
		return error_new_kind(ERROR_USAGE, "%s is for --to-ctf only: JSON has samples, with the recording's own times",
				      wanted->all ? "--all" : "--tod");
	if (json && strcmp(json, "-") != 0 && !wanted->input.force && !lstat(json, &status) && !output_is_device(json))
		return error_new("%s exists already: choose another name, or overwrite it with --force", json);
	return NULL;
}

static void warn(const struct data_conversion *conversion)
{
	if (conversion->left_out)
		log_warning("%" PRIu64
			    " samples are not written: the fields of their tracepoints are many times larger than what was recorded",
			    conversion->left_out);
}

static void tell(const struct data_conversion *conversion)
{
	const struct data_convert_options *wanted = conversion->options;
	cleanup_free char *from = text_safe_copy(reader_name(conversion->session->reader));
	cleanup_free char *to = text_safe_copy(wanted->to_json ? wanted->to_json : wanted->to_ctf);
	if (wanted->output.quiet)
		return;
	fflush(stdout);
	fprintf(stderr, "[ perf data convert: Converted '%s' into %s data '%s' ]\n", from, wanted->to_json ? "JSON" : "CTF", to);
	fprintf(stderr, "[ perf data convert: Converted and wrote %.3f MB (%" PRIu64 " samples",
		(double)conversion->bytes / 1024.0 / 1024.0, conversion->samples);
	if (conversion->others)
		fprintf(stderr, ", %" PRIu64 " non-samples", conversion->others);
	fputs(") ]\n", stderr);
}

static struct error *convert(const struct data_convert_options *wanted)
{
	struct opening opening;
	const char *output = wanted->to_json ? wanted->to_json : wanted->to_ctf;
	struct error *error = wanted->to_ctf ? make_parents(wanted->to_ctf) : NULL;
	if (!error)
		error = opening_begin(&opening, &(struct opening_options){.input = &wanted->input,
									  .streaming = true,
									  .kernel_only = wanted->to_ctf != NULL,
									  .confined = "data",
									  .output = output});
	if (error)
		return error;
	struct data_conversion conversion = {.options = wanted, .session = opening.session, .resolver = opening.resolver};
	error = wanted->to_json ? convert_to_json(&conversion) : convert_to_ctf(&conversion);
	if (!error) {
		tell(&conversion);
		warn(&conversion);
		opening_warn(&opening);
	}
	opening_end(&opening);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct data_convert_options wanted = {0};
	int words;
	input_options_init(&wanted.input);
	struct error *error = options_parse(data_convert_options, OPTIONS_PERMUTE, argc, argv, &wanted, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!error)
		error = check(&wanted);
	if (error)
		return error;
	cleanup_free char *folder = wanted.to_ctf ? without_slashes(wanted.to_ctf) : NULL;
	wanted.to_ctf = folder;
	return convert(&wanted);
}

static const char *const usage[] = {"[-i FILE] --to-json FILE", "[-i FILE] [--all] [--tod] --to-ctf FOLDER", NULL};
const struct command cmd_data_convert = {"data convert", "Write a recording as JSON or as a CTF trace", usage, data_convert_options, run};
