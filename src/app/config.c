/* Reading and writing of the configuration files (config.h): an INI dialect with quotes, comments and continued lines, read line by
 * line. */
#include "app/config.h"

#include "app/command.h"
#include "app/options.h"
#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char override_variable[] = "PERF_CONFIG_PARAMETERS";

/* More than the options of any command take. */
enum { VALUES_MAX = 64 << 10 };

static void config_set(struct config *config, const char *name, const char *value, const char *where)
{
	for (size_t i = 0; i < config->entries.len; i++) {
		struct config_entry *entry = &config->entries.data[i];
		if (!strcasecmp(entry->name, name)) {
			free(entry->value);
			free(entry->where);
			entry->value = mem_strdup(value);
			entry->where = mem_strdup(where);
			return;
		}
	}
	vec_push(&config->entries, (struct config_entry){mem_strdup(name), mem_strdup(value), mem_strdup(where)});
}

/* The value behind "=": outer blanks and comments go, quotes protect both, backslash escapes as in C. */
static bool parse_value(const char *text, struct strbuf *ret)
{
	bool quoted = false;
	size_t keep = 0; /* length up to the last character that is no trailing blank */
	strbuf_clear(ret);
	while (*text && isspace((unsigned char)*text))
		text++;
	for (; *text; text++) {
		char c = *text;
		if (c == '"') {
			quoted = !quoted;
			keep = ret->len;
			continue;
		}
		if (!quoted && (c == '#' || c == ';'))
			break;
		if (c == '\\' && text[1]) {
			c = *++text;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
			strbuf_add_char(ret, c);
			keep = ret->len;
			continue;
		}
		strbuf_add_char(ret, c);
		if (quoted || !isspace((unsigned char)c))
			keep = ret->len;
	}
	if (ret->data) {
		ret->len = keep;
		ret->data[keep] = '\0';
	}
	return !quoted;
}

/* "[section]" or "[section "sub"]", where a name without blanks needs no quotes, becomes "section" or "section.sub". */
static bool parse_section(const char *line, struct strbuf *ret)
{
	strbuf_clear(ret);
	const char *end = strrchr(line, ']');
	if (!end)
		return false;
	for (const char *c = line + 1; c < end; c++) {
		if (*c == '"')
			continue;
		if (isspace((unsigned char)*c)) {
			if (ret->len && c + 1 < end && !isspace((unsigned char)c[1]))
				strbuf_add_char(ret, '.');
			continue;
		}
		strbuf_add_char(ret, (char)tolower((unsigned char)*c));
	}
	return ret->len > 0;
}

/* Splits "key = value" or "key"; `key` is made of letters, digits, - and _. */
static bool parse_assignment(const char *line, struct strbuf *ret_key, struct strbuf *ret_value)
{
	strbuf_clear(ret_key);
	strbuf_clear(ret_value);
	for (; isalnum((unsigned char)*line) || *line == '-' || *line == '_' || *line == '.'; line++)
		strbuf_add_char(ret_key, (char)tolower((unsigned char)*line));
	while (*line && isspace((unsigned char)*line))
		line++;
	if (!ret_key->len)
		return false;
	if (!*line || *line == '#' || *line == ';') {
		strbuf_add_str(ret_value, "true");
		return true;
	}
	return *line == '=' && parse_value(line + 1, ret_value);
}

struct line_reader {
	FILE *file;
	char *line;
	size_t cap;
	unsigned int number;
	struct strbuf text;
};

/* One logical line without its newline: a backslash at the end joins the next. */
static bool read_line(struct line_reader *reader)
{
	ssize_t len;
	bool any = false;
	strbuf_clear(&reader->text);
	while ((len = getline(&reader->line, &reader->cap, reader->file)) > 0) {
		any = true;
		reader->number++;
		while (len && (reader->line[len - 1] == '\n' || reader->line[len - 1] == '\r'))
			len--;
		bool more = len && reader->line[len - 1] == '\\';
		strbuf_add(&reader->text, reader->line, (size_t)(more ? len - 1 : len));
		if (!more)
			break;
	}
	return any;
}

static struct error *read_stream(FILE *file, const char *path, struct config *config)
{
	struct line_reader reader = {.file = file};
	struct strbuf section = {0}, key = {0}, value = {0};
	struct error *error = NULL;
	while (!error && read_line(&reader)) {
		const char *line = strbuf_str(&reader.text);
		if (reader.number == 1 && str_starts_with(line, "\xef\xbb\xbf"))
			line += 3;
		while (isspace((unsigned char)*line))
			line++;
		if (!*line || *line == '#' || *line == ';')
			continue;
		bool fine = *line == '[' ? parse_section(line, &section) : section.len && parse_assignment(line, &key, &value);
		if (!fine) {
			error = error_new("%s:%u: expected [section] or key = value", path, reader.number);
		} else if (*line != '[') {
			cleanup_free char *name = mem_printf("%s.%s", strbuf_str(&section), strbuf_str(&key));
			cleanup_free char *where = mem_printf("%s:%u", path, reader.number);
			config_set(config, name, strbuf_str(&value), where);
		}
	}
	strbuf_deinit(&section);
	strbuf_deinit(&key);
	strbuf_deinit(&value);
	strbuf_deinit(&reader.text);
	free(reader.line);
	return error;
}

static struct error *read_file(const char *path, struct config *config)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? NULL : error_system(errno, "%s", path);
	struct stat status;
	if (fstat(fileno(file), &status))
		return error_system(errno, "%s", path);
	if (!owner_is_trusted(status.st_uid)) {
		log_warning("%s is ignored: its owner is neither you nor root", path);
		return NULL;
	}
	return S_ISDIR(status.st_mode) ? NULL : read_stream(file, path, config);
}

/* Overrides stand in one environment variable, one in a line. */
static void read_overrides(struct config *config)
{
	const char *text = getenv(override_variable);
	while (text && *text) {
		size_t len = strcspn(text, "\n");
		cleanup_free char *line = mem_strndup(text, len);
		char *equals = strchr(line, '=');
		if (equals)
			*equals = '\0';
		config_set(config, line, equals ? equals + 1 : "true", "-c");
		text += len + (text[len] == '\n');
	}
}

char *config_user_path(void)
{
	const char *home = getenv("HOME");
	return home && *home ? mem_printf("%s/.perfconfig", home) : NULL;
}

const char *config_system_path(void)
{
	return "/etc/perfconfig";
}

struct error *config_open(struct config *ret)
{
	struct config config = {0};
	struct error *error = NULL;
	const char *only = getenv("PERF_CONFIG");
	if (only) {
		error = read_file(only, &config);
	} else {
		cleanup_free char *user = config_user_path();
		if (!getenv("PERF_CONFIG_NOSYSTEM"))
			error = read_file(config_system_path(), &config);
		if (!error && user && !getenv("PERF_CONFIG_NOGLOBAL"))
			error = read_file(user, &config);
	}
	if (error) {
		config_close(&config);
		return error;
	}
	read_overrides(&config);
	*ret = config;
	return NULL;
}

struct error *config_open_file(const char *path, struct config *ret)
{
	struct config config = {0};
	struct error *error = read_file(path, &config);
	if (error)
		config_close(&config);
	else
		*ret = config;
	return error;
}

void config_close(struct config *config)
{
	for (size_t i = 0; i < config->entries.len; i++) {
		free(config->entries.data[i].name);
		free(config->entries.data[i].value);
		free(config->entries.data[i].where);
	}
	vec_deinit(&config->entries);
}

static const struct config_entry *find(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->entries.len; i++)
		if (!strcasecmp(config->entries.data[i].name, name))
			return &config->entries.data[i];
	return NULL;
}

const char *config_get(const struct config *config, const char *name)
{
	const struct config_entry *entry = find(config, name);
	return entry ? entry->value : NULL;
}

static bool is_one_of(const char *value, const char *const words[4])
{
	for (int i = 0; i < 4; i++)
		if (!strcasecmp(value, words[i]))
			return true;
	return false;
}

bool config_parse_bool(const char *text, bool *ret)
{
	static const char *const yes[4] = {"true", "yes", "on", "1"};
	static const char *const no[4] = {"false", "no", "off", "0"};
	bool truth = is_one_of(text, yes);
	if (!truth && !is_one_of(text, no))
		return false;
	*ret = truth;
	return true;
}

bool config_get_bool(const struct config *config, const char *name, bool fallback)
{
	const char *value = config_get(config, name);
	bool truth;
	return value && config_parse_bool(value, &truth) ? truth : fallback;
}

struct error *config_apply(const struct config_binding *bindings, const struct option *options, void *values)
{
	struct config config = {0};
	struct error *error = config_open(&config);
	for (const struct config_binding *binding = bindings; !error && binding->key; binding++) {
		const struct config_entry *entry = find(&config, binding->key);
		struct error *wrong = entry ? options_set(options, binding->option, mem_strdup(entry->value), values) : NULL;
		if (wrong) /* not a wrong command line */
			error = error_new("%s: %s: %s", entry->where, binding->key, error_message(wrong));
		error_free(wrong);
	}
	config_close(&config);
	return error;
}

struct error *config_check(const char *name, const char *value)
{
	struct error *error = NULL;
	for (const struct command *const *command = command_list; !error && *command; command++)
		for (const struct config_binding *binding = (*command)->configuration; !error && binding && binding->key; binding++) {
			if (strcasecmp(binding->key, name) != 0)
				continue;
			cleanup_free void *values = mem_zalloc(VALUES_MAX);
			struct error *wrong = options_set((*command)->options, binding->option, mem_strdup(value), values);
			error = wrong ? error_new("%s: %s", name, error_message(wrong)) : NULL;
			error_free(wrong);
		}
	return error;
}

bool config_override(const char *assignment)
{
	const char *dot = strchr(assignment, '.');
	if (!dot || dot == assignment || dot > assignment + strcspn(assignment, "=") || strchr(assignment, '\n'))
		return false;
	const char *before = getenv(override_variable);
	cleanup_free char *value = mem_printf("%s%s%s", before ? before : "", before && *before ? "\n" : "", assignment);
	setenv(override_variable, value, 1);
	return true;
}

/* A place of another user could lead anywhere, and what is in it say anything. */
static char *home_buildid_dir(void)
{
	bool foreign;
	char *path = home_cache_directory(&foreign);
	if (foreign)
		log_warning("%s/.debug is owned neither by you nor by root: the build-id cache is not used; choose another one with "
			    "--buildid-dir",
			    getenv("HOME"));
	return path;
}

char *config_buildid_dir(void)
{
	struct config config = {0};
	const char *home = getenv("HOME");
	const char *chosen = getenv("PERF_BUILDID_DIR");
	error_free(config_open(&config));
	if (!chosen)
		chosen = config_get(&config, "buildid.dir");
	char *ret = NULL;
	if (!chosen)
		ret = home_buildid_dir();
	else if (str_starts_with(chosen, "~/") && home)
		ret = mem_printf("%s/%s", home, chosen + 2);
	else
		ret = mem_strdup(chosen);
	config_close(&config);
	return ret;
}
