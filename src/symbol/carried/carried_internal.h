/* Within symbol/carried. */
#pragma once

#include "symbol/carried/carried.h"

/* Makes what was read ready to be looked up. */
void carried_index(struct carried *carried);
