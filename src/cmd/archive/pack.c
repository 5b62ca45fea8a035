/* perf archive: which files of a recording go into its archive, and what each is called there. */
#include "cmd/archive/archive.h"

#include "analysis/hits.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "session/session.h"
#include "symbol/archive/archive.h"
#include "symbol/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/kernel/running_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct packing {
	const char *cache;
	struct archive_writer *writer;
	unsigned int files, missing;
};

static const char *name_in_cache(const struct dso *dso)
{
	return dso->kind == DSO_KERNEL ? "[kernel.kallsyms]" : dso->kind == DSO_VDSO ? "[vdso]" : dso->name;
}

/* "usr/bin/ls/BUILDID/elf". */
static char *member_name(const struct dso *dso, const char *id, const char *kind)
{
	const char *name = name_in_cache(dso);
	return mem_printf("%s/%s/%s", *name == '/' ? name + 1 : name, id, kind);
}

static struct error *add_from(struct packing *packing, const struct dso *dso, const char *id, const char *kind, const char *path, bool *ret)
{
	cleanup_free char *name = member_name(dso, id, kind);
	struct error *error = archive_writer_add(packing->writer, path, name);
	*ret |= !error;
	return error;
}

/* Where there is no copy: the file itself, if it is still the recorded one. */
static struct error *add_original(struct packing *packing, const struct dso *dso, const char *id, bool *ret)
{
	struct buildid own;
	if (dso->kind == DSO_KERNEL && running_kernel_build_id(&own) && buildid_equal(&own, &dso->build_id))
		return add_from(packing, dso, id, "kallsyms", "/proc/kallsyms", ret);
	if (dso->kind == DSO_FILE && elf_read_build_id(dso->name, &own) && buildid_equal(&own, &dso->build_id))
		return add_from(packing, dso, id, "elf", dso->name, ret);
	return NULL;
}

static struct error *add_link(struct packing *packing, const struct dso *dso, const char *id)
{
	const char *name = name_in_cache(dso);
	cleanup_free char *link = mem_printf(".build-id/%.2s/%s", id, id + 2);
	cleanup_free char *target = mem_printf("../..%s%s/%s", *name == '/' ? "" : "/", name, id);
	return archive_writer_link(packing->writer, link, target);
}

static void say_missing(const struct dso *dso)
{
	cleanup_free char *name = text_safe_copy(dso->name);
	log_info("%s: neither in the build-id cache nor on this machine as it was recorded", name);
}

static struct error *add_dso(struct packing *packing, const struct dso *dso)
{
	static const char *const kinds[] = {"elf", "debug", "kallsyms", "vdso"};
	char id[41];
	bool found = false;
	struct error *error = NULL;
	buildid_format(&dso->build_id, id);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !error; i++) {
		cleanup_free char *path = buildid_cache_path(packing->cache, &dso->build_id, kinds[i]);
		if (access(path, R_OK) == 0)
			error = add_from(packing, dso, id, kinds[i], path, &found);
	}
	if (!error && !found)
		error = add_original(packing, dso, id, &found);
	if (!error && found)
		error = add_link(packing, dso, id);
	packing->files += found;
	packing->missing += !found;
	if (!found && !error)
		say_missing(dso);
	return error;
}

static bool is_wanted(const struct dso *dso)
{
	const char *name = name_in_cache(dso);
	return dso->build_id.size && dso->kind != DSO_BPF && dso->kind != DSO_KSYMBOL && (*name == '/' || *name == '[') &&
	       !strstr(name, "/../");
}

static struct error *add_files(struct packing *packing, struct session *session)
{
	uint64_t *hits;
	struct error *error = hits_find(session, SIDES_UNSAID, &hits);
	if (error)
		return error;
	for (size_t i = 0; i < session->machine->dsos.len && !error; i++)
		if (hits[i] && is_wanted(session->machine->dsos.data[i]))
			error = add_dso(packing, session->machine->dsos.data[i]);
	free(hits);
	if (!error && !packing->files && !packing->missing)
		error = error_new("the recording has no build-ids of files that were sampled; 'perf inject -b' adds them");
	return error;
}

static void say_what_next(const struct archive_options *options, const struct packing *packing)
{
	cleanup_free char *output = text_safe_copy(options->output);
	printf("%s: %u of %u sampled files%s.\n", output, packing->files, packing->files + packing->missing,
	       options->all ? ", and the recording" : "");
	printf("On the machine where it is to be read:\n\n    perf archive --unpack %s\n", output);
	if (packing->missing)
		log_warning("%u sampled file%s not in the archive; -v names %s, 'perf buildid-cache --debuginfod -a FILE' may find %s",
			    packing->missing, packing->missing > 1 ? "s are" : " is", packing->missing > 1 ? "them" : "it",
			    packing->missing > 1 ? "them" : "it");
}

struct error *archive_pack(const struct archive_options *options, const char *cache)
{
	const struct session_options session_options = {.input = {.path = options->input, .force = options->force}};
	struct packing packing = {.cache = cache};
	struct session *session;
	struct error *error = session_open(&session_options, &session);
	if (error)
		return error;
	error = archive_writer_open(options->output, &packing.writer);
	if (!error && options->all)
		error = archive_writer_add(packing.writer, options->input ? options->input : reader_default_path(), "perf.data");
	if (!error)
		error = add_files(&packing, session);
	error = archive_writer_close(packing.writer, error);
	session_close(session);
	if (!error)
		say_what_next(options, &packing);
	return error;
}
