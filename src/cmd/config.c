/* perf config: shows and changes values of the configuration files (app/config.h). */
#include "app/config.h"
#include "app/command.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct config_options {
	bool list;
	bool user;
	bool system;
};

static const struct option config_options[] = {
	OPTION_FLAG('l', "list", struct config_options, list, "show all settings"),
	OPTION_FLAG(0, "user", struct config_options, user, "only ~/.perfconfig"),
	OPTION_FLAG(0, "system", struct config_options, system, "only /etc/perfconfig"),
	OPTION_END,
};

/* The one file that is shown or changed; NULL when all are shown. */
static struct error *choose_file(const struct config_options *options, bool write, char **ret)
{
	*ret = NULL;
	if (options->user && options->system)
		return error_new_kind(ERROR_USAGE, "--user and --system cannot be combined");
	if (options->system)
		*ret = mem_strdup(config_system_path());
	else if (write && getenv("PERF_CONFIG"))
		*ret = mem_strdup(getenv("PERF_CONFIG"));
	else if (options->user || write)
		*ret = config_user_path();
	if (!*ret && (options->user || write))
		return error_new("cannot find ~/.perfconfig: HOME is not set");
	return NULL;
}

/* What stands in front of "=", if there is one, is section.key, in letters that stay what they are when they are written. */
static struct error *check_name(const char *text)
{
	size_t len = strcspn(text, "=");
	cleanup_free char *name = mem_strndup(text, len);
	const char *dot = strrchr(name, '.');
	if (!dot || dot == name || !dot[1])
		return error_new("invalid name '%s': expected section.key", name);
	if (strpbrk(name, " \t\n[]\"'#;"))
		return error_new("invalid name '%s': section.key cannot contain blanks, brackets, quotes, # or ;", name);
	return NULL;
}

static struct error *show(const struct config *config, const char *name)
{
	const char *value = config_get(config, name);
	if (value)
		printf("%s=%s\n", name, value);
	return NULL;
}

/* The keys that change something here. Others may stand in a file: the kernel's tool has them. */
static const char *const known_keys[] = {
	"pager.*",
	"core.pager",
	"buildid.dir",
	"daemon.base",
	"session-*.run",
	"debuginfod.timeout",
	"hist.percentage",
	"record.build-id",
	"record.compression-level",
	"report.sort_order",
	"report.children",
	"report.percent-limit",
	"report.group",
	"report.skip-empty",
	"call-graph.record-mode",
	"call-graph.dump-size",
	"call-graph.order",
	"call-graph.sort-key",
	"call-graph.threshold",
	"call-graph.print-type",
	"annotate.disassembler_style",
	"kmem.default",
	"trace.show_timestamp",
	"trace.show_duration",
	"trace.show_arg_names",
	"trace.show_zeros",
	"trace.show_prefix",
	"trace.no_inherit",
	"trace.args_alignment",
	"trace.add_events",
	"fleet.token-file",
	"fleet.password-file",
	"fleet.ca-file",
	"fleet.certificate-file",
	"fleet.key-file",
};

static void warn_if_unknown(const char *name)
{
	for (size_t i = 0; i < sizeof(known_keys) / sizeof(*known_keys); i++)
		if (str_glob_match(known_keys[i], name))
			return;
	struct strbuf safe = {0};
	text_add_safe(&safe, name, strlen(name));
	log_warning("%s is written, but has no effect in this perf; 'perf help config' lists those that do", strbuf_str(&safe));
	strbuf_deinit(&safe);
}

static struct error *change(const char *path, const char *assignment)
{
	size_t len = strcspn(assignment, "=");
	cleanup_free char *name = mem_strndup(assignment, len);
	struct error *error = config_check(name, assignment + len + 1);
	if (error)
		return error;
	warn_if_unknown(name);
	return config_write(path, name, assignment + len + 1);
}

static struct error *show_or_change(const struct config_options *options, int words, char **argv)
{
	struct error *error = NULL;
	for (int i = 0; i < words && !error; i++)
		error = check_name(argv[i]);
	for (int i = 0; i < words && !error; i++) {
		bool write = strchr(argv[i], '=') != NULL;
		struct config config = {0};
		cleanup_free char *path = NULL;
		error = choose_file(options, write, &path);
		if (!error && write)
			error = change(path, argv[i]);
		else if (!error)
			error = path ? config_open_file(path, &config) : config_open(&config);
		if (!error && !write)
			error = show(&config, argv[i]);
		config_close(&config);
	}
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct config_options options = {0};
	int words;
	struct error *error = options_parse(config_options, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (error)
		return error;
	if (options.list && words)
		return error_new_kind(ERROR_USAGE, "--list does not take names");
	if (words)
		return show_or_change(&options, words, argv);
	struct config config = {0};
	cleanup_free char *path = NULL;
	error = choose_file(&options, false, &path);
	if (!error)
		error = path ? config_open_file(path, &config) : config_open(&config);
	for (size_t i = 0; i < config.entries.len; i++)
		printf("%s=%s\n", config.entries.data[i].name, config.entries.data[i].value);
	config_close(&config);
	return error;
}

static const char *const usage[] = {"[--user | --system] [-l]", "[--user | --system] SECTION.KEY[=VALUE]…", NULL};
const struct command cmd_config = {"config", "Show and change the configuration", usage, config_options, run};
