/* A library to preload: a machine that has every PMU.
 *
 * perf_event_open() succeeds for every event, by opening the event that counts nothing (dummy) in its place, so that what a perf would open
 * on a machine that is not here can be read from its recording. With $FAKE_ROOT set, PMUs are looked up below $FAKE_ROOT/sys instead of
 * /sys. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

long syscall(long number, ...)
{
	REAL(syscall);
	long words[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_perf_event_open) {
		/* Fields that say what each record carries stay; the rest goes with what would be counted. */
		const struct perf_event_attr *asked = (const struct perf_event_attr *)words[0];
		static const unsigned long long carried = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							  PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID;
		struct perf_event_attr dummy = {.type = PERF_TYPE_SOFTWARE,
						.size = PERF_ATTR_SIZE_VER7,
						.config = PERF_COUNT_SW_DUMMY,
						.sample_period = 1,
						.sample_type = asked->sample_type & carried,
						.read_format = asked->read_format,
						.inherit = asked->inherit,
						.write_backward = asked->write_backward,
						.sample_id_all = asked->sample_id_all,
						.exclude_kernel = 1,
						.exclude_hv = 1,
						.disabled = 1};
		return real(number, &dummy, words[1], words[2], words[3], words[4]);
	}
	return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static const char *moved(const char *path, char buffer[4096])
{
	static const char devices[] = "/sys/bus/event_source/devices";
	const char *root = getenv("FAKE_ROOT");

	if (!root || !path || strncmp(path, devices, strlen(devices)))
		return path;
	snprintf(buffer, 4096, "%s%s", root, path);
	return buffer;
}

int open(const char *path, int flags, ...)
{
	REAL(open);
	char buffer[4096];
	va_list arguments;

	va_start(arguments, flags);
	int mode = va_arg(arguments, int);
	va_end(arguments);
	return real(moved(path, buffer), flags, mode);
}

int open64(const char *path, int flags, ...)
{
	REAL(open64);
	char buffer[4096];
	va_list arguments;

	va_start(arguments, flags);
	int mode = va_arg(arguments, int);
	va_end(arguments);
	return real(moved(path, buffer), flags, mode);
}

DIR *opendir(const char *path)
{
	REAL(opendir);
	char buffer[4096];

	return real(moved(path, buffer));
}

int access(const char *path, int mode)
{
	REAL(access);
	char buffer[4096];

	return real(moved(path, buffer), mode);
}
