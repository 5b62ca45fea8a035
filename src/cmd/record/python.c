/* Frames of Python in chains (capture/python_frames.h): the file of their names goes into the build-id cache, its build-id into the
 * recording. */
#include "cmd/record/record.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "capture/python_frames.h"
#include "capture/stack_chains.h"
#include "symbol/buildid_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool record_wants_python(const struct record_options *options)
{
	const char *output = options->recorder.output;

	return !options->no_buildid && !options->no_buildid_cache && !(output && !strcmp(output, "-"));
}

/* The cache takes files, and looks whether they have the build-id. */
static struct error *keep_file(const char *cache, const struct buildid *id, const struct strbuf *bytes)
{
	int file = memfd_create("python", MFD_CLOEXEC);
	cleanup_free char *path = mem_printf("/proc/self/fd/%d", file);
	struct error *error = file >= 0 && write(file, bytes->data, bytes->len) == (ssize_t)bytes->len
				      ? buildid_cache_add(cache, id, PYTHON_FRAMES_FILE, path)
				      : error_system(errno, "%s", PYTHON_FRAMES_FILE);
	if (file >= 0)
		close(file);
	return error;
}

void record_keep_python(const struct recorder *recorder, struct features *features)
{
	struct feature_build_id entry = {.misc = CPUMODE_USER, .pid = -1, .filename = PYTHON_FRAMES_FILE};
	const struct stack_chains *chains = recorder ? recorder_stack_chains(recorder) : NULL;
	struct strbuf bytes = {0};

	if (!chains || !python_frames_make_file(stack_chains_python(chains), &bytes, &entry.id))
		return;
	cleanup_free char *cache = config_buildid_dir();
	struct error *error = cache ? keep_file(cache, &entry.id, &bytes) : error_new("there is no build-id cache");
	if (error)
		log_warning("Frames of Python have no names: %s", error_message(error));
	error_free(error);
	strbuf_deinit(&bytes);
	vec_push(&features->build_ids, entry);
	features_set(features, FEATURE_BUILD_ID);
}
