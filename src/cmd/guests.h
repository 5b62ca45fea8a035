/* Options of the kernel's perf for the symbols of guests, which are looked up inside of them. */
#pragma once

#include "app/options.h"

#define NO_GUESTS "resolving symbols of guests from the host is not supported; record and analyse inside the guest"

/* Rows of an option table. */
#define OPTIONS_GUESTS_REFUSED                                                                                               \
	OPTION_REFUSED(0, "guest-code", NULL, NO_GUESTS), OPTION_REFUSED(0, "guestmount", "DIRECTORY", NO_GUESTS),           \
		OPTION_REFUSED(0, "guestvmlinux", "FILE", NO_GUESTS), OPTION_REFUSED(0, "guestkallsyms", "FILE", NO_GUESTS), \
		OPTION_REFUSED(0, "guestmodules", "FILE", NO_GUESTS)
