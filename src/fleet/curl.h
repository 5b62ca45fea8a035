/* What is used of libcurl's interface, which is the same since its version 7.66 (libcurl(3), curl_easy_setopt(3)): numbers and functions.
 * Its headers aren't needed to build. Within fleet. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct curl; /* CURL */
struct curl_list;

/* The thousands tell the argument's type: long, pointer, function, curl_off_t. */
enum curl_option {
	CURL_NOPROGRESS = 43,
	CURL_POST = 47,
	CURL_SSL_VERIFYPEER = 64,
	CURL_HTTPGET = 80,
	CURL_SSL_VERIFYHOST = 81,
	CURL_NOSIGNAL = 99,
	CURL_HTTPAUTH = 107,
	CURL_TIMEOUT_MS = 155,
	CURL_CONNECTTIMEOUT_MS = 156,
	CURL_PROTOCOLS = 181,
	CURL_WRITEDATA = 10001,
	CURL_URL = 10002,
	CURL_ERRORBUFFER = 10010,
	CURL_POSTFIELDS = 10015,
	CURL_USERAGENT = 10018,
	CURL_HTTPHEADER = 10023,
	CURL_SSLCERT = 10025,
	CURL_CUSTOMREQUEST = 10036,
	CURL_XFERINFODATA = 10057,
	CURL_CAINFO = 10065,
	CURL_SSLKEY = 10087,
	CURL_USERNAME = 10173,
	CURL_PASSWORD = 10174,
	CURL_WRITEFUNCTION = 20011,
	CURL_XFERINFOFUNCTION = 20219,
	CURL_POSTFIELDSIZE_LARGE = 30120,
};
enum { CURL_AUTH_BASIC = 1, CURL_HTTP_AND_HTTPS = 3, CURL_ERROR_SIZE = 256, CURL_GLOBAL_DEFAULT = 3 };
enum { CURL_INFO_STATUS = 0x200002, CURL_INFO_RETRY_AFTER = 0x600039 };
enum curl_code {
	CURL_OK = 0,
	CURL_WRITE_ERROR = 23,
	CURL_TIMED_OUT = 28,
	CURL_STOPPED = 42,
	CURL_CERTIFICATE_REFUSED = 60,
};

struct curl_api {
	int (*global_init)(long flags);
	struct curl *(*easy_init)(void);
	int (*easy_setopt)(struct curl *curl, int option, ...);
	int (*easy_perform)(struct curl *curl);
	int (*easy_getinfo)(struct curl *curl, int info, ...);
	void (*easy_reset)(struct curl *curl);
	void (*easy_cleanup)(struct curl *curl);
	const char *(*easy_strerror)(int code);
	struct curl_list *(*slist_append)(struct curl_list *list, const char *text);
	void (*slist_free_all)(struct curl_list *list);
};

/* Thread-safe, and quick the second time; an error where the library isn't installed. */
struct error *curl_load(const struct curl_api **ret);
