/* What reads frames of Python has to know of an interpreter: CPython 3.11 to 3.15, since 3.13 also without the lock that threads share. */
#pragma once

#include "bpf/user_stacks_shared.h"
#include "symbol/resolve.h"

/* False: it is no interpreter, or of a version whose frames aren't known. */
bool python_layout_describe(struct resolver *resolver, struct dso *dso, struct user_stacks_interpreter *ret);
