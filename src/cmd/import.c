/* perf import: a profile of another tool as a recording.
 *
 *	perf import                                lists the formats
 *	perf import pprof cpu.pb.gz                cpu.pb.gz → perf.data
 *	other-tool | perf import folded - -o other.data
 */
#include "analysis/import/imported.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/opening.h"
#include "symbol/elf/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	import_fn *read;
	const char *summary;
} formats[] = {
	{"folded", import_folded, "lines of 'main;function;... WEIGHT', as of stackcollapse scripts, py-spy, async-profiler and others"},
	{"pprof", import_pprof, "profile.proto, compressed or not, as of Go, gperftools and others"},
	{"speedscope", import_speedscope, "JSON for speedscope.app, as of rbspy, py-spy, pprof-rs and others"},
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct import_command_options {
	const char *output;
	bool comm;
	bool sandbox;
	struct output_options output_options;
};

#define TYPE struct import_command_options
static const struct option import_option_table[] = {
	OPTION_STRING('o', "output", TYPE, output, "FILE", "recording to write (default perf.data)"),
	OPTION_FLAG(0, "comm", TYPE, comm, "folded: the outermost frames are names of threads, as 'perf export folded' writes them"),
	OPTION_SANDBOX(TYPE, sandbox),
	OPTION_GROUP(output_option_group, TYPE, output_options),
	OPTION_END,
};

static void list_formats(void)
{
	for (size_t i = 0; i < FORMATS; i++)
		printf("  %-12s  %s\n", formats[i].name, formats[i].summary);
}

static struct error *find_format(const char *name, import_fn **ret)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i].name, name)) {
			*ret = formats[i].read;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "unknown format '%s': choose one of folded, pprof, speedscope", name);
}

enum { INPUT_MAX = 1 << 30 };

static struct error *read_input(const char *path, struct strbuf *ret)
{
	cleanup_close int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (fd < 0)
		return error_system(errno, "%s", path);
	int failed = strbuf_read(ret, fd, INPUT_MAX);
	return failed ? error_system(-failed, "%s", path) : NULL;
}

/* In place of what is compressed. */
static struct error *unpack(const char *name, struct strbuf *text)
{
	enum inflate_kind kind = inflate_detect((const uint8_t *)strbuf_str(text), text->len);
	size_t size;
	if (kind == INFLATE_NONE)
		return NULL;
	void *unpacked = inflate_buffer(kind, (const uint8_t *)text->data, text->len, inflate_limit(text->len), &size);
	if (!unpacked)
		return error_new("%s cannot be unpacked: it is damaged, or unpacks to more than %zu MB", name,
				 inflate_limit(text->len) >> 20);
	strbuf_clear(text);
	strbuf_add(text, unpacked, size);
	free(unpacked);
	return NULL;
}

static void tell(const struct imported *imported, uint64_t cut)
{
	if (imported->left_out)
		log_warning("%llu entries were not understood and left out", (unsigned long long)imported->left_out);
	if (cut)
		log_warning("%llu stacks are cut: a recording can have no deeper ones", (unsigned long long)cut);
	log_info("%zu samples, %zu events, %zu threads", imported->samples.len, imported->events.len, imported->threads.len);
}

static struct error *import(import_fn *read, const char *path, const struct import_command_options *options, const char *const *words)
{
	const struct import_options reading = {.name = strcmp(path, "-") != 0 ? path : "standard input", .comm = options->comm};
	struct imported imported = {0};
	struct strbuf text = {0};
	uint64_t cut = 0;
	if (options->sandbox)
		opening_sandbox(&(struct input_options){.input = path}, options->output ? options->output : "perf.data", NULL);
	struct error *error = read_input(path, &text);
	error = error ? error : unpack(reading.name, &text);
	error = error ? error : read(strbuf_str(&text), text.len, &reading, &imported);
	if (!error && !imported.samples.len)
		error = error_new("%s has no samples: nothing to import", reading.name);
	strbuf_deinit(&text);
	error = error ? error : imported_write(&imported, options->output, words, &cut);
	if (!error)
		tell(&imported, cut);
	imported_deinit(&imported);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct import_command_options options = {.sandbox = true};
	import_fn *read = NULL;
	int words;
	(void)ret_status;
	struct error *error = options_parse(import_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (error)
		return error;
	if (!words) {
		list_formats();
		return NULL;
	}
	error = find_format(argv[0], &read);
	if (error)
		return error;
	if (words != 2)
		return error_new_kind(ERROR_USAGE, "give one file to import, or - for standard input");
	if (options.comm && read != import_folded)
		return error_new_kind(ERROR_USAGE, "--comm is for folded stacks; %s has names of threads of its own", argv[0]);
	if (options.output && !strcmp(options.output, "-"))
		return error_new_kind(ERROR_USAGE, "a recording with names of its own cannot be a stream: give a file with -o");
	return import(read, argv[1], &options, (const char *const[]){"perf", "import", argv[0], argv[1], NULL});
}

static const char *const usage[] = {"", "FORMAT FILE [<options>]", NULL};
const struct command cmd_import = {
	.name = "import",
	.summary = "Read a profile of another tool into a recording",
	.usage = usage,
	.options = import_option_table,
	.run = run,
};
