/* [daemon] base=FOLDER, [session-NAME] run=WORDS. */
#include "cmd/daemon/daemon.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char SESSION[] = "session-";
enum { NAME_MAX_LENGTH = 100 };

/* ---- words ---- */

bool daemon_split_words(const char *text, daemon_files *ret)
{
	struct strbuf word = {0};
	char quote = '\0';
	bool begun = false;
	for (; *text; text++) {
		bool blank = isspace((unsigned char)*text) && !quote;
		if (blank && begun)
			vec_push(ret, strbuf_detach(&word));
		if (quote ? *text == quote : *text == '"' || *text == '\'')
			quote = quote ? '\0' : *text;
		else if (!blank)
			strbuf_add_char(&word, *text);
		begun = !blank;
	}
	if (begun)
		vec_push(ret, strbuf_detach(&word));
	strbuf_deinit(&word);
	return !quote;
}

void daemon_free_words(daemon_files *words)
{
	for (size_t i = 0; i < words->len; i++)
		free(words->data[i]);
	vec_deinit(words);
}

/* ---- the base ---- */

struct error *daemon_open_folder(int at, const char *name, int *ret)
{
	struct stat status;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_system(errno, "%s", name);
	struct error *error = NULL;
	if (fstat(fd, &status))
		error = error_system(errno, "%s", name);
	else if (!owner_is_trusted(status.st_uid))
		error = error_new_kind(ERROR_PERMISSION, "%s belongs to another user, who could change what is recorded there", name);
	else if (status.st_mode & (S_IWGRP | S_IWOTH))
		error = error_new_kind(ERROR_PERMISSION, "others may write into %s: run 'chmod go-w %s'", name, name);
	if (error)
		close(fd);
	else
		*ret = fd;
	return error;
}

static struct error *find_base(const char *name, char **ret)
{
	*ret = realpath(name, NULL);
	return *ret ? NULL : error_system(errno, "base '%s'", name);
}

/* ---- configuration ---- */

void daemon_settings_files(const struct daemon_options *options, daemon_files *ret)
{
	const char *only = options->config ? options->config : getenv("PERF_CONFIG");
	char *user = config_user_path();
	if (only)
		vec_push(ret, mem_strdup(only));
	else
		vec_push(ret, mem_strdup(config_system_path()));
	if (!only && user)
		vec_push(ret, take_pointer(user));
	free(user);
}

/* Names become folders. */
static bool is_session_name(const char *name)
{
	size_t length = strlen(name);
	return length && length <= NAME_MAX_LENGTH && *name != '.' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length;
}

static struct error *add_session(struct daemon_settings *settings, const struct config_entry *entry)
{
	const char *begin = entry->name + strlen(SESSION), *dot = strrchr(begin, '.');
	daemon_files words = {0};
	if (!dot || strcmp(dot, ".run") != 0)
		return error_new("%s: the only setting of a session is 'run'", entry->where);
	cleanup_free char *name = mem_strndup(begin, (size_t)(dot - begin));
	if (!is_session_name(name))
		return error_new("%s: a session's name has letters, digits, '-', '_' and '.', and is no longer than %d", entry->where,
				 NAME_MAX_LENGTH);
	bool ends = daemon_split_words(entry->value, &words);
	daemon_free_words(&words);
	if (!ends)
		return error_new("%s: a quote isn't closed", entry->where);
	vec_push(&settings->runs, (struct daemon_run){take_pointer(name), mem_strdup(entry->value), mem_strdup(entry->where)});
	return NULL;
}

/* What it says is run. */
static struct error *check_writers(const struct daemon_options *options)
{
	daemon_files files = {0};
	struct error *error = NULL;
	struct stat status;
	daemon_settings_files(options, &files);
	for (size_t i = 0; !error && i < files.len; i++)
		if (!stat(files.data[i], &status) && S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH))
			error = error_new_kind(ERROR_PERMISSION, "others may write into %s, which says what is run: run 'chmod o-w %s'",
					       files.data[i], files.data[i]);
	daemon_free_words(&files);
	return error;
}

static struct error *take_entries(const struct config *config, bool sessions, struct daemon_settings *ret)
{
	const char *base = config_get(config, "daemon.base");
	struct error *error = base && !ret->base ? find_base(base, &ret->base) : NULL;
	for (size_t i = 0; sessions && !error && i < config->entries.len; i++)
		if (str_starts_with(config->entries.data[i].name, SESSION))
			error = add_session(ret, &config->entries.data[i]);
	return error;
}

struct error *daemon_settings_read(const struct daemon_options *options, bool sessions, struct daemon_settings *ret)
{
	struct config config = {0};
	struct daemon_settings settings = {0};
	struct error *error = NULL;
	bool needed = sessions || !options->base;
	if (options->config && needed && access(options->config, R_OK))
		return error_system(errno, "%s", options->config);
	if (options->base)
		error = find_base(options->base, &settings.base);
	if (!error && sessions)
		error = check_writers(options);
	if (!error && needed)
		error = options->config ? config_open_file(options->config, &config) : config_open(&config);
	if (!error)
		error = take_entries(&config, sessions, &settings);
	config_close(&config);
	if (!error && !settings.base)
		error = error_new(
			"which base folder? Give --base FOLDER, or set daemon.base in the configuration (see 'perf help daemon')");
	if (error)
		daemon_settings_free(&settings);
	else
		*ret = settings;
	return error;
}

void daemon_settings_free(struct daemon_settings *settings)
{
	for (size_t i = 0; i < settings->runs.len; i++) {
		free(settings->runs.data[i].name);
		free(settings->runs.data[i].run);
		free(settings->runs.data[i].where);
	}
	vec_deinit(&settings->runs);
	free(settings->base);
	*settings = (struct daemon_settings){0};
}
