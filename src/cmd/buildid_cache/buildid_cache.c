/* perf buildid-cache: puts files into the cache by which recordings are understood when the files have changed, takes them out, and tells
 * what is there.
 *
 *	15dfff3239aa7c3b16a71e6b2e3b6e4009dab998 /usr/bin/ls
 */
#include "cmd/buildid_cache/buildid_cache.h"
#include "app/command.h"
#include "app/config.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/name_list.h"
#include "cmd/opening.h"
#include "cmd/probe/cache.h"
#include "session/session.h"
#include "symbol/buildid_cache.h"
#include "symbol/elf/elf.h"
#include "symbol/kernel/kcore_copy.h"
#include "symbol/kernel/running_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buildid_cache_options {
	struct name_list add, remove, purge, update;
	const char *missing, *kcore;
	int target_ns;
	bool list, purge_all, force, debuginfod, sandbox;
	struct output_options output;
};

#define TYPE struct buildid_cache_options
static const struct option buildid_cache_options[] = {
	OPTION_CUSTOM_FLAGS('a', "add", TYPE, add, "FILE,…",
			    "add these files to the cache; for a recording, add the files that were "
			    "sampled",
			    name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('r', "remove", TYPE, remove, "FILE,…", "remove the cached copies that match these files", name_list_option,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('p', "purge", TYPE, purge, "FILE,…", "remove all cached copies of files with these names, including older ones",
			    name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('u', "update", TYPE, update, "FILE,…", "replace the cached copies of these files", name_list_option,
			    OPTION_NO_NEGATION),
	OPTION_FLAG('P', "purge-all", TYPE, purge_all, "remove everything"),
	OPTION_FLAG('l', "list", TYPE, list, "list the build-ids and names in the cache"),
	OPTION_STRING('M', "missing", TYPE, missing, "FILE", "list the build-ids of a recording that are not in the cache"),
	OPTION_FLAG('f', "force", TYPE, force, "with -M: read the recording even if another user owns it"),
	OPTION_INT(0, "target-ns", TYPE, target_ns, "PID", "look for files in the mount namespace of this process (a container)"),
	OPTION_STRING('k', "kcore", TYPE, kcore, "FILE",
		      "keep the code of the running kernel, as it is in memory, with its symbols: FILE is /proc/kcore (root)"),
	OPTION_CUSTOM_FLAGS(
		0, "debuginfod", TYPE, debuginfod, "URLS",
		"with -a and a recording: fetch missing files and debug files from these servers, or from those in DEBUGINFOD_URLS",
		buildid_cache_option_servers, OPTION_OPTIONAL_ARGUMENT),
	OPTION_SANDBOX(TYPE, sandbox),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_END,
};

/* A file that is named on the command line. */
struct subject {
	char *name; /* in the cache: without links, as the target sees it */
	char *path; /* where it is for us */
	struct buildid id;
	char id_text[41];
};

static void subject_deinit(struct subject *subject)
{
	free(subject->name);
	free(subject->path);
}

static struct error *find_subject(const struct buildid_cache_options *options, const char *file, bool needs_id, struct subject *ret)
{
	char root[40] = "";
	if (options->target_ns)
		snprintf(root, sizeof(root), "/proc/%d/root", options->target_ns);
	*ret = (struct subject){.path = mem_printf("%s%s", root, file)};
	ret->name = *root ? mem_strdup(file) : realpath(file, NULL);
	if (!ret->name && needs_id)
		return error_system(errno, "%s", file);
	if (!ret->name)
		ret->name = mem_strdup(file);
	if (needs_id && !elf_read_build_id(ret->path, &ret->id))
		return error_new("%s has no build-id or is not an ELF file", file);
	buildid_format(&ret->id, ret->id_text);
	return NULL;
}

static struct error *add(const char *cache, const struct subject *subject)
{
	struct error *error = buildid_cache_add(cache, &subject->id, subject->name, subject->path);
	return error ? error : probe_cached_add_static(cache, subject->name, subject->id_text, subject->path);
}

static struct error *take_out(const char *cache, const struct subject *subject)
{
	return buildid_cache_remove(cache, subject->id_text) ? NULL : error_new("%s is not in the cache %s", subject->path, cache);
}

static struct error *update(const char *cache, const struct subject *subject)
{
	buildid_cache_remove(cache, subject->id_text);
	return add(cache, subject);
}

/* Removes entries of a name, or all with NULL; returns how many. */
static size_t purge_name(const char *cache, const char *name)
{
	struct buildid_cache_list list;
	size_t removed = 0;
	buildid_cache_list(cache, &list);
	for (size_t i = 0; i < list.entries.len; i++) {
		const struct buildid_cache_entry *entry = &list.entries.data[i];
		if (!name || !strcmp(entry->name, name))
			removed += buildid_cache_remove(cache, entry->id);
	}
	buildid_cache_list_deinit(&list);
	return removed;
}

static struct error *purge(const char *cache, const struct subject *subject)
{
	return purge_name(cache, subject->name) ? NULL : error_new("%s is not in the cache %s", subject->name, cache);
}

/* Goes on after a file that fails; the last failure is returned, those before are warnings. */
static struct error *for_each(const struct buildid_cache_options *options, const char *cache, const struct name_list *files, bool needs_id,
			      struct error *(*action)(const char *cache, const struct subject *subject))
{
	struct error *last = NULL;
	for (size_t i = 0; i < files->names.len; i++) {
		struct subject subject;
		struct error *error = find_subject(options, files->names.data[i], needs_id, &subject);
		if (!error)
			error = action(cache, &subject);
		if (!error && options->output.verbose > 0)
			fprintf(stderr, "%s: Ok\n", files->names.data[i]);
		subject_deinit(&subject);
		if (error && last) {
			log_warning("%s", error_message(last));
			error_free(last);
		}
		last = error ? error : last;
	}
	return last;
}

static void print_line(const char *id, const char *name)
{
	struct strbuf line = {0};
	text_add_safe(&line, name, strlen(name));
	printf("%s %s\n", id, strbuf_str(&line));
	strbuf_deinit(&line);
}

static void show(const char *cache)
{
	struct buildid_cache_list list;
	buildid_cache_list(cache, &list);
	for (size_t i = 0; i < list.entries.len; i++)
		print_line(list.entries.data[i].id, list.entries.data[i].name);
	buildid_cache_list_deinit(&list);
}

static struct error *show_missing(const struct buildid_cache_options *options, const char *cache)
{
	struct session_options session_options = {.input = {.path = options->missing, .force = options->force}};
	struct session *session;
	struct error *error = session_open(&session_options, &session);
	if (error)
		return error;
	for (size_t i = 0; i < session->machine->dsos.len; i++) {
		const struct dso *dso = session->machine->dsos.data[i];
		char id[41];
		if (dso->build_id.size && !buildid_cache_has(cache, &dso->build_id))
			print_line(buildid_format(&dso->build_id, id), dso->name);
	}
	session_close(session);
	return NULL;
}

/* Recordings among the files to add; the rest of them is left to be done. */
static struct error *add_recordings(struct buildid_cache_options *options, const char *cache)
{
	const struct debug_server_options server_options = {.budget_ms = BUILDID_CACHE_FETCHING_MS};
	struct debug_server *server = options->debuginfod ? debug_server_create(&server_options) : NULL;
	struct error *error = NULL;
	size_t kept = 0;
	for (size_t i = 0; i < options->add.names.len; i++) {
		const char *name = options->add.names.data[i];
		if (error || !buildid_cache_is_recording(name)) {
			options->add.names.data[kept++] = name;
			continue;
		}
		error = buildid_cache_add_recording(cache, name, options->force, options->output.verbose > 0, server);
	}
	options->add.names.len = kept;
	debug_server_end(server);
	return error;
}

/* Files of one's own choice can be linked from outside of the sandbox only, where they need no room. */
static bool reads_recordings(const struct buildid_cache_options *options)
{
	bool reads = options->missing != NULL;
	for (size_t i = 0; i < options->add.names.len; i++)
		reads |= buildid_cache_is_recording(options->add.names.data[i]);
	return reads;
}

/* -k: the code of the kernel that runs. */
static struct error *add_kcore(const struct buildid_cache_options *options, const char *cache)
{
	cleanup_free char *copy = NULL;
	const char *slash = strrchr(options->kcore, '/');
	cleanup_free char *folder = slash ? mem_strndup(options->kcore, (size_t)(slash - options->kcore)) : NULL;
	struct buildid id;
	bool is_new;
	if (!folder || strcmp(slash, "/kcore") != 0)
		return error_new_kind(ERROR_USAGE, "-k %s: expected /proc/kcore, the memory of the kernel that runs", options->kcore);
	if (!running_kernel_build_id(&id))
		return error_new("the kernel does not report its build-id (/sys/kernel/notes)");
	struct error *error = kcore_copy_to_cache(folder, cache, &id, &copy, &is_new);
	if (!error && !is_new)
		log_warning("The cache already has the code of this boot: %s", copy);
	else if (!error && options->output.verbose > 0)
		fprintf(stderr, "%s: Ok, %s\n", options->kcore, copy);
	return error;
}

static struct error *act(struct buildid_cache_options *options)
{
	cleanup_free char *cache = config_buildid_dir();
	if (!cache)
		return error_new("no build-id cache: neither HOME nor PERF_BUILDID_DIR is set");
	struct error *error = NULL;
	if (options->sandbox && reads_recordings(options))
		opening_sandbox_with_cache(cache, options->debuginfod);
	if (options->purge_all) {
		purge_name(cache, NULL);
		kcore_copy_purge(cache);
	}
	error = for_each(options, cache, &options->remove, true, take_out);
	if (!error)
		error = for_each(options, cache, &options->purge, false, purge);
	if (!error && options->kcore)
		error = add_kcore(options, cache);
	if (!error)
		error = add_recordings(options, cache);
	if (!error)
		error = for_each(options, cache, &options->add, true, add);
	if (!error)
		error = for_each(options, cache, &options->update, true, update);
	if (!error && options->missing)
		error = show_missing(options, cache);
	if (!error && options->list)
		show(cache);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct buildid_cache_options options = {.sandbox = true};
	int words;
	struct error *error = options_parse(buildid_cache_options, OPTIONS_PERMUTE, argc, argv, &options, &words);
	bool nothing = !options.add.names.len && !options.remove.names.len && !options.purge.names.len && !options.update.names.len &&
		       !options.missing && !options.list && !options.purge_all && !options.kcore;
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s': files must follow -a, -r, -p or -u", argv[0]);
	if (!error && nothing)
		error = error_new_kind(ERROR_USAGE, "nothing to do: use -a FILE to add, -r FILE to remove, -l to list");
	if (!error)
		error = act(&options);
	name_list_deinit(&options.add);
	name_list_deinit(&options.remove);
	name_list_deinit(&options.purge);
	name_list_deinit(&options.update);
	return error;
}

static const char *const usage[] = {"[options]", NULL};
const struct command cmd_buildid_cache = {"buildid-cache", "Manage the cache of programs that recordings need", usage,
					  buildid_cache_options, run};
