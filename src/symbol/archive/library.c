#include "symbol/archive/library.h"

#include "base/library.h"

static struct libarchive functions;

struct error *libarchive_load(void)
{
#define LIBARCHIVE_ROW(name) LIBRARY_FUNCTION(archive_##name, &functions.name),
	const struct library_function rows[] = {LIBARCHIVE_FUNCTIONS(LIBARCHIVE_ROW)};
#undef LIBARCHIVE_ROW
	return library_load(LIBARCHIVE, rows, sizeof(rows) / sizeof(*rows));
}

const struct libarchive *libarchive(void)
{
	return &functions;
}
