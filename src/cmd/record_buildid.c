/* After the recording: the file just written is read once more, in parallel, to see which files the samples hit; their build-ids go into
 * its header, and copies of them into the build-id cache, so that the recording can be understood when the files have changed.
 * Copying isn't waited for: the caller does it in a process of its own. */
#include "cmd/record.h"

#include "analysis/hits.h"
#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process_file.h"
#include "base/text.h"
#include "perfdata/records.h"
#include "session/session.h"
#include "symbol/debugfile.h"
#include "symbol/elf.h"
#include "symbol/running_kernel.h"
#include "symbol/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the file is for us: below /proc/PID/root when its process sees another file system. */
static char *visible_path(const struct dso *dso)
{
	if (dso->pid && process_has_other_mounts("/proc", dso->pid))
		return mem_printf("/proc/%u/root%s", dso->pid, dso->name);
	return mem_strdup(dso->name);
}

static bool find_build_id(const struct dso *dso, struct buildid *ret)
{
	static const struct buildid any;
	struct elf_file vdso;

	if (dso->build_id.size) {
		*ret = dso->build_id;
		return true;
	}
	switch (dso->kind) {
	case DSO_KERNEL:
		return running_kernel_build_id(ret);
	case DSO_KERNEL_MODULE:
		return running_module_build_id(dso->name, ret);
	case DSO_VDSO:
		if (!vdso_open(&any, &vdso))
			return false;
		*ret = vdso.build_id;
		elf_close(&vdso);
		return ret->size > 0;
	case DSO_FILE: {
		cleanup_free char *path = visible_path(dso);
		return elf_read_build_id(path, ret);
	}
	default:
		return false;
	}
}

bool record_read_build_id(const char *path, struct buildid *ret)
{
	if (*path == '/' && strncmp(path, "/lib/modules/", 13))
		return elf_read_build_id(path, ret);
	return str_starts_with(path, "[kernel.") ? running_kernel_build_id(ret) : running_module_build_id(path, ret);
}

static void note_build_id(struct features *features, const struct dso *dso)
{
	struct feature_build_id entry = {.misc = dso->kernel ? CPUMODE_KERNEL : CPUMODE_USER, .pid = -1};

	if (!find_build_id(dso, &entry.id))
		return;
	entry.filename = arena_strdup(&features->arena, dso->kind == DSO_KERNEL ? "[kernel.kallsyms]" : dso->name);
	vec_push(&features->build_ids, entry);
	features_set(features, FEATURE_BUILD_ID);
}

static struct error *note_build_ids(struct session *session, bool all, struct features *features)
{
	bool *hit = NULL;
	struct error *error = all ? NULL : hits_find(session, &hit);

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

static bool make_directories(const char *path)
{
	cleanup_free char *copy = mem_strdup(path);

	for (char *at = copy + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return false;
		*at = '/';
	}
	return mkdir(copy, 0755) == 0 || errno == EEXIST;
}

static bool copy_bytes(int from, int to)
{
	char block[65536];
	ssize_t length;

	while ((length = read(from, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < length;) {
			ssize_t put = write(to, block + at, (size_t)(length - at));
			if (put <= 0)
				return false;
			at += put;
		}
	return length == 0;
}

/* A link where the file systems allow, else a copy that appears at once and whole. */
static bool put_file(const char *from, const char *to, bool may_link)
{
	if (may_link && link(from, to) == 0)
		return true;
	cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_free char *partial = mem_printf("%s.%d", to, getpid());
	cleanup_close int out = in < 0 ? -1 : open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (out < 0)
		return false;
	if (copy_bytes(in, out) && rename(partial, to) == 0)
		return true;
	unlink(partial);
	return false;
}

static bool put_vdso(const char *to)
{
	static const struct buildid any;
	struct elf_file vdso;
	bool done = false;

	if (!vdso_open(&any, &vdso))
		return false;
	cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	done = out >= 0 && write(out, vdso.data, vdso.size) == (ssize_t)vdso.size;
	elf_close(&vdso);
	return done;
}

/* DIR/PATH/BUILDID/{elf,kallsyms,vdso} and DIR/.build-id/xx/yyyy pointing there. */
static void cache_file(const char *cache, const struct feature_build_id *entry)
{
	char id[41];
	struct stat status;
	const char *name = entry->filename;
	bool kernel = !strcmp(name, "[kernel.kallsyms]"), vdso = !strcmp(name, "[vdso]");
	struct buildid own;

	buildid_format(&entry->id, id);
	const char *slash = *name == '/' ? "" : "/";
	cleanup_free char *dir = mem_printf("%s%s%s/%s", cache, slash, name, id);
	cleanup_free char *file = mem_printf("%s/%s", dir, kernel ? "kallsyms" : vdso ? "vdso" : "elf");
	if (stat(file, &status) == 0 || (!kernel && !vdso && *name != '/'))
		return;
	/* A container's file has a namesake here, or it was replaced meanwhile. */
	if (!kernel && !vdso && (!elf_read_build_id(name, &own) || !buildid_equal(&own, &entry->id)))
		return;
	if (!make_directories(dir))
		return;
	bool done = vdso ? put_vdso(file) : put_file(kernel ? "/proc/kallsyms" : name, file, !kernel);
	if (!done) {
		rmdir(dir);
		return;
	}
	cleanup_free char *link_dir = mem_printf("%s/.build-id/%.2s", cache, id);
	cleanup_free char *link_path = mem_printf("%s/%s", link_dir, id + 2);
	cleanup_free char *target = mem_printf("../..%s%s/%s", slash, name, id);
	if (make_directories(link_dir) && symlink(target, link_path) < 0)
		log_debug("%s: %s", link_path, strerror(errno));
}

void record_fill_cache(const struct features *features)
{
	cleanup_free char *cache = config_buildid_dir();

	for (size_t i = 0; cache && i < features->build_ids.len; i++)
		cache_file(cache, &features->build_ids.data[i]);
}
