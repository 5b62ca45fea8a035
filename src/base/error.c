/* Errors: one allocation each, message and kind. A message grows to the front when context is added. */
#include "base/error.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct error {
	enum error_kind kind;
	int errno_value;
	char *message;
};

static struct error *error_create(enum error_kind kind, int errno_value, char *message)
{
	struct error *error = mem_alloc(sizeof(*error));
	*error = (struct error){.kind = kind, .errno_value = errno_value, .message = message};
	return error;
}

#define FORMAT_ARGS(result, format)                    \
	do {                                           \
		va_list args_;                         \
		va_start(args_, format);               \
		(result) = mem_vprintf(format, args_); \
		va_end(args_);                         \
	} while (0)

struct error *error_new(const char *format, ...)
{
	char *message;
	FORMAT_ARGS(message, format);
	return error_create(ERROR_OTHER, 0, message);
}

struct error *error_new_kind(enum error_kind kind, const char *format, ...)
{
	char *message;
	FORMAT_ARGS(message, format);
	return error_create(kind, 0, message);
}

struct error *error_system(int errno_value, const char *format, ...)
{
	char *message;
	FORMAT_ARGS(message, format);
	char *whole = mem_printf("%s: %s", message, strerror(errno_value));
	free(message);
	return error_create(ERROR_SYSTEM, errno_value, whole);
}

struct error *error_wrap(struct error *error, const char *format, ...)
{
	if (!error)
		return NULL;
	char *context;
	FORMAT_ARGS(context, format);
	char *whole = mem_printf("%s: %s", context, error->message);
	free(context);
	free(error->message);
	error->message = whole;
	return error;
}

const char *error_message(const struct error *error)
{
	return error->message;
}

enum error_kind error_kind(const struct error *error)
{
	return error->kind;
}

int error_errno(const struct error *error)
{
	return error->errno_value;
}

void error_free(struct error *error)
{
	if (!error)
		return;
	free(error->message);
	free(error);
}
