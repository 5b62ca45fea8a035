/* Build-ids of the files that samples hit (-b), or of all that were mapped (--buildid-all), so that the recording can be understood
 * elsewhere.
 *
 * A file gets them as a table in its header. A stream gets each as a record before the first sample that needs it. Callers count as hits,
 * too: their names are wanted as much. */
#include "cmd/inject/inject.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/dso_build_id.h"
#include "symbol/elf/elf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- --known-build-ids ---- */

/* "BUILD-ID PATH"; the text is cut up. */
static struct error *add_known_id(struct inject *inject, char *line)
{
	struct inject_known_id known;
	line += strspn(line, " \t");
	size_t length = strcspn(line, " \t");
	if (!*line)
		return NULL;
	known.path = line + length + strspn(line + length, " \t");
	if (!buildid_parse(line, length, &known.id) || !*known.path)
		return error_new_kind(ERROR_USAGE,
				      "--known-build-ids: invalid entry '%s': expected a build-id and a path, as printed by 'perf "
				      "buildid-list'",
				      line);
	vec_push(&inject->known_ids, known);
	return NULL;
}

static struct error *read_file(const char *path, char **ret)
{
	struct strbuf text = {0};
	char block[4096];
	size_t got;
	FILE *file = fopen(path, "re");
	if (!file)
		return error_system(errno, "--known-build-ids %s", path);
	while ((got = fread(block, 1, sizeof(block), file)))
		strbuf_add(&text, block, got);
	bool failed = ferror(file);
	fclose(file);
	*ret = strbuf_detach(&text);
	return failed ? error_new("--known-build-ids: cannot read %s", path) : NULL;
}

struct error *inject_build_ids_init(struct inject *inject)
{
	const char *text = inject->options->known_build_ids;
	struct error *error = NULL;
	if (!text)
		return NULL;
	bool file = str_starts_with(text, "file://");
	if (file)
		error = read_file(text + strlen("file://"), &inject->known_text);
	else
		inject->known_text = mem_strdup(text);
	for (char *rest = inject->known_text, *line; !error && (line = strsep(&rest, file ? "\n" : ","));)
		error = add_known_id(inject, line);
	return error;
}

static const struct inject_known_id *find_known_id(const struct inject *inject, const char *path)
{
	for (size_t i = 0; i < inject->known_ids.len; i++)
		if (!strcmp(inject->known_ids.data[i].path, path))
			return &inject->known_ids.data[i];
	return NULL;
}

/* ---- files ---- */

static const char *listed_name(const struct dso *dso)
{
	return dso->kind == DSO_KERNEL ? "[kernel.kallsyms]" : dso->name;
}

/* What runs now says nothing of another machine's kernel. */
bool inject_find_build_id(const struct inject *inject, const struct dso *dso, struct buildid *ret)
{
	const struct inject_known_id *known = find_known_id(inject, listed_name(dso));
	if (known)
		*ret = known->id;
	if (known)
		return true;
	if (dso->kind == DSO_KERNEL && !dso->build_id.size && inject->options->vmlinux && !inject->options->ignore_vmlinux)
		return elf_read_build_id(inject->options->vmlinux, ret);
	bool running = dso->kind == DSO_KERNEL || dso->kind == DSO_KERNEL_MODULE || dso->kind == DSO_VDSO;
	if (running && !dso->build_id.size && !inject->same_machine)
		return false;
	return dso_read_build_id(dso, ret);
}

struct error *inject_put_build_id(struct inject *inject, const struct feature_build_id *entry)
{
	char hex[41];
	log_info("%s %s", buildid_format(&entry->id, hex), entry->filename);
	if (writer_is_pipe(inject->writer))
		return writer_add_build_id(inject->writer, entry);
	vec_push(&inject->features.build_ids, *entry);
	return NULL;
}

struct error *inject_image_build_id(struct inject *inject, const struct inject_image *image)
{
	const struct feature_build_id entry = {.misc = CPUMODE_USER, .pid = -1, .id = image->id, .filename = image->name};
	return inject->options->build_ids || inject->options->all_build_ids ? inject_put_build_id(inject, &entry) : NULL;
}

static struct error *note(struct inject *inject, const struct dso *dso)
{
	struct feature_build_id entry = {.misc = dso->kernel ? CPUMODE_KERNEL : CPUMODE_USER, .pid = -1, .filename = listed_name(dso)};
	while (inject->noted.len <= dso->index)
		vec_push(&inject->noted, false);
	if (inject->noted.data[dso->index])
		return NULL;
	inject->noted.data[dso->index] = true;
	return inject_find_build_id(inject, dso, &entry.id) ? inject_put_build_id(inject, &entry) : NULL;
}

static struct error *note_address(const struct inject_sample *sample, const struct maps *maps, uint64_t address)
{
	const struct map *map = maps ? maps_find(maps, address, sample->record->model_time) : NULL;
	return map && map->dso ? note(sample->inject, map->dso) : NULL;
}

/* All files that are known by now. */
static struct error *note_all(struct inject *inject)
{
	const struct machine *machine = inject->session->machine;
	struct error *error = NULL;
	for (size_t i = inject->noted.len; i < machine->dsos.len && !error; i++)
		error = note(inject, machine->dsos.data[i]);
	return error;
}

struct error *inject_build_ids(struct inject *inject, const struct record *record, const struct stack *stack)
{
	uint32_t type = record->header->type;
	/* Nobody knows yet what hardware trace hits. */
	bool traced = features_has(&inject->session->reader->features, FEATURE_AUXTRACE);
	if (inject->options->all_build_ids || (inject->options->build_ids && traced))
		return type == RECORD_MMAP || type == RECORD_MMAP2 || type == RECORD_KSYMBOL ? note_all(inject) : NULL;
	return inject->options->build_ids && type == RECORD_SAMPLE ? inject_visit(inject, record, stack, note_address) : NULL;
}

void inject_build_ids_deinit(struct inject *inject)
{
	vec_deinit(&inject->known_ids);
	vec_deinit(&inject->noted);
	free(inject->known_text);
}
