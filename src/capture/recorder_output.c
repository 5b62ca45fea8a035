/* The recorder's output: one file, or one after the other with --switch-output. */
#include "capture/recorder_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* "perf.data" → "perf.data.2026112107443012", or the next hundredth of a second that no file has yet. */
static char *timestamped(const char *path)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	for (uint64_t hundredths = (uint64_t)now.tv_sec * 100 + (uint64_t)now.tv_usec / 10000;; hundredths++) {
		const time_t seconds = (time_t)(hundredths / 100);
		struct tm local;
		char stamp[32];
		localtime_r(&seconds, &local);
		strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local);
		char *name = mem_printf("%s.%s%02u", path, stamp, (unsigned int)(hundredths % 100));
		if (access(name, F_OK))
			return name;
		free(name);
	}
}

struct error *recorder_open_output(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct writer_options writer = {.path = options->output,
					.compression_level = options->compression_level,
					.keep_old = true,
					.directory = options->directory || options->places.len > 0,
					.ring_size = recorder->rings.pages * (size_t)sysconf(_SC_PAGESIZE)};
	const struct features *features = options->describe_ahead ? options->describe_ahead(options->context) : NULL;

	return writer_open(&writer, recorder->events, features, &recorder->writer);
}

static void forget_oldest(struct recorder *recorder)
{
	unsigned int keep = recorder->options->switch_max_files;

	while (keep && recorder->old_file_count > keep) {
		unlink(recorder->old_files[0]);
		free(recorder->old_files[0]);
		recorder->old_file_count--;
		memmove(recorder->old_files, recorder->old_files + 1, recorder->old_file_count * sizeof(*recorder->old_files));
	}
}

/* Gives a complete output its final name. */
static struct error *stamp_output(struct recorder *recorder, const char *path)
{
	char *stamped = timestamped(path);

	if (rename(path, stamped) < 0) {
		struct error *error = error_system(errno, "renaming %s to %s", path, stamped);
		free(stamped);
		return error;
	}
	if (!recorder->options->quiet && recorder->options->switch_output)
		fprintf(stderr, "[ perf record: Dump %s ]\n", stamped);
	recorder->old_files = mem_resize(recorder->old_files, (recorder->old_file_count + 1) * sizeof(*recorder->old_files));
	recorder->old_files[recorder->old_file_count++] = stamped;
	forget_oldest(recorder);
	return NULL;
}

void recorder_add_totals(struct recorder *recorder, const struct writer *writer)
{
	struct writer_totals now = writer_totals(writer);
	struct writer_totals *sum = &recorder->totals.written;

	sum->file_bytes += now.file_bytes;
	sum->data_bytes += now.data_bytes;
	sum->appended_bytes += now.appended_bytes;
	sum->compressed_bytes += now.compressed_bytes;
}

struct error *recorder_close_output(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	const struct features *features = NULL;

	if (!recorder->writer)
		return NULL;
	cleanup_free char *path = mem_strdup(writer_path(recorder->writer));
	bool pipe = writer_is_pipe(recorder->writer);
	struct error *error = writer_finish_data(recorder->writer);
	if (!error && options->describe && !pipe)
		error = options->describe(options->context, path, &features);
	struct error *finish_error = writer_finish(recorder->writer, features);
	recorder_add_totals(recorder, recorder->writer);
	recorder->totals.files++;
	writer_close(recorder->writer);
	recorder->writer = NULL;
	if (error)
		error_free(finish_error);
	else
		error = finish_error;
	if (!error && !pipe && (options->switch_output || options->timestamp_filename))
		error = stamp_output(recorder, path);
	free(recorder->totals.last_path);
	recorder->totals.last_path =
		options->switch_output || options->timestamp_filename ? mem_printf("%s.<timestamp>", path) : take_pointer(path);
	return error;
}

struct error *recorder_switch_output(struct recorder *recorder)
{
	struct error *error = recorder_async_settle(recorder);
	struct strbuf tasks = {0};

	if (!error)
		error = recorder_write_lost(recorder);

	/* At once after the last draining: who ends before we look has its name in the old file only. */
	if (!recorder_overwrites_all(recorder))
		recorder_take_tasks(recorder, &tasks);
	if (!error)
		error = recorder_close_output(recorder);
	if (!error)
		error = recorder_open_output(recorder);
	if (!error && !recorder_overwrites_all(recorder))
		error = recorder_write_init(recorder, &tasks);
	strbuf_deinit(&tasks);
	return error;
}
