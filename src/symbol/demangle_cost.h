/* What demangling would cost, found before it is begun. Substitutions and back references name what came before, so that a name of 200
 * bytes can stand for 2^40: libiberty has no limit for that, neither of work nor of output. */
#pragma once

#include <stdbool.h>

/* Whether the work for a C++ name (Itanium ABI, "_Z…") or one of Rust (v0, "_R…") is bounded: at most some 2^18 steps, each of which writes
 * at most the name of one component. True for what is not mangled by the scheme. Thread-safe. */
bool demangle_cost_cxx(const char *name);
bool demangle_cost_rust(const char *name);
