/* perf buildid-list: the build-ids of the files in a recording, of the running kernel and its modules, or of one ELF file.
 *
 *	e4f18d9dc1d0e6fc2b17e93e885a647b3c0a6fc1 [kernel.kallsyms]
 *	135afc8c6d1b9e02356cce218bf0109c3687ad9f /usr/bin/bash
 *
 * The recording's own table is shown when it has one: no record is read then. Without a table, or with -H, the files that samples hit. */
#include "analysis/hits.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/text.h"
#include "capture/synth/synth.h"
#include "cmd/opening.h"
#include "cmd/sides.h"
#include "kernel/fix.h"
#include "session/apply.h"
#include "session/session.h"
#include "symbol/elf/elf.h"
#include "symbol/kernel/running_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buildid_list_options {
	const char *input;
	bool force;
	bool sandbox;
	bool with_hits;
	bool kernel;
	bool kernel_maps;
	enum machine_sides sides;
	struct output_options output;
};

static const struct option buildid_list_options[] = {
	OPTION_STRING('i', "input", struct buildid_list_options, input, "FILE",
		      "recording or ELF file to read (default perf.data, or standard input where that is a pipe; - for standard input)"),
	OPTION_FLAG('f', "force", struct buildid_list_options, force, "read the recording even if another user owns it"),
	OPTION_FLAG('H', "with-hits", struct buildid_list_options, with_hits, "only files that contain samples"),
	OPTION_FLAG('k', "kernel", struct buildid_list_options, kernel, "show the build-id of the running kernel"),
	OPTION_FLAG('m', "kernel-maps", struct buildid_list_options, kernel_maps,
		    "show build-ids and addresses of the running kernel and its modules"),
	OPTION_SIDES(struct buildid_list_options, sides),
	OPTION_SANDBOX(struct buildid_list_options, sandbox),
	OPTION_GROUP(output_option_group, struct buildid_list_options, output),
	OPTION_END,
};

static void add_safe_line(struct strbuf *out, const char *name)
{
	text_add_safe(out, name, strlen(name));
	strbuf_add_char(out, '\n');
}

/* ---- the running kernel ---- */

static struct error *show_kernel(struct strbuf *out)
{
	struct buildid id;
	char hex[41];
	if (!running_kernel_build_id(&id))
		return error_new("the running kernel has no build-id in /sys/kernel/notes");
	strbuf_printf(out, "%s\n", buildid_format(&id, hex));
	return NULL;
}

static bool show_kernel_map(const struct map *map, uint64_t start, uint64_t end, void *context)
{
	struct strbuf *out = context;
	struct buildid id = {0};
	char hex[41];
	if (map->dso->kind == DSO_KERNEL)
		running_kernel_build_id(&id);
	else
		running_module_build_id(map->dso->name, &id);
	strbuf_printf(out, "%s %16llx %16llx ", buildid_format(&id, hex), (unsigned long long)start, (unsigned long long)end);
	add_safe_line(out, map->dso->name);
	return true;
}

/* The recorder's view of the kernel, put into a machine as if it had been recorded. */
static struct error *show_kernel_maps(struct strbuf *out)
{
	struct strbuf records = {0};
	struct synth synth = {.out = &records};
	struct machine *machine = machine_create();
	synth_kernel(&synth);
	for (size_t at = 0; at < records.len;) {
		const struct record_header *header = (const struct record_header *)(records.data + at);
		apply_sideband(machine, header, 0);
		at += header->size;
	}
	maps_visit(machine->kernel_maps, 0, show_kernel_map, out);
	machine_destroy(machine);
	strbuf_deinit(&records);
	if (out->len)
		return NULL;
	return fix_error_of_hidden_addresses();
}

/* ---- a recording ---- */

/* BPF programs and trampolines are code of the kernel without a file. */
static bool is_file(const struct dso *dso)
{
	return dso->kind != DSO_BPF && dso->kind != DSO_KSYMBOL;
}

/* `hit` NULL: the header's table. */
static void show_dsos(const struct session *session, const uint64_t *hit, struct strbuf *out)
{
	const struct machine *machine = session->machine;
	char hex[41];
	for (size_t i = 0; i < machine->dsos.len; i++) {
		const struct dso *dso = machine->dsos.data[i];
		if (hit ? !hit[i] || !is_file(dso) : !dso->header_build_id)
			continue;
		strbuf_printf(out, "%-40s ", buildid_format(&dso->build_id, hex));
		add_safe_line(out, dso->name);
	}
}

static struct error *show_hits(struct session *session, enum machine_sides sides, struct strbuf *out)
{
	uint64_t *hit;
	struct error *error = hits_find(session, sides, &hit);
	if (error)
		return error;
	show_dsos(session, hit, out);
	free(hit);
	return NULL;
}

/* As a stream where possible: then the file's records aren't looked at before they are needed. */
static struct error *open_recording(const struct buildid_list_options *options, bool streaming, struct session **ret)
{
	struct session_options session_options = {
		.input = {.path = options->input, .force = options->force},
		.streaming = streaming && strcmp(options->input ? options->input : reader_default_path(), "-"),
	};
	return session_open(&session_options, ret);
}

static struct error *show_recording(const struct buildid_list_options *options, struct strbuf *out)
{
	struct session *session;
	struct error *error = open_recording(options, true, &session);
	if (error)
		return error;
	const struct features *features = &session->reader->features;
	/* Hardware trace isn't decoded, so nobody knows what it hits. */
	bool with_hits = options->with_hits && !features_has(features, FEATURE_AUXTRACE);
	if (with_hits || !features_has(features, FEATURE_BUILD_ID)) {
		if (!session->reader->stable) {
			session_close(session);
			if ((error = open_recording(options, false, &session)))
				return error;
		}
		error = show_hits(session, options->sides, out);
	} else {
		show_dsos(session, NULL, out);
	}
	session_close(session);
	return error;
}

static bool show_elf(const char *path, struct strbuf *out)
{
	struct buildid id;
	char hex[41];
	if (!path || !strcmp(path, "-") || !elf_read_build_id(path, &id))
		return false;
	strbuf_printf(out, "%s\n", buildid_format(&id, hex));
	return true;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct buildid_list_options options = {.sandbox = true};
	struct error *error = options_parse_alone(buildid_list_options, argc, argv, &options, ": give the file with -i");
	if (error)
		return error;
	if (options.sandbox)
		opening_sandbox(&(struct input_options){.input = options.input}, NULL, NULL);
	struct strbuf out = {0};
	if (options.kernel)
		error = show_kernel(&out);
	else if (options.kernel_maps)
		error = show_kernel_maps(&out);
	else if (!show_elf(options.input, &out))
		error = show_recording(&options, &out);
	fputs(strbuf_str(&out), stdout);
	strbuf_deinit(&out);
	return error;
}

static const char *const usage[] = {"[options]", NULL};
const struct command cmd_buildid_list = {"buildid-list", "List the build-ids in a recording", usage, buildid_list_options, run};
