/* The vDSO: code that the kernel maps into every process. It is in no file; our own copy serves when it is the recorded one. */
#pragma once

#include "base/buildid.h"
#include "symbol/elf/elf.h"

#include <stdbool.h>

/* Copies it out of our own memory. False when there is none, or when `id` is set and differs. */
bool vdso_open(const struct buildid *id, struct elf_file *ret);
