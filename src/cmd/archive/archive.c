/* perf archive: the files that a recording needs, so that it can be read on another machine.
 *
 *	perf archive                          perf.data.tar.bz2
 *	perf archive --all -o all.tar.zst     with the recording
 *	perf archive --unpack all.tar.zst     into the build-id cache, the recording here
 *
 * Unpacking gives up all rights but that to write in the cache. The recording's file is made before that, by a process that looks
 * afterwards whether anything came. */
#include "cmd/archive/archive.h"

#include "app/command.h"
#include "app/config.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "symbol/archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct archive_command {
	struct archive_options archive;
	struct output_options output;
};

#define O struct archive_command
static const struct option options[] = {
	OPTION_STRING('i', "input", O, archive.input, "FILE", "recording to read (default perf.data), or archive to unpack"),
	OPTION_STRING(
		'o', "output", O, archive.output, "FILE",
		"archive to write, .tar.zst, .tar.bz2, .tar.xz, .tar.gz or .tar (default FILE.tar.bz2); with --unpack: the recording (default perf.data)"),
	OPTION_FLAG(0, "all", O, archive.all, "pack the recording as well"),
	OPTION_FLAG(0, "unpack", O, archive.unpack, "unpack an archive into the build-id cache, and the recording, if it holds one"),
	OPTION_FLAG('f', "force", O, archive.force, "read the recording even if another user owns it"),
	OPTION_SANDBOX(O, archive.sandbox),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

/* ---- packing ---- */

/* "perf.data.tar.bz2", or of all "perf.all-HOST-TIME.tar.bz2". */
static char *default_output(const struct archive_options *wanted)
{
	char host[65] = "", when[32];
	struct tm now;
	time_t seconds = time(NULL);
	if (!wanted->all)
		return mem_printf("%s.tar.bz2", wanted->input ? wanted->input : reader_default_path());
	gethostname(host, sizeof(host) - 1);
	localtime_r(&seconds, &now);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &now);
	return mem_printf("perf.all-%s-%s.tar.bz2", host, when);
}

static struct error *pack(struct archive_options *wanted, const char *cache)
{
	const char *input = wanted->input ? wanted->input : reader_default_path();
	struct stat status;
	if (!strcmp(input, "-"))
		return error_new_kind(ERROR_USAGE, "a recording in a pipe cannot be archived: write it to a file first");
	if (wanted->all && !stat(input, &status) && S_ISDIR(status.st_mode))
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"%s is a folder: --all packs recordings that are files; without it the folder travels beside the archive", input);
	cleanup_free char *output = wanted->output ? mem_strdup(wanted->output) : default_output(wanted);
	wanted->output = output;
	if (wanted->sandbox)
		opening_sandbox(&(struct input_options){.input = input, .sandbox = true}, output, NULL);
	struct error *error = archive_pack(wanted, cache);
	wanted->output = NULL;
	return error;
}

/* ---- unpacking ---- */

static struct error *unpack_here(const struct archive_options *wanted, const char *cache, int recording, const char *name)
{
	struct archive_unpacking unpacking = {.cache = cache, .recording = recording};
	if (wanted->sandbox)
		opening_sandbox_with_cache(cache, false);
	else
		mkdir(cache, 0755);
	struct error *error = archive_unpack(wanted->input, &unpacking);
	if (error)
		return error;
	if (unpacking.has_recording && recording < 0)
		return error_new("the archive has a recording, but there is a file '%s' already: name another one with -o", name);
	cleanup_free char *shown = text_safe_copy(name);
	printf("%u files are in the build-id cache now", unpacking.files);
	if (unpacking.has_recording)
		printf(", and the recording is %s (%" PRIu64 " bytes)", shown, unpacking.recorded);
	puts(".");
	return NULL;
}

/* The parent waits for a child that unpacks, and removes the recording's file when nothing was put into it. */
static struct error *unpack(const struct archive_options *wanted, const char *cache, int *ret_status)
{
	const char *name = wanted->output ? wanted->output : "perf.data";
	if (!wanted->input)
		return error_new_kind(ERROR_USAGE, "--unpack: which archive? Give its name");
	cleanup_close int recording = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (recording < 0 && errno != EEXIST)
		return error_system(errno, "%s", name);
	pid_t child = recording < 0 ? 0 : fork();
	if (child < 0)
		return error_system(errno, "fork");
	if (!child)
		return unpack_here(wanted, cache, recording, name);
	struct stat status;
	int ended;
	while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
		continue;
	*ret_status = WIFEXITED(ended) ? WEXITSTATUS(ended) : COMMAND_ENDS_BY_SIGNAL + WTERMSIG(ended);
	if (*ret_status || (!fstat(recording, &status) && !status.st_size))
		unlink(name);
	return NULL;
}

/* ---- */

static struct error *run(int argc, char **argv, int *ret_status)
{
	O wanted = {.archive = {.sandbox = true}};
	int words;
	struct error *error = options_parse(options, OPTIONS_PERMUTE, argc, argv, &wanted, &words);
	if (!error && words > 1)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s'", argv[1]);
	if (!error && words && wanted.archive.input)
		error = error_new_kind(ERROR_USAGE, "either -i or '%s' names the file", argv[0]);
	if (!error && wanted.archive.all && wanted.archive.unpack)
		error = error_new_kind(ERROR_USAGE, "--all and --unpack cannot be combined");
	if (error)
		return error;
	if (words)
		wanted.archive.input = argv[0];
	cleanup_free char *cache = config_buildid_dir();
	if (!cache)
		return error_new("there is no folder for the build-id cache: set HOME, or buildid.dir with 'perf config'");
	return wanted.archive.unpack ? unpack(&wanted.archive, cache, ret_status) : pack(&wanted.archive, cache);
}

static const char *const usage[] = {"[--all] [-o FILE] [<recording>]", "--unpack [-o FILE] <archive>", NULL};
const struct command cmd_archive = {"archive", "Pack the files that a recording needs, to read it elsewhere", usage, options, run};
