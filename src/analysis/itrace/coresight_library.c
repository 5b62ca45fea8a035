/* Loading libopencsd. */
#include "analysis/itrace/coresight_library.h"

#include "base/library.h"

struct coresight_library csd;

struct error *coresight_library_load(void)
{
#define CORESIGHT_ROW(name) {"ocsd_" #name, &csd.name},
	static const struct library_function FUNCTIONS[] = {CORESIGHT_FUNCTIONS(CORESIGHT_ROW)};
#undef CORESIGHT_ROW
	return library_load(LIBOPENCSD, FUNCTIONS, sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]));
}
