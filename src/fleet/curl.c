/* libcurl, under the name of either of the libraries for TLS that it is built with. Not linked in even where others are: what it needs
 * itself is for the system to choose. */
#include "fleet/curl.h"

#include "base/library.h"

#include <pthread.h>

static struct curl_api api;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static struct error *load(const char *library)
{
	const struct library_function functions[] = {
		{"curl_global_init", &api.global_init, NULL},	{"curl_easy_init", &api.easy_init, NULL},
		{"curl_easy_setopt", &api.easy_setopt, NULL},	{"curl_easy_perform", &api.easy_perform, NULL},
		{"curl_easy_getinfo", &api.easy_getinfo, NULL}, {"curl_easy_reset", &api.easy_reset, NULL},
		{"curl_easy_cleanup", &api.easy_cleanup, NULL}, {"curl_easy_strerror", &api.easy_strerror, NULL},
		{"curl_slist_append", &api.slist_append, NULL}, {"curl_slist_free_all", &api.slist_free_all, NULL},
	};
	struct error *error = library_load(library, functions, sizeof(functions) / sizeof(*functions));
	if (!error && api.global_init(CURL_GLOBAL_DEFAULT) != CURL_OK)
		error = error_new("libcurl cannot be initialised");
	return error;
}

struct error *curl_load(const struct curl_api **ret)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	struct error *error = NULL;
	pthread_mutex_lock(&loading);
	bool loaded = api.easy_init;
	for (size_t i = 0; !loaded && i < sizeof(names) / sizeof(*names); i++) {
		error_free(error);
		error = load(names[i]);
		loaded = !error;
	}
	pthread_mutex_unlock(&loading);
	*ret = &api;
	if (!error)
		return NULL;
	error_free(error);
	return error_new_kind(
		ERROR_UNSUPPORTED,
		"HTTP needs libcurl, version 7.66 or newer, which is not installed: apt install libcurl4, or your system's package "
		"with libcurl.so.4");
}
