/* Words to the person on standard error. Errors travel as struct error; these are warnings, progress of -v, and debugging. */
#pragma once

#include <stdio.h>

enum log_level { LOG_QUIET, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);
/* Where messages go instead of standard error, from now on. Lives as long as the process. */
void log_set_output(FILE *file);
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
