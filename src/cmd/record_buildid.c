/* After the recording: the file just written is read once more, in parallel, to see which files the samples hit; their build-ids go into
 * its header, and copies of them into the build-id cache, so that the recording can be understood when the files have changed.
 *
 * Only the sample's own address is looked up, not its call chain: that takes a tenth of the time, and every frame's file is in some
 * sample's way. Copying isn't waited for: the caller does it in a process of its own. */
#include "cmd/record.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/proc.h"
#include "perfdata/records.h"
#include "session/session.h"
#include "symbol/elf.h"
#include "symbol/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct hits {
	uint8_t *by_dso;
};

static void hits_init(void *state, void *context)
{
	const struct session *session = context;
	struct hits *hits = state;

	hits->by_dso = mem_zalloc(session->machine->dsos.len + 1);
}

static void hits_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t time)
{
	const struct session *session = context;
	struct hits *hits = state;
	const struct thread *thread = machine_thread_or_new(session->machine, sample->pid, sample->tid, time);
	const struct maps *maps = machine_maps(session->machine, thread, sample->cpumode);
	const struct map *map = maps ? maps_find(maps, sample->ip, time) : NULL;

	if (map && map->dso)
		hits->by_dso[map->dso->index] = 1;
}

static void hits_merge(void *into, void *from, void *context)
{
	const struct session *session = context;
	struct hits *to = into, *other = from;

	for (size_t i = 0; i < session->machine->dsos.len; i++)
		to->by_dso[i] |= other->by_dso[i];
	free(other->by_dso);
	other->by_dso = NULL;
}

static void hits_deinit(void *state, void *context)
{
	free(((struct hits *)state)->by_dso);
}

static const struct reducer hits_reducer = {
	.state_size = sizeof(struct hits),
	.init = hits_init,
	.sample = hits_sample,
	.merge = hits_merge,
	.deinit = hits_deinit,
	.fixed_only = true,
};

static bool sees_our_files(uint32_t pid)
{
	char path[64];
	struct stat own, other;

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	return stat("/proc/self/ns/mnt", &own) < 0 || stat(path, &other) < 0 || (own.st_ino == other.st_ino && own.st_dev == other.st_dev);
}

/* Where the file is for us: below /proc/PID/root when its process sees another file system. */
static char *visible_path(const struct dso *dso)
{
	if (dso->pid && !sees_our_files(dso->pid))
		return mem_printf("/proc/%u/root%s", dso->pid, dso->name);
	return mem_strdup(dso->name);
}

static bool notes_build_id(const char *path, struct buildid *ret)
{
	struct strbuf notes = {0};
	bool found = proc_read_file(AT_FDCWD, path, &notes) == 0 && elf_notes_build_id(strbuf_str(&notes), notes.len, false, ret);

	strbuf_deinit(&notes);
	return found;
}

/* "/lib/modules/…/ext4.ko.xz" or "[ext4]" → /sys/module/ext4/… */
static bool module_build_id(const struct dso *dso, struct buildid *ret)
{
	char name[128], path[256];
	const char *base = strrchr(dso->name, '/');

	base = base ? base + 1 : dso->name;
	base += *base == '[';
	size_t length = strcspn(base, ".]");
	if (length >= sizeof(name))
		return false;
	for (size_t i = 0; i < length; i++)
		name[i] = base[i] == '-' ? '_' : base[i];
	name[length] = '\0';
	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	return notes_build_id(path, ret);
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
		return notes_build_id("/sys/kernel/notes", ret);
	case DSO_KERNEL_MODULE:
		return module_build_id(dso, ret);
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
	struct dso module = {.name = path};

	if (*path == '/' && strncmp(path, "/lib/modules/", 13))
		return elf_read_build_id(path, ret);
	return str_starts_with(path, "[kernel.") ? notes_build_id("/sys/kernel/notes", ret) : module_build_id(&module, ret);
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
	void *state = NULL;
	struct error *error = all ? NULL : session_reduce(session, &hits_reducer, session, &state);
	const struct hits *hits = state;

	features->build_ids.len = 0;
	if (error)
		return error;
	for (size_t i = 0; i < session->machine->dsos.len; i++)
		if (all || hits->by_dso[i])
			note_build_id(features, session->machine->dsos.data[i]);
	if (state) {
		hits_deinit(state, session);
		free(state);
	}
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
