/* The configuration: /etc/perfconfig, then ~/.perfconfig (or only the file that PERF_CONFIG names), then `perf -c name=value`. Later values
 * win.
 *
 *	[report]                     # report.percent-limit
 *		percent-limit = 0.5
 *	[pager]
 *		report = false
 *
 * Section and key are compared without regard to case. A file that belongs neither to the user nor to root is not read, and that is said.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>

struct config_entry {
	char *name;  /* "section.key", lower case */
	char *value; /* "true" for a key without "=" */
	char *where; /* "FILE:LINE", or "-c" */
};

/* All zero is empty. */
struct config {
	VEC(struct config_entry) entries;
};

/* Reads all that applies here. Broken lines are an error that names file and line. */
struct error *config_open(struct config *ret);
/* Reads only one file; a missing one is empty. */
struct error *config_open_file(const char *path, struct config *ret);
void config_close(struct config *config);

/* The value, or NULL. Lives as long as the config. */
const char *config_get(const struct config *config, const char *name);
/* True, false, or `fallback` when the name is not set or is no truth value (true yes on 1, false no off 0). */
bool config_get_bool(const struct config *config, const char *name, bool fallback);

/* true yes on 1, false no off 0; false is returned for anything else. */
bool config_parse_bool(const char *text, bool *ret);

/* A key that gives an option of a command its value: {"report.percent-limit", "percent-limit"}. Arrays end with a NULL key. */
struct config_binding {
	const char *key;
	const char *option;
};

struct option;

/* Sets the options for which the configuration has values, as if they had been typed; call it before options_parse(), so that the command
 * line wins. Values stay allocated until the program ends. */
struct error *config_apply(const struct config_binding *bindings, const struct option *options, void *values);

/* Whether the commands that `name` gives an option would take the value. */
struct error *config_check(const char *name, const char *value);

/* The files: freed by the caller; config_user_path() is NULL without HOME. */
char *config_user_path(void);
const char *config_system_path(void);

/* Sets `name` to `value` in a file: the line is replaced or added, the rest of the file stays as it is. */
struct error *config_write(const char *path, const char *name, const char *value);

/* `perf -c name=value`: kept in the environment so that it holds for this process and what it starts. False when there is no section in the
 * name. */
bool config_override(const char *assignment);

/* Where files are kept by their build-id: PERF_BUILDID_DIR (which --buildid-dir sets), buildid.dir of the configuration, else ~/.debug.
 * Freed by the caller; NULL without HOME. */
char *config_buildid_dir(void);
