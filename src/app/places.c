/* Places of installed scripts. */
#include "app/places.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the program, "" = unknown. */
static void own_folder(char ret[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	ret[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(ret, '/');
	if (slash)
		*slash = '\0';
}

static bool has_scripts(const char *root)
{
	cleanup_free char *path = mem_printf("%s/scripts", root);
	return access(path, X_OK) == 0;
}

char *places_root(void)
{
	static const char *const beside[] = {"perf-core", "../libexec/perf-core"};
	const char *set = getenv("PERF_EXEC_PATH");
	char folder[PATH_MAX];
	if (set && *set)
		return mem_strdup(set);
	own_folder(folder);
	for (size_t i = 0; *folder && i < sizeof(beside) / sizeof(*beside); i++) {
		char *path = mem_printf("%s/%s", folder, beside[i]);
		if (has_scripts(path))
			return path;
		free(path);
	}
	return mem_strdup(PERF_LIBEXEC);
}

char *places_plugin(const char *name)
{
	char folder[PATH_MAX];
	own_folder(folder);
	char *beside = mem_printf("%s/%s", folder, name);
	if (access(beside, R_OK) == 0)
		return beside;
	free(beside);
	beside = mem_printf("%s/../libexec/perf-core/%s", folder, name);
	if (access(beside, R_OK) == 0)
		return beside;
	free(beside);
	return mem_printf("%s/%s", PERF_LIBEXEC, name);
}

void places_export(void)
{
	char folder[PATH_MAX];
	cleanup_free char *root = places_root();
	setenv("PERF_EXEC_PATH", root, 1);
	own_folder(folder);
	const char *path = getenv("PATH");
	cleanup_free char *with_us = mem_printf("%s:%s", folder, path ? path : "/usr/local/bin:/usr/bin:/bin");
	if (*folder)
		setenv("PATH", with_us, 1);
}
