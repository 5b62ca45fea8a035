/* Loading libipt. */
#include "analysis/itrace/pt_library.h"

#include "base/library.h"

struct pt_library pt;

/* Debian has no static library: this one is never linked in. */
struct error *pt_library_load(void)
{
#define PT_ROW(name) {"pt_" #name, &pt.name},
	static const struct library_function FUNCTIONS[] = {PT_FUNCTIONS(PT_ROW)};
#undef PT_ROW
	return library_load(LIBIPT, FUNCTIONS, sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]));
}
