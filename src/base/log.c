/* Messages to standard error, each in one write, behind "perf: ". Names in them may be anybody's: what could steer a terminal is escaped.
 */
#include "base/log.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum log_level current_level = LOG_WARNING;
static FILE *output; /* NULL = standard error */

void log_set_level(enum log_level level)
{
	current_level = level;
}

void log_set_output(FILE *file)
{
	output = file;
}

enum log_level log_level(void)
{
	return current_level;
}

static void write_message(const char *prefix, const char *format, va_list args)
{
	char *text = mem_vprintf(format, args);
	struct strbuf safe = {0};
	text_add_safe_lines(&safe, text);
	fprintf(output ? output : stderr, "%s%s\n", prefix, strbuf_str(&safe));
	strbuf_deinit(&safe);
	free(text);
}

#define LOG_FUNCTION(name, needed, prefix)           \
	void name(const char *format, ...)           \
	{                                            \
		if (current_level < (needed))        \
			return;                      \
		va_list args;                        \
		va_start(args, format);              \
		write_message(prefix, format, args); \
		va_end(args);                        \
	}

LOG_FUNCTION(log_warning, LOG_WARNING, "perf: ")
LOG_FUNCTION(log_info, LOG_INFO, "")
LOG_FUNCTION(log_debug, LOG_DEBUG, "")
