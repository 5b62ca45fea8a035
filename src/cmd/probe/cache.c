/* perf probe --cache, and the static tracepoints of programs that buildid-cache takes in (symbol/probe_cache.h has the files). What is kept
 * tells which program means what; definitions are worked out anew when a probe is made, so they are never those of an older file. */
#include "cmd/probe/cache.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/probe/probe.h"
#include "symbol/buildid_cache.h"
#include "symbol/elf/sdt.h"
#include "symbol/kernel/running_kernel.h"
#include "symbol/probe_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error *find_dir(char **ret)
{
	*ret = config_buildid_dir();
	return *ret ? NULL : error_new("no probe cache: neither HOME nor PERF_BUILDID_DIR is set");
}

/* ---- adding ---- */

/* What the target is called in the cache. */
static struct error *name_target(const struct probe_target *target, const char **ret_name, struct buildid *ret_id)
{
	bool kernel = target->kernel && !target->module;
	*ret_name = kernel ? "[kernel.kallsyms]" : target->path;
	if (kernel ? running_kernel_build_id(ret_id) : target->path && elf_read_build_id(target->path, ret_id))
		return NULL;
	return error_new("%s has no build-id, so its probes cannot be cached; without --cache they are added but not cached",
			 kernel		? "the kernel"
			 : target->path ? target->path
					: target->module);
}

/* "GROUP:EVENT=" in front of a probe that got a name of its own, as the kernel's perf writes it. */
static char *words_of(const struct probe_definition *one)
{
	struct probe_spec spec;
	struct error *error = probe_spec_parse(one->source, &spec);
	const char *place = strchr(one->source, '=');
	char *words;
	if (!error && spec.provider && !spec.event)
		words = mem_printf("%s:%s=%s", one->group, one->event, one->event);
	else if (!error && spec.event && place)
		words = mem_printf("%s:%s=%s", one->group, spec.event, place + 1);
	else
		words = mem_strdup(one->source);
	if (error)
		error_free(error);
	else
		probe_spec_deinit(&spec);
	return words;
}

/* Groups of static tracepoints begin so: sdt_PROVIDER. */
static bool is_static(const struct probe_definition *one)
{
	return str_starts_with(one->group, "sdt_");
}

/* Definitions of one text and event stand behind each other; they are one entry. */
static void put_all(struct probe_cache *cache, const struct probe_definitions *list)
{
	for (size_t i = 0; i < list->items.len;) {
		const struct probe_definition *first = &list->items.data[i];
		cleanup_free char *words = words_of(first);
		struct strbuf lines = {0};
		for (;
		     i < list->items.len && list->items.data[i].source == first->source && !strcmp(list->items.data[i].event, first->event);
		     i++) {
			cleanup_free char *line = probe_definition_text(&list->items.data[i]);
			strbuf_printf(&lines, "%s\n", line);
		}
		probe_cache_put(cache, is_static(first), words, strbuf_str(&lines));
		strbuf_deinit(&lines);
	}
}

struct error *probe_cached_add(const struct probe_options *options, const struct probe_target *target, const struct probe_definitions *list)
{
	cleanup_free char *dir = NULL;
	struct probe_cache cache;
	struct buildid id;
	const char *name;
	char text[41];
	struct error *error = find_dir(&dir);
	if (!error)
		error = name_target(target, &name, &id);
	if (!error)
		error = buildid_cache_add(dir, &id, name, name);
	if (error || options->dry_run)
		return error;
	probe_cache_read(dir, name, buildid_format(&id, text), &cache);
	put_all(&cache, list);
	error = probe_cache_write(&cache);
	probe_cache_deinit(&cache);
	return error;
}

/* For sdt_visit(). */
static void count_static(void *context, const struct sdt_probe *probe)
{
	++*(size_t *)context;
}

struct error *probe_cached_add_static(const char *dir, const char *name, const char *id, const char *path)
{
	struct probe_options options = {.target.exec = path, .target.max_probes = UINT64_MAX, .target.demangle = true};
	struct probe_definitions list = {0};
	struct probe_target target;
	struct probe_cache cache;
	struct elf_file elf;
	size_t count = 0;
	struct error *error = elf_open(path, &elf);
	if (error)
		return error;
	sdt_visit(&elf, count_static, &count);
	elf_close(&elf);
	if (!count || (error = probe_target_open(&options.target, &target)))
		return error;
	target.shown = name;
	error = probe_define(&options.target, &target, "%sdt_*:*", &list);
	probe_cache_read(dir, name, id, &cache);
	if (!error) {
		put_all(&cache, &list);
		error = probe_cache_write(&cache);
	}
	probe_cache_deinit(&cache);
	probe_definitions_deinit(&list);
	probe_target_close(&target);
	return error;
}

/* ---- what is kept ---- */

/* Visits the files of the cache; with -x only the program's. */
static struct error *visit_files(const struct probe_options *options,
				 struct error *(*visit)(void *context, const struct buildid_cache_entry *entry, struct probe_cache *cache),
				 void *context)
{
	cleanup_free char *dir = NULL;
	char exec[PATH_MAX];
	struct error *error = find_dir(&dir);
	if (error)
		return error;
	if (options->target.exec && !realpath(options->target.exec, exec))
		return error_system(errno, "-x %s", options->target.exec);
	struct buildid_cache_list list;
	buildid_cache_list(dir, &list);
	for (size_t i = 0; !error && i < list.entries.len; i++) {
		const struct buildid_cache_entry *entry = &list.entries.data[i];
		struct probe_cache cache;
		if (options->target.exec && strcmp(entry->name, exec) != 0)
			continue;
		probe_cache_read(dir, entry->name, entry->id, &cache);
		if (cache.entries.len)
			error = visit(context, entry, &cache);
		probe_cache_deinit(&cache);
	}
	buildid_cache_list_deinit(&list);
	return error;
}

/* The program's name is a title above its probes; none where no probe fits. */
static struct error *show_file(void *context, const struct buildid_cache_entry *entry, struct probe_cache *cache)
{
	const struct probe_options *options = context;
	bool titled = false;
	for (size_t i = 0; i < cache->entries.len; i++) {
		if (options->list_pattern && !probe_cache_matches(&cache->entries.data[i], options->list_pattern))
			continue;
		cleanup_free char *name = text_safe_copy(entry->name), *spec = text_safe_copy(cache->entries.data[i].spec);
		if (!titled)
			printf("%s (%s):\n", name, entry->id);
		titled = true;
		puts(spec);
	}
	return NULL;
}

struct error *probe_cached_list(const struct probe_options *options)
{
	return visit_files(options, show_file, (void *)options);
}

struct deleting {
	const struct probe_options *options;
	const char *pattern;
	bool any;
};

/* Rewrites the file when something was deleted, but not with --dry-run. */
static struct error *delete_in_file(void *context, const struct buildid_cache_entry *entry, struct probe_cache *cache)
{
	struct deleting *deleting = context;
	const struct probe_options *options = deleting->options;
	bool any = false;
	for (size_t i = 0; i < cache->entries.len;) {
		if (!probe_cache_matches(&cache->entries.data[i], deleting->pattern)) {
			i++;
			continue;
		}
		cleanup_free char *spec = text_safe_copy(cache->entries.data[i].spec);
		if (!options->output.quiet)
			fprintf(stderr, "%s cached event: %s\n", options->dry_run ? "This would remove the" : "Removed", spec);
		probe_cache_remove(cache, i);
		any = deleting->any = true;
	}
	return any && !options->dry_run ? probe_cache_write(cache) : NULL;
}

struct error *probe_cached_delete(const struct probe_options *options, int *ret_status)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < options->delete.items.len; i++) {
		struct deleting deleting = {.options = options, .pattern = options->delete.items.data[i]};
		error = visit_files(options, delete_in_file, &deleting);
		if (!error && !deleting.any) {
			error = error_new("no probe named '%s' in the cache ('perf probe --cache -l' lists them)", deleting.pattern);
			*ret_status = 256 - ENOENT;
		}
	}
	return error;
}

/* ---- static tracepoints by name ---- */

struct finding {
	const char *pattern;
	struct error *(*visit)(void *context, const char *path);
	void *context;
	bool any;
	char *changed; /* a program that has it, but isn't the cached one any more */
};

/* Whether the program of that name is the one that was added to the cache. */
static bool is_still(const struct buildid_cache_entry *entry)
{
	struct buildid id;
	char text[41];
	return elf_read_build_id(entry->name, &id) && !strcmp(buildid_format(&id, text), entry->id);
}

/* Calls the visitor for a program that has the static tracepoint. */
static struct error *look_in_file(void *context, const struct buildid_cache_entry *entry, struct probe_cache *cache)
{
	struct finding *finding = context;
	bool has = false;
	for (size_t i = 0; !has && i < cache->entries.len; i++)
		has = cache->entries.data[i].is_static && probe_cache_matches(&cache->entries.data[i], finding->pattern);
	if (!has)
		return NULL;
	if (is_still(entry)) {
		finding->any = true;
		return finding->visit(finding->context, entry->name);
	}
	log_info("%s no longer has the build-id %s: skipped", entry->name, entry->id);
	free(finding->changed);
	finding->changed = mem_strdup(entry->name);
	return NULL;
}

struct error *probe_cached_visit_static(const char *text, struct error *(*visit)(void *context, const char *path), void *context)
{
	struct probe_options everywhere = {0};
	struct probe_spec spec;
	struct error *error = probe_spec_parse(text, &spec);
	if (error)
		return error;
	cleanup_free char *pattern = mem_printf("sdt_%s:%s", spec.provider, spec.function);
	struct finding finding = {.pattern = pattern, .visit = visit, .context = context};
	probe_spec_deinit(&spec);
	error = visit_files(&everywhere, look_in_file, &finding);
	if (!error && !finding.any && finding.changed)
		error = error_new("'%s': %s has changed since it was added to the cache: perf buildid-cache -a %s", text, finding.changed,
				  finding.changed);
	else if (!error && !finding.any)
		error = error_new(
			"'%s': unknown program: give it with -x PROGRAM, or add the program to the cache: perf buildid-cache -a PROGRAM",
			text);
	free(finding.changed);
	return error;
}
