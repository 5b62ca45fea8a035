/* Frames of Python in chains (capture/python/python_frames.h): the file of their names goes into the build-id cache, its build-id into the
 * recording. */
#include "cmd/record/record.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "capture/python/python_frames.h"
#include "capture/stack_chains.h"
#include "symbol/buildid_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The cache takes files, and looks whether they have the build-id. */
static struct error *keep_file(const char *cache, const char *name, const struct buildid *id, const struct strbuf *bytes)
{
	int file = memfd_create("python", MFD_CLOEXEC);
	cleanup_free char *path = mem_printf("/proc/self/fd/%d", file);
	struct error *error = file >= 0 && write(file, bytes->data, bytes->len) == (ssize_t)bytes->len
				      ? buildid_cache_add(cache, id, name, path)
				      : error_system(errno, "%s", PYTHON_FRAMES_FILE);
	if (file >= 0)
		close(file);
	return error;
}

static void keep(void *context, const char *name, const struct buildid *id, const struct strbuf *bytes)
{
	cleanup_free char *cache = config_buildid_dir();
	struct error *error = cache ? keep_file(cache, name, id, bytes) : error_new("there is no build-id cache");

	if (error)
		log_warning("Frames of Python have no names: %s", error_message(error));
	error_free(error);
}

/* Who reads a pipe wants names while it is written. */
struct python_frames *record_open_python(const struct record_options *options)
{
	static const struct python_frames_taker taker = {.take = keep};
	const char *output = options->recorder.output;

	if (options->no_buildid || options->no_buildid_cache)
		return NULL;
	return python_frames_create(output && !strcmp(output, "-") ? &taker : NULL);
}

void record_keep_python(const struct python_frames *frames, struct features *features)
{
	struct feature_build_id entry = {.misc = CPUMODE_USER, .pid = -1, .filename = PYTHON_FRAMES_FILE};
	struct strbuf bytes = {0};

	if (!frames || !python_frames_make_file(frames, &bytes, &entry.id))
		return;
	keep(NULL, PYTHON_FRAMES_FILE, &entry.id, &bytes);
	strbuf_deinit(&bytes);
	vec_push(&features->build_ids, entry);
	features_set(features, FEATURE_BUILD_ID);
}
