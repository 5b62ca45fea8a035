/* Debug files from servers, through libdebuginfod, which is loaded when the first file is asked for. It knows the servers, the cache and
 * what it was told that is on no server; what it lacks is an end: its progress function ends a question when the budget is used up. */
#include "symbol/debug_server.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* debuginfod_client, and what of its interface is used: debuginfod_find_debuginfo(3). */
struct client;
struct client_api {
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	int (*find_debuginfo)(struct client *client, const unsigned char *id, int id_size, char **path);
	int (*find_executable)(struct client *client, const unsigned char *id, int id_size, char **path);
	void (*set_progressfn)(struct client *client, int (*progress)(struct client *client, long done, long total));
	void (*set_user_data)(struct client *client, void *data);
	void *(*get_user_data)(struct client *client);
};

struct debug_server {
	struct debug_server_options options;
	pthread_mutex_t lock;
	void *library;
	struct client_api api;
	struct client *client;
	bool unusable; /* the library is missing */
	uint64_t spent_ms;
	struct map64 asked; /* hashes of what was asked for: not again */
	unsigned int failed, left_out;
	int error;	  /* of the last failure */
	const char *name; /* what is asked for */
	uint64_t started_ms;
};

static uint64_t now_ms(void)
{
	return clock_now_ns(CLOCK_MONOTONIC) / 1000000;
}

struct debug_server *debug_server_create(const struct debug_server_options *options)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !urls[strspn(urls, " \t\n")] || !options->budget_ms)
		return NULL;
	struct debug_server *server = mem_zalloc(sizeof(*server));
	server->options = *options;
	pthread_mutex_init(&server->lock, NULL);
	return server;
}

void debug_server_destroy(struct debug_server *server)
{
	if (!server)
		return;
	if (server->client)
		server->api.end(server->client);
	/* The library stays loaded: what it is made of may have left something behind. */
	map64_deinit(&server->asked);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

static bool out_of_time(const struct debug_server *server, uint64_t more_ms)
{
	return server->spent_ms + more_ms >= server->options.budget_ms;
}

/* Called about once a second, and when bytes have come. Anything but 0 ends the question. */
static int progress(struct client *client, long done, long total)
{
	/* The interface hands no data over, but keeps some for us; the function that gets it is the library's. */
	void *(*get_user_data)(struct client * client) = (void *(*)(struct client *))dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
	struct debug_server *server = get_user_data ? get_user_data(client) : NULL;
	if (!server)
		return 1;
	uint64_t spent = now_ms() - server->started_ms;
	double part = (double)(server->spent_ms + spent) / (double)server->options.budget_ms;
	if (server->options.progress)
		server->options.progress(server->options.context, server->name, done > 0 ? (uint64_t)done : 0,
					 total > 0 ? (uint64_t)total : 0, part);
	return out_of_time(server, spent);
}

static bool load_library(struct debug_server *server)
{
	struct client_api *api = &server->api;
	const struct {
		const char *name;
		void **function;
	} functions[] = {
		{"debuginfod_begin", (void **)&api->begin},
		{"debuginfod_end", (void **)&api->end},
		{"debuginfod_find_debuginfo", (void **)&api->find_debuginfo},
		{"debuginfod_find_executable", (void **)&api->find_executable},
		{"debuginfod_set_progressfn", (void **)&api->set_progressfn},
		{"debuginfod_set_user_data", (void **)&api->set_user_data},
		{"debuginfod_get_user_data", (void **)&api->get_user_data},
	};
	/* Global, so that the progress function finds it. */
	server->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
	for (size_t i = 0; server->library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(server->library, functions[i].name);
		if (!*functions[i].function)
			return false;
	}
	return server->library;
}

static bool begin(struct debug_server *server)
{
	if (server->client)
		return true;
	if (!server->unusable && load_library(server))
		server->client = server->api.begin();
	server->unusable = !server->client;
	if (server->unusable)
		return false;
	server->api.set_user_data(server->client, server);
	server->api.set_progressfn(server->client, progress);
	return true;
}

/* Asks; a file descriptor that comes with the path isn't needed. */
static char *ask(struct debug_server *server, enum debug_server_file kind, const struct buildid *id)
{
	char *path = NULL;
	int fd = (kind == DEBUG_SERVER_DEBUGINFO ? server->api.find_debuginfo : server->api.find_executable)(server->client, id->data,
													     (int)id->size, &path);
	if (fd >= 0)
		close(fd);
	uint64_t spent = now_ms() - server->started_ms;
	bool ended = fd < 0 && out_of_time(server, spent);
	server->spent_ms += spent;
	if (server->options.progress)
		server->options.progress(server->options.context, NULL, 0, 0, 0);
	if (fd >= 0 && path) {
		return path;
	}
	server->left_out += ended;
	if (!ended && fd != -ENOENT) {
		server->failed++;
		server->error = -fd;
	}
	return NULL;
}

char *debug_server_fetch(struct debug_server *server, enum debug_server_file kind, const struct buildid *id, const char *name)
{
	char *path = NULL;
	bool is_new;
	pthread_mutex_lock(&server->lock);
	map64_insert(&server->asked, hash_bytes(id->data, id->size) + kind, &is_new);
	if (!is_new) {
		/* It is where such files are kept, or there is none. */
	} else if (out_of_time(server, 0)) {
		server->left_out++;
	} else if (begin(server)) {
		struct strbuf safe = {0};
		text_add_safe(&safe, name, strlen(name));
		server->name = strbuf_str(&safe);
		server->started_ms = now_ms();
		log_info("debuginfod: asking for %s of %s", kind == DEBUG_SERVER_DEBUGINFO ? "the debug file" : "a copy", server->name);
		path = ask(server, kind, id);
		log_info("debuginfod: %s", path ? path : "none");
		server->name = NULL;
		strbuf_deinit(&safe);
	}
	pthread_mutex_unlock(&server->lock);
	return path;
}

void debug_server_diagnostics(const struct debug_server *server, struct strbuf *out)
{
	if (!server)
		return;
	if (server->unusable)
		strbuf_add_str(out, "DEBUGINFOD_URLS is set, but debug files are not fetched: libdebuginfod.so.1 is not installed (Debian: "
				    "libdebuginfod1)");
	else if (server->left_out)
		strbuf_printf(out,
			      "debuginfod: timed out after %.0f s, with %u file%s still without debug information: wait longer with "
			      "--debuginfod-timeout, or not at all with --debuginfod-timeout 0; fetched files are kept",
			      (double)server->options.budget_ms / 1000, server->left_out, server->left_out == 1 ? "" : "s");
	else if (server->failed)
		strbuf_printf(out, "debuginfod: %u file%s could not be fetched (%s); 'perf doctor debuginfod' asks the servers",
			      server->failed, server->failed == 1 ? "" : "s", strerror(server->error));
}

void debug_server_end(struct debug_server *server)
{
	struct strbuf diagnostics = {0};
	debug_server_diagnostics(server, &diagnostics);
	if (diagnostics.len)
		log_warning("%s", strbuf_str(&diagnostics));
	strbuf_deinit(&diagnostics);
	debug_server_destroy(server);
}
