#include "view/sql/sqlite_library.h"

#include "base/library.h"

static struct sqlite functions;

struct error *sqlite_load(void)
{
#define SQLITE_ROW_OF(name) LIBRARY_FUNCTION(sqlite3_##name, &functions.name),
	const struct library_function rows[] = {SQLITE_FUNCTIONS(SQLITE_ROW_OF)};
#undef SQLITE_ROW_OF
	return library_load(LIBSQLITE, rows, sizeof(rows) / sizeof(*rows));
}

const struct sqlite *sqlite(void)
{
	return &functions;
}
