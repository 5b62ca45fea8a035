/* Finds libpython. No version is compiled in: the one that /usr/bin/python3 stands for is tried first, since its modules are the installed
 * ones. */
#include "language/python_api.h"

#include "base/text.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEWEST_MINOR = 30, OLDEST_MINOR = 6 };

/* Its symbols are for everybody: extension modules refer to them. */
static void *open_library(const char *name)
{
	/* Global: extension modules of Debian's Python refer to its symbols without naming a library. */
	return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

/* "libpython3.11.so.1.0", for one minor version. */
static void *open_minor(unsigned int minor)
{
	char name[40];
	snprintf(name, sizeof(name), "libpython3.%u.so.1.0", minor);
	return open_library(name);
}

/* The minor version that /usr/bin/python3 is a link to, 0 = unknown. */
static unsigned int usual_minor(void)
{
	char path[PATH_MAX];
	unsigned int minor = 0;
	ssize_t length = readlink("/usr/bin/python3", path, sizeof(path) - 1);
	if (length <= 0)
		return 0;
	path[length] = '\0';
	const char *slash = strrchr(path, '/');
	return sscanf(slash ? slash + 1 : path, "python3.%u", &minor) == 1 ? minor : 0;
}

/* The version that `python3` has, where that can be told; else the newest that is there. */
static void *find_library(void)
{
	unsigned int usual = usual_minor();
	void *library = usual ? open_minor(usual) : NULL;
	for (unsigned int minor = NEWEST_MINOR; !library && minor >= OLDEST_MINOR; minor--)
		library = open_minor(minor);
	return library;
}

/* All but PyObject_Vectorcall() have to be there: a library that lacks one is too old. */
static struct error *find_functions(void *library, struct python_api *ret)
{
	const struct {
		const char *name;
		void *function;
	} functions[] = {
#define PYTHON_ROW(type, name, arguments) {#name, &ret->name},
		PYTHON_FUNCTIONS(PYTHON_ROW)
#undef PYTHON_ROW
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(library, functions[i].name);
		if (!function)
			return error_new_kind(ERROR_UNSUPPORTED, "libpython has no %s; Python 3.6 or newer is required", functions[i].name);
		memcpy(functions[i].function, &function, sizeof(function));
	}
	*(void **)&ret->PyObject_Vectorcall = dlsym(library, "PyObject_Vectorcall");
	python_object **exit_class = dlsym(library, "PyExc_SystemExit"), **type_error = dlsym(library, "PyExc_TypeError");
	ret->none = dlsym(library, "_Py_NoneStruct");
	if (!exit_class || !type_error || !ret->none)
		return error_new_kind(ERROR_UNSUPPORTED, "libpython has no None; Python 3.6 or newer is required");
	ret->system_exit = *exit_class;
	ret->type_error = *type_error;
	return NULL;
}

/* The library stays loaded until the process ends: Python can't be taken out again. */
struct error *python_api_load(struct python_api *ret)
{
	const char *wanted = getenv("PERF_LIBPYTHON");
	void *library = wanted ? open_library(wanted) : find_library();
	if (!library && wanted)
		return error_new_kind(ERROR_UNSUPPORTED, "cannot load %s (from PERF_LIBPYTHON): %s", wanted, dlerror());
	if (!library)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "Python scripts require libpython3, which is not installed: apt install libpython3.11");
	return find_functions(library, ret);
}
