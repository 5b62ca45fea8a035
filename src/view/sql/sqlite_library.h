/* SQLite, loaded when a database is opened: half of the names that the dynamic linker would look up at each start are its own. */
#pragma once

#include "base/error.h"

#include <sqlite3.h>

/* clang-format off */
#define SQLITE_FUNCTIONS(X) \
	X(close) X(column_count) X(column_double) X(column_name) X(column_text) X(column_type) X(complete) X(create_module) \
	X(db_config) X(declare_vtab) X(errmsg) X(exec) X(file_control) X(finalize) X(free) X(mprintf) X(open_v2) X(prepare_v2) \
	X(result_int64) X(result_text) X(result_text64) X(serialize) X(set_authorizer) X(step) X(value_double) X(value_int64) \
	X(value_numeric_type) X(vtab_config)
/* clang-format on */

/* sqlite()->open_v2() is sqlite3_open_v2(). */
struct sqlite {
#define SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
	SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/* Comes before the first call of sqlite(), as sql_open() does. Says what is missing where the library can't be loaded. */
struct error *sqlite_load(void);
const struct sqlite *sqlite(void);
