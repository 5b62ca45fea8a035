/* An ELF file of one piece of generated code: for tools that don't know jitdumps, it has the name, the instructions, the source lines and
 * the call frame information that the dump has. */
#pragma once

#include "base/buildid.h"
#include "base/strbuf.h"
#include "model/jitdump.h"

/* Where the code is: its offset in the file, and its virtual address there. */
enum { CODE_IMAGE_TEXT = 0x80 };

/* Adds the bytes of the file. The build-id is made of the name and the code: equal ones have the same. */
void code_image_make(const struct jitdump *dump, const struct jitdump_code *code, struct strbuf *out, struct buildid *ret_id);
