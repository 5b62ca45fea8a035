/* Messages to standard error, each in one write, behind "perf: ". */
#include "base/log.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum log_level current_level = LOG_WARNING;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_level(void)
{
	return current_level;
}

#define LOG_FUNCTION(name, needed, prefix)               \
	void name(const char *format, ...)               \
	{                                                \
		if (current_level < (needed))            \
			return;                          \
		va_list args;                            \
		va_start(args, format);                  \
		char *text = mem_vprintf(format, args);  \
		va_end(args);                            \
		fprintf(stderr, "%s%s\n", prefix, text); \
		free(text);                              \
	}

LOG_FUNCTION(log_warning, LOG_WARNING, "perf: ")
LOG_FUNCTION(log_info, LOG_INFO, "")
LOG_FUNCTION(log_debug, LOG_DEBUG, "")
