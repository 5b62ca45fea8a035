/* After the recording: the file just written is read once more, in parallel, to see which files the samples hit; their build-ids go into
 * its header, and copies of them into the build-id cache, so that the recording can be understood when the files have changed.
 * Copying is waited for: who changes a program right after the recording doesn't race with it. */
#include "cmd/record/record.h"

#include "analysis/hits.h"
#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/buildid_cache/buildid_cache.h"
#include "perfdata/records.h"
#include "session/session.h"
#include "symbol/buildid_cache.h"
#include "symbol/dso_build_id.h"
#include "symbol/elf/elf.h"
#include "symbol/kernel/kcore_copy.h"
#include "symbol/kernel/running_kernel.h"

#include <stdlib.h>
#include <string.h>

bool record_read_build_id(const char *path, struct buildid *ret)
{
	if (*path == '/' && strncmp(path, "/lib/modules/", 13))
		return elf_read_build_id(path, ret);
	return str_starts_with(path, "[kernel.") ? running_kernel_build_id(ret) : running_module_build_id(path, ret);
}

static void note_build_id(struct features *features, const struct dso *dso)
{
	struct feature_build_id entry = {.misc = dso->kernel ? CPUMODE_KERNEL : CPUMODE_USER, .pid = -1};

	if (!dso_read_build_id(dso, &entry.id))
		return;
	entry.filename = arena_strdup(&features->arena, dso->kind == DSO_KERNEL ? "[kernel.kallsyms]" : dso->name);
	vec_push(&features->build_ids, entry);
	features_set(features, FEATURE_BUILD_ID);
}

static struct error *note_build_ids(struct session *session, bool all, struct features *features)
{
	uint64_t *hit = NULL;
	struct error *error = all ? NULL : hits_find(session, SIDES_UNSAID, &hit);

	features->build_ids.len = 0;
	if (error)
		return error;
	for (size_t i = 0; i < session->machine->dsos.len; i++)
		if (all || hit[i])
			note_build_id(features, session->machine->dsos.data[i]);
	free(hit);
	return NULL;
}

struct error *record_examine(const char *path, const struct record_options *options, struct features *features,
			     struct record_summary *summary)
{
	struct session_options session_options = {.input = {.path = path, .force = true}};
	struct session *session;
	struct error *error = session_open(&session_options, &session);

	if (error)
		return error;
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		summary->samples += session->event_counts[i].samples;
	strbuf_clear(&summary->losses);
	session_loss_text(session, &summary->losses);
	summary->full_traces = session->full_traces;
	if (session->first_time) {
		features->first_sample_ns = session->first_time;
		features->last_sample_ns = session->last_time;
		features_set(features, FEATURE_SAMPLE_TIME);
	}
	if (!options->sampling.build_id_mmap && !options->no_buildid)
		error = note_build_ids(session, options->buildid_all, features);
	session_close(session);
	return error;
}

/* ---- the cache ---- */

/* What there is no file of, or another one by now, is left out: a container's file has a namesake here, or it was replaced meanwhile. */
static void cache_file(const char *cache, const struct feature_build_id *entry)
{
	struct error *error = buildid_cache_add(cache, &entry->id, entry->filename, entry->filename);
	if (error)
		log_debug("%s", error_message(error));
	error_free(error);
}

struct error *record_check_vmlinux(const char *path)
{
	struct buildid own, running;
	char own_text[41], running_text[41];

	if (!elf_read_build_id(path, &own))
		return error_new("--vmlinux: %s has no build-id or is not an ELF file", path);
	if (!running_kernel_build_id(&running) || buildid_equal(&own, &running))
		return NULL;
	return error_new("--vmlinux: %s is not the running kernel: its build-id is %s, the kernel's is %s", path,
			 buildid_format(&own, own_text), buildid_format(&running, running_text));
}

/* Before the list of the kernel's symbols, which it makes needless. */
static void cache_vmlinux(const char *cache, const char *path)
{
	cleanup_free char *name = realpath(path, NULL);
	struct buildid id;
	struct error *error = name && elf_read_build_id(name, &id) ? buildid_cache_add(cache, &id, name, name) : NULL;

	if (error)
		log_warning("%s", error_message(error));
	error_free(error);
}

static void fetch_debug_files(const char *cache, const struct features *features)
{
	const struct debug_server_options settings = {.budget_ms = BUILDID_CACHE_FETCHING_MS};
	struct debug_server *server = debug_server_create(&settings);

	for (size_t i = 0; i < features->build_ids.len; i++) {
		const struct feature_build_id *entry = &features->build_ids.data[i];
		if (*entry->filename == '/')
			buildid_cache_fetch_debug(cache, &entry->id, entry->filename, server);
	}
	debug_server_end(server);
}

struct error *record_check_code(void)
{
	return kcore_copy_check("/proc");
}

struct error *record_keep_code(const char *path)
{
	cleanup_free char *folder = mem_printf("%s/kcore_dir", path ? path : "perf.data");
	return kcore_copy("/proc", folder);
}

void record_fill_cache(const struct features *features, const struct record_options *options)
{
	cleanup_free char *cache = config_buildid_dir();

	if (cache && options->vmlinux)
		cache_vmlinux(cache, options->vmlinux);
	for (size_t i = 0; cache && i < features->build_ids.len; i++)
		cache_file(cache, &features->build_ids.data[i]);
	if (cache && options->debug_files)
		fetch_debug_files(cache, features);
}
