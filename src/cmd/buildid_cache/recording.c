/* perf buildid-cache -a perf.data: the files of a recording. */
#include "cmd/buildid_cache/buildid_cache.h"

#include "analysis/hits.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "session/session.h"
#include "symbol/buildid_cache.h"
#include "symbol/elf/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error *buildid_cache_option_servers(const struct option *option, const char *argument, bool negated, void *field)
{
	const char *urls = argument && strcmp(argument, "system") != 0 ? argument : getenv("DEBUGINFOD_URLS");
	if (!negated && (!urls || !*urls))
		return error_new_kind(ERROR_USAGE, "no servers given: use --debuginfod=URLS, or set DEBUGINFOD_URLS");
	if (!negated)
		setenv("DEBUGINFOD_URLS", urls, true);
	*(bool *)field = !negated;
	return NULL;
}

bool buildid_cache_is_recording(const char *path)
{
	char magic[8];
	FILE *file = fopen(path, "rbe");
	bool whole = file && fread(magic, sizeof(magic), 1, file) == 1;
	if (file)
		fclose(file);
	return whole && (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8));
}

static void say(const struct dso *dso, const char *what)
{
	struct strbuf line = {0};
	text_add_safe(&line, dso->name, strlen(dso->name));
	fprintf(stderr, "%s: %s\n", strbuf_str(&line), what);
	strbuf_deinit(&line);
}

/* True when the cache has the file itself afterwards. */
static bool add_file(const char *cache, const struct dso *dso, const struct buildid *id, bool here, struct debug_server *server)
{
	cleanup_free char *fetched = here || !server ? NULL : debug_server_fetch(server, DEBUG_SERVER_EXECUTABLE, id, dso->name);
	struct error *error = here || fetched ? buildid_cache_add(cache, id, dso->name, fetched ? fetched : dso->name) : NULL;
	bool done = (here || fetched) && !error;
	if (error)
		log_warning("%s", error_message(error));
	error_free(error);
	return done;
}

bool buildid_cache_fetch_debug(const char *cache, const struct buildid *id, const char *name, struct debug_server *server)
{
	cleanup_free char *fetched = server ? debug_server_fetch(server, DEBUG_SERVER_DEBUGINFO, id, name) : NULL;
	struct error *error = fetched ? buildid_cache_add_debug(cache, id, name, fetched) : NULL;
	bool done = fetched && !error;
	if (error)
		log_warning("%s", error_message(error));
	error_free(error);
	return done;
}

struct error *buildid_cache_add_recording(const char *cache, const char *path, bool force, bool verbose, struct debug_server *server)
{
	struct session_options options = {.input = {.path = path, .force = force}};
	struct session *session;
	uint64_t *hits = NULL;
	unsigned int wanted = 0, missing = 0;
	struct error *error = session_open(&options, &session);
	if (error)
		return error;
	error = hits_find(session, SIDES_UNSAID, &hits);
	for (size_t i = 0; !error && i < session->machine->dsos.len; i++) {
		const struct dso *dso = session->machine->dsos.data[i];
		if (!hits[i] || dso->kind != DSO_FILE || *dso->name != '/')
			continue;
		/* Without a recorded build-id the file is taken as it is. */
		struct buildid own, id = dso->build_id;
		bool here = elf_read_build_id(dso->name, &own) && (!id.size || buildid_equal(&own, &id));
		if (here)
			id = own;
		bool file = id.size && add_file(cache, dso, &id, here, server),
		     debug = id.size && buildid_cache_fetch_debug(cache, &id, dso->name, server);
		wanted++;
		missing += !file && !debug;
		if (verbose)
			say(dso, file && debug ? "Ok, with its debug file" : file ? "Ok" : debug ? "its debug file" : "not found");
	}
	if (!error && missing)
		log_warning("%s: %u of %u sampled files %s", path, missing, wanted,
			    server ? "are found neither on this machine nor on the servers"
				   : "are not on this machine; --debuginfod asks the servers in DEBUGINFOD_URLS");
	free(hits);
	session_close(session);
	return error;
}
