#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static void set_function(const struct library_function *function, void *address)
{
	__atomic_store_n((void **)function->pointer, address, __ATOMIC_RELAXED);
}

struct error *library_load(const char *library, const struct library_function *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (functions[i].linked)
			set_function(&functions[i], functions[i].linked);
	if (count && functions[0].linked)
		return NULL;
	void *handle = dlopen(library, RTLD_NOW);
	if (!handle)
		return error_new_kind(ERROR_UNSUPPORTED, "cannot load %s, which this perf was built with: %s", library, dlerror());
	for (size_t i = 0; i < count; i++)
		if (!dlsym(handle, functions[i].name))
			return error_new_kind(ERROR_UNSUPPORTED, "%s has no %s; install the version that this perf was built with", library,
					      functions[i].name);
	for (size_t i = 0; i < count; i++)
		set_function(&functions[i], dlsym(handle, functions[i].name));
	return NULL;
}
