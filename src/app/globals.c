/* The options before the command, as a table: name, whether it takes a value, what it does. */
#include "app/globals.h"

#include "app/config.h"
#include "app/places.h"
#include "app/usage.h"

#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum outcome { GO_ON, SHOWN, REFUSED };

struct global {
	const char *name;
	bool has_value;
	enum outcome (*use)(const char *value);
};

static enum outcome refuse(const char *problem, const char *word)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, word, strlen(word));
	fprintf(stderr, "perf: %s: %s\n%s\n", problem, strbuf_str(&safe), usage_line);
	strbuf_deinit(&safe);
	return REFUSED;
}

static enum outcome no_pager(const char *value)
{
	(void)value;
	config_override("pager.off=true");
	return GO_ON;
}

static enum outcome paginate(const char *value)
{
	(void)value;
	setenv("PERF_PAGINATE", "1", 1);
	return GO_ON;
}

static enum outcome configure(const char *value)
{
	return config_override(value) ? GO_ON : refuse("-c requires section.name=value", value);
}

static enum outcome set_buildid_dir(const char *value)
{
	char *assignment = mem_printf("buildid.dir=%s", value);
	config_override(assignment);
	setenv("PERF_BUILDID_DIR", value, 1); /* it wins over what is there */
	free(assignment);
	return GO_ON;
}

static enum outcome set_debugfs_dir(const char *value)
{
	setenv("PERF_DEBUGFS_DIR", value, 1);
	return GO_ON;
}

static enum outcome show_exec_path(const char *value)
{
	if (value) {
		setenv("PERF_EXEC_PATH", value, 1);
		return GO_ON;
	}
	char *root = places_root();
	puts(root);
	free(root);
	return SHOWN;
}

static enum outcome show_html_path(const char *value)
{
	(void)value;
	fputs("perf: there are no HTML pages: 'perf help --web COMMAND' shows a manual page in a browser\n", stderr);
	return REFUSED;
}

static enum outcome show_commands(const char *value)
{
	(void)value;
	usage_list_commands();
	return SHOWN;
}

/* verbose[=N] is what -v repeated N times says, for every command. Other words of the kernel's tool name parts of its own code. */
static enum outcome set_debug(const char *value)
{
	size_t length = strcspn(value, "=");
	uint64_t level = 1;
	if (length != strlen("verbose") || memcmp(value, "verbose", length))
		return refuse("--debug accepts only verbose[=N], which is the same as N times -v", value);
	if (value[length] && !number_parse_u64(value + length + 1, &level))
		return refuse("invalid level", value);
	log_set_level(level > 1 ? LOG_DEBUG : level ? LOG_INFO : LOG_WARNING);
	return GO_ON;
}

static enum outcome set_debug_file(const char *value)
{
	FILE *file;
	struct error *error = output_stream_open(value, false, &file);
	if (error) {
		enum outcome outcome = refuse("--debug-file", error_message(error));
		error_free(error);
		return outcome;
	}
	setvbuf(file, NULL, _IOLBF, 0);
	log_set_output(file);
	return GO_ON;
}

static enum outcome show_options(const char *value);

static const struct global globals[] = {
	{"--help", false, NULL},
	{"--version", false, NULL},
	{"-c", true, configure},
	{"-p", false, paginate},
	{"--paginate", false, paginate},
	{"--no-pager", false, no_pager},
	{"--buildid-dir", true, set_buildid_dir},
	{"--debugfs-dir", true, set_debugfs_dir},
	{"--debug", true, set_debug},
	{"--debug-file", true, set_debug_file},
	{"--exec-path", false, show_exec_path},
	{"--html-path", false, show_html_path},
	{"--list-cmds", false, show_commands},
	{"--list-opts", false, show_options},
};
enum { GLOBALS = sizeof(globals) / sizeof(*globals) };

static enum outcome show_options(const char *value)
{
	(void)value;
	const char *between = "";
	for (size_t i = 0; i < GLOBALS; i++) {
		if (globals[i].name[1] != '-')
			continue;
		printf("%s%s", between, globals[i].name);
		between = " ";
	}
	putchar('\n');
	return SHOWN;
}

const char *globals_alias(const char *word)
{
	if (!strcmp(word, "--version") || !strcmp(word, "-v") || !strcmp(word, "-vv"))
		return "version";
	return !strcmp(word, "--help") || !strcmp(word, "-h") ? "help" : NULL;
}

/* Finds the row of a word, and the value behind a '='. */
static const struct global *find_global(const char *word, const char **ret_value)
{
	size_t length = strncmp(word, "--", 2) ? strlen(word) : strcspn(word, "=");
	*ret_value = word[length] ? word + length + 1 : NULL;
	for (size_t i = 0; i < GLOBALS; i++)
		if (strlen(globals[i].name) == length && !memcmp(globals[i].name, word, length))
			return &globals[i];
	return NULL;
}

static enum outcome refuse_unknown(const char *word)
{
	const char *names[GLOBALS];
	for (size_t i = 0; i < GLOBALS; i++)
		names[i] = globals[i].name;
	const char *nearest = str_nearest(word, names, GLOBALS);
	char *problem = nearest ? mem_printf("unknown option; did you mean %s?", nearest) : mem_strdup("unknown option");
	enum outcome outcome = refuse(problem, word);
	free(problem);
	return outcome;
}

bool globals_read(int argc, char **argv, int *next, int *ret_status)
{
	*ret_status = 0;
	for (; *next < argc && argv[*next][0] == '-' && !globals_alias(argv[*next]); ++*next) {
		const char *word = argv[*next], *value;
		const struct global *global = find_global(word, &value);
		bool lacks = global && global->has_value && !value;
		if (lacks && *next + 1 < argc)
			value = argv[++*next];
		bool odd = global && !global->has_value && value && global->use != show_exec_path;
		enum outcome outcome = !global || !global->use ? refuse_unknown(word)
				       : odd		       ? refuse("this option does not take a value", word)
				       : lacks && !value       ? refuse("missing value", word)
							       : global->use(value);
		*ret_status = outcome == REFUSED ? GLOBALS_STATUS_USAGE : 0;
		if (outcome != GO_ON)
			return false;
	}
	return true;
}
