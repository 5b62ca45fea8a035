#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

struct error *library_load(const char *library, const struct library_function *functions, size_t count)
{
	void *handle = dlopen(library, RTLD_NOW);
	if (!handle)
		return error_new_kind(ERROR_UNSUPPORTED, "cannot load %s, which this perf was built with: %s", library, dlerror());
	for (size_t i = 0; i < count; i++)
		if (!dlsym(handle, functions[i].name))
			return error_new_kind(ERROR_UNSUPPORTED, "%s has no %s; install the version that this perf was built with", library,
					      functions[i].name);
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(handle, functions[i].name);
		__atomic_store_n((void **)functions[i].pointer, function, __ATOMIC_RELAXED);
	}
	return NULL;
}
