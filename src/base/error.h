/* Errors as values.
 *
 * A function that can fail returns `struct error *`: NULL is success, anything else must be handled, returned or freed. The message says
 * what happened, why, and where possible the command that fixes it. Context is put in front on the way up (error_wrap), so that a message
 * reads "perf.data: record at 0x1f40: sample of 48 bytes, its event needs 56". Only app/main.c prints errors. A miss (no such symbol) is no
 * error.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

enum error_kind {
	ERROR_OTHER,
	ERROR_SYSTEM,	   /* a system call failed: error_errno() is set */
	ERROR_USAGE,	   /* the command line is wrong: main prints the usage hint, exit status 129 */
	ERROR_FORMAT,	   /* data from outside is not what it should be */
	ERROR_UNSUPPORTED, /* this machine, kernel or build cannot do it */
	ERROR_PERMISSION,  /* somebody may do it, this user may not */
};

struct error;

/* A new error of kind ERROR_OTHER, or of the given kind. Never NULL. */
struct error *error_new(const char *format, ...) __attribute__((format(printf, 1, 2), warn_unused_result));
struct error *error_new_kind(enum error_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3), warn_unused_result));

/* A new error of kind ERROR_SYSTEM; ": " and the text of `errno_value` are put behind the message. */
struct error *error_system(int errno_value, const char *format, ...) __attribute__((format(printf, 2, 3), warn_unused_result));

/* Puts the formatted text and ": " before the message of `error` and returns it. NULL stays NULL, so a call can be wrapped unseen. */
struct error *error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3), warn_unused_result));

/* The message, without a newline; valid until error_free(). `error` must not be NULL. */
const char *error_message(const struct error *error);
enum error_kind error_kind(const struct error *error);
/* The errno of an ERROR_SYSTEM error, else 0. */
int error_errno(const struct error *error);

void error_free(struct error *error);
