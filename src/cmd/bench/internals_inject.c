/* perf bench internals inject-build-id: how long `perf inject -b` takes for a stream that maps files of this machine and samples
 * them, and how much memory. The stream is made up here, once; each run pipes it through a copy of this process. */
#include "cmd/bench/bench.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/whole.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAP_BYTES = 1 << 20, PATH_BYTES = 256, ATTR_RECORD = 64, FIRST_PID = 1000 };

struct stream_options {
	struct bench_common common;
	uint64_t runs, maps, samples;
	int verbose;
};

static const struct option table[] = {
	OPTION_U64('i', "iterations", struct stream_options, runs, "N", "runs (default 100)"),
	OPTION_U64('m', "nr-mmaps", struct stream_options, maps, "N", "files that are mapped (default 100)"),
	OPTION_U64('n', "nr-samples", struct stream_options, samples, "N", "samples of each (default 100)"),
	OPTION_COUNT('v', "verbose", struct stream_options, verbose, "tell each run"),
	BENCH_COMMON(struct stream_options),
	OPTION_END,
};

/* ---- the stream ---- */

typedef VEC(char *) path_list;

static bool is_elf(const char *path)
{
	char magic[SELFMAG];
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && whole_read(fd, magic, sizeof(magic)) && !memcmp(magic, ELFMAG, SELFMAG);
}

static void find_files(const char *folder, size_t most, path_list *paths)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	struct stat status;
	while (directory && paths->len < most && (entry = readdir(directory))) {
		char *path = mem_printf("%s/%s", folder, entry->d_name);
		if (strlen(path) < PATH_BYTES && !lstat(path, &status) && S_ISREG(status.st_mode) && is_elf(path))
			vec_push(paths, path);
		else
			free(path);
	}
	if (directory)
		closedir(directory);
}

static void add_record(struct strbuf *out, uint32_t type, uint16_t misc, const void *body, size_t size)
{
	const struct perf_event_header header = {type, misc, (uint16_t)(sizeof(header) + size)};
	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, body, size);
}

/* The pipe's header, one event whose samples have an address, a thread and a time. */
static void add_head(struct strbuf *out)
{
	struct {
		char magic[8];
		uint64_t size;
	} head = {.magic = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'}, .size = sizeof(head)};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1,
				       .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME};
	strbuf_add(out, &head, sizeof(head));
	add_record(out, ATTR_RECORD, 0, &attr, sizeof(attr));
}

static void add_map(struct strbuf *out, uint32_t pid, uint64_t address, const char *path)
{
	struct {
		uint32_t pid, tid;
		uint64_t address, size, offset;
		char path[PATH_BYTES];
	} map = {pid, pid, address, MAP_BYTES, 0, {0}};
	snprintf(map.path, sizeof(map.path), "%s", path);
	add_record(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, &map, sizeof(map));
}

static void add_samples(struct strbuf *out, uint32_t pid, uint64_t address, uint64_t count, uint64_t *time_ns)
{
	for (uint64_t i = 0; i < count; i++) {
		struct {
			uint64_t ip;
			uint32_t pid, tid;
			uint64_t time_ns;
		} sample = {address + i * 16 % MAP_BYTES, pid, pid, ++*time_ns};
		add_record(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &sample, sizeof(sample));
	}
}

static struct error *make_stream(const struct stream_options *options, struct strbuf *out)
{
	static const char *const folders[] = {
		"/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/bin"};
	path_list paths = {0};
	uint64_t time_ns = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		find_files(folders[i], (size_t)options->maps, &paths);
	if (!paths.len)
		return error_new("found no programs in /usr/bin to map");
	if (options->verbose)
		fprintf(stderr, "  Collected %zu DSOs\n", paths.len);
	add_head(out);
	for (uint64_t i = 0; i < options->maps; i++) {
		uint32_t pid = FIRST_PID + (uint32_t)(i / paths.len);
		uint64_t address = (i % paths.len + 1) * 2 * MAP_BYTES;
		add_map(out, pid, address, paths.data[i % paths.len]);
		add_samples(out, pid, address, options->samples, &time_ns);
	}
	for (size_t i = 0; i < paths.len; i++)
		free(paths.data[i]);
	vec_deinit(&paths);
	return NULL;
}

/* ---- runs ---- */

/* A copy of ourselves becomes perf inject: what a new program costs to load is not measured. */
static _Noreturn void inject(const char *option, const int input[2], const int output[2])
{
	const char *const words[] = {"inject", option};
	int status = 0;
	dup2(input[0], STDIN_FILENO);
	dup2(output[1], STDOUT_FILENO);
	close(input[1]);
	close(output[0]);
	struct error *error = command_run_with(words, 2, NULL, 0, &status);
	if (error)
		fprintf(stderr, "perf inject: %s\n", error_message(error));
	_exit(error || fflush(stdout) ? 1 : status);
}

/* What it writes goes through a pipe as well, which somebody empties. */
static void *read_to_the_end(void *argument)
{
	const int *fd = argument;
	char bytes[4096];
	while (read(*fd, bytes, sizeof(bytes)) > 0)
		;
	return NULL;
}

static struct error *inject_once(const char *option, const struct strbuf *stream, struct rusage *ret_usage, uint64_t *ret_elapsed_ns)
{
	int input[2], output[2], status = 1;
	pthread_t reader;
	bool written = false;
	if (pipe2(input, O_CLOEXEC))
		return error_system(errno, "cannot make a pipe");
	if (pipe2(output, O_CLOEXEC)) {
		close(input[0]);
		close(input[1]);
		return error_system(errno, "cannot make a pipe");
	}
	fflush(NULL);
	pid_t pid = fork();
	if (!pid)
		inject(option, input, output);
	close(input[0]);
	close(output[1]);
	int failed = pid < 0 ? errno : pthread_create(&reader, NULL, read_to_the_end, &output[0]);
	uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	if (!failed)
		written = whole_write(input[1], stream->data, stream->len);
	signal(SIGPIPE, old);
	close(input[1]);
	if (pid > 0)
		wait4(pid, &status, 0, ret_usage);
	*ret_elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin_ns;
	if (!failed)
		pthread_join(reader, NULL);
	close(output[0]);
	if (failed)
		return error_system(failed, "cannot start perf inject");
	return written && !status ? NULL : error_new("perf inject %s has failed", option);
}

static struct error *measure(const struct stream_options *options, const char *option, const char *name, const struct strbuf *stream)
{
	struct statistics ms = {0}, us = {0}, kb = {0};
	double records = (double)(options->maps * (options->samples + 1));
	if (options->verbose)
		fprintf(stderr, "  %s benchmark\n", name);
	for (uint64_t run = 0; run < options->runs; run++) {
		struct rusage usage;
		uint64_t elapsed_ns = 0;
		struct error *error = inject_once(option, stream, &usage, &elapsed_ns);
		if (error)
			return error;
		if (options->verbose)
			fprintf(stderr, "  Iteration #%" PRIu64 "\n", run + 1);
		statistics_add(&ms, (double)elapsed_ns / 1e6);
		statistics_add(&us, (double)elapsed_ns / 1e3 / records);
		statistics_add(&kb, (double)usage.ru_maxrss);
	}
	bench_print("  Average %s injection took: %.3f msec (+- %.3f msec)\n", name, ms.mean, statistics_deviation(&ms));
	bench_print("  Average time per event: %.3f usec (+- %.3f usec)\n", us.mean, statistics_deviation(&us));
	bench_print("  Average memory usage: %.0f KB (+- %.0f KB)\n", kb.mean, statistics_deviation(&kb));
	bench_figure("ms", ms.mean, "%s", name);
	bench_figure("us", us.mean, "%s, per record", name);
	bench_figure("kB", kb.mean, "%s, memory", name);
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	enum { MOST = 1 << 20 };
	struct stream_options options = {.runs = 100, .maps = 100, .samples = 100};
	struct strbuf stream = {0};
	struct error *error = options_parse_alone(table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--iterations", options.runs);
	if (!error)
		error = bench_check_positive("--nr-mmaps", options.maps);
	if (!error && (options.maps > MOST || options.samples > MOST || options.maps * (options.samples + 1) > 100 * (uint64_t)MOST))
		error = error_new_kind(ERROR_USAGE, "--nr-mmaps and --nr-samples: expected fewer than %d million records", 100);
	if (!error)
		error = make_stream(&options, &stream);
	if (!error) {
		bench_begin("internals/inject-build-id", &options.common);
		error = measure(&options, "-b", "build-id", &stream);
	}
	if (!error)
		error = measure(&options, "--buildid-all", "build-id-all", &stream);
	if (!error)
		bench_end();
	strbuf_deinit(&stream);
	return error;
}

const struct command bench_internals_inject = BENCH(internals, "inject-build-id", "Putting build-ids into a stream", table, run);
