/* perf agent symbolize: names for frames that agents could not name, since their machines have stripped files. Each file is looked for
 * once, by its build-id: at its path, in the build-id cache, among debug files of this machine, on servers of debug files. */
#include "app/format_option.h"
#include "base/cleanup.h"
#include "cmd/agent/agent.h"
#include "cmd/from.h"
#include "fleet/clickhouse/naming.h"
#include "symbol/debug_server.h"
#include "symbol/resolve.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

enum { DEBUGINFOD_SECONDS = 600 };

struct symbolize_options {
	const char *from, *format;
	const char *symfs;
	uint64_t debuginfod_seconds;
	struct output_options output;
};

#define TYPE struct symbolize_options
static const struct option symbolize_option_table[] = {
	OPTION_STRING(0, "from", TYPE, from, "URL", "the database, clickhouse://[USER@]HOST[:PORT][/DATABASE]"),
	OPTION_STRING(0, "symfs", TYPE, symfs, "FOLDER", "look for files below this folder"),
	OPTION_U64(0, "debuginfod-timeout", TYPE, debuginfod_seconds, "SECONDS",
		   "how long servers of debug files ($DEBUGINFOD_URLS) may take for all files (default 600; 0: they aren't asked)"),
	OPTION_CUSTOM_FLAGS(0, "format", TYPE, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_END,
};

/* From the address that the file itself is about to how we look symbols up: symtab_vaddr() backwards. False: it is in no segment. */
static bool dso_address(const struct symtab *symtab, uint64_t vaddr, uint64_t *ret)
{
	for (size_t i = 0; i < symtab->segment_count; i++) {
		uint64_t offset = vaddr - symtab->segments[i].vaddr;
		*ret = symtab->segments[i].dso_addr + offset;
		if (vaddr >= symtab->segments[i].vaddr && offset < symtab->segments[i].size)
			return true;
	}
	*ret = vaddr;
	return !symtab->segment_count;
}

struct symbolizing {
	struct clickhouse *clickhouse;
	struct unnamed unnamed;
	struct symbol_options symbols;
	struct table *table;
};

static uint64_t name_frames(struct unnamed *unnamed, const struct symtab *symtab)
{
	uint64_t named = 0;
	for (size_t i = 0; i < unnamed->frames.len; i++) {
		struct unnamed_frame *frame = &unnamed->frames.data[i];
		uint64_t address;
		const struct symbol *symbol = dso_address(symtab, frame->address, &address) ? symtab_find(symtab, address) : NULL;
		frame->function = symbol ? symbol->name : NULL;
		named += symbol != NULL;
	}
	return named;
}

static void tell(struct table *table, const struct unnamed_file *file, uint64_t named, const char *origin)
{
	const union cell cells[] = {
		{.integer = file->frames},
		{.integer = named},
		{.text = arena_strdup(&table->arena, file->build_id)},
		{.text = arena_strdup(&table->arena, file->file)},
		{.text = arena_strdup(&table->arena, origin)},
	};
	table_add_row(table, cells);
}

/* The symbols of one file are in memory at a time. */
static struct error *symbolize_file(struct symbolizing *symbolizing, const struct unnamed_file *file)
{
	struct map_description description = {.name = file->file};
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &symbolizing->symbols);
	struct error *error = NULL;
	uint64_t named = 0;
	bool carried;
	buildid_parse(file->build_id, strlen(file->build_id), &description.build_id);
	struct dso *dso = machine_file(machine, &description);
	const struct symtab *symtab = resolver_symtab(resolver, dso);
	if (symtab->count) {
		error = clickhouse_ask_unnamed_frames(symbolizing->clickhouse, file, &symbolizing->unnamed);
		named = error ? 0 : name_frames(&symbolizing->unnamed, symtab);
		error = error ? error : clickhouse_name_frames(symbolizing->clickhouse, file, &symbolizing->unnamed);
	}
	const char *origin = resolver_origin(resolver, dso, &carried);
	tell(symbolizing->table, file, named, named && origin ? origin : symbol_source_text(resolver_source(resolver, dso)));
	resolver_destroy(resolver);
	machine_destroy(machine);
	return error;
}

static struct error *symbolize(struct symbolizing *symbolizing)
{
	struct error *error = clickhouse_ask_unnamed_files(symbolizing->clickhouse, &symbolizing->unnamed);
	for (size_t i = 0; i < symbolizing->unnamed.files.len && !error; i++)
		error = symbolize_file(symbolizing, &symbolizing->unnamed.files.data[i]);
	return error;
}

static struct table *make_table(void)
{
	static const struct column columns[] = {
		{.id = "frames", .title = "Frames", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "named", .title = "Named", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "build_id", .title = "Build-id"},
		{.id = "file", .title = "File"},
		{.id = "symbols", .title = "Symbols"},
	};
	return table_create_columns("symbolize", columns, sizeof(columns) / sizeof(*columns));
}

static struct error *run_with(const struct symbolize_options *options, const struct http_options *http)
{
	const struct debug_server_options settings = {.budget_ms = options->debuginfod_seconds * 1000};
	struct symbolizing symbolizing = {.symbols = {.symfs = options->symfs, .proc = "/proc", .demangle = true, .ignore_vmlinux = true}};
	cleanup_free char *cache = config_buildid_dir();
	struct error *error = clickhouse_open(options->from, http, &symbolizing.clickhouse);
	if (error)
		return error;
	if (cache) /* files of others are looked into */
		opening_sandbox_with_cache(cache, true);
	struct debug_server *server = debug_server_create(&settings);
	symbolizing.symbols.buildid_dir = cache;
	symbolizing.symbols.debug_server = server;
	symbolizing.table = make_table();
	error = symbolize(&symbolizing);
	debug_server_end(server);
	clickhouse_close(symbolizing.clickhouse);
	unnamed_deinit(&symbolizing.unnamed);
	if (!error)
		return view_print_table(options->format ? options->format : "stdio", symbolizing.table, stdout);
	table_destroy(symbolizing.table);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct symbolize_options options = {.debuginfod_seconds = DEBUGINFOD_SECONDS};
	struct config config = {0};
	struct http_options http;
	(void)ret_status;
	struct error *error = options_parse_alone(symbolize_option_table, argc, argv, &options, "");
	error = error ? error : fleet_access_open(options.from, &config, &http);
	error = error ? error : run_with(&options, &http);
	config_close(&config);
	return error;
}

static const char *const usage[] = {"--from URL [OPTIONS]", NULL};
const struct command cmd_agent_symbolize = {
	"agent symbolize", "Name functions of stripped files in a database, by their build-ids",
	.usage = usage,	   .options = symbolize_option_table,
	.run = run,
};
