/* What a screen prints on a key goes to a new file, perf.hist.0 or the first number that is free (perf.hist.0.csv where it is of
 * that kind); a function's instructions to FUNCTION.annotation, or FUNCTION.annotation.1 and so on where that is there already. A screen
 * shows what a hostile recording has, and may write no files; so a process that was started before does it, and gets the text through a
 * pipe. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>

struct print_file;

/* What a text is: how its file's name ends. */
enum print_kind { PRINT_TEXT, PRINT_CSV, PRINT_JSON, PRINT_FOLDED, PRINT_HTML };

/* Starts the process. `name`: what files are called before their number; a constant. NULL when it can't be started. */
struct print_file *print_file_prepare(const char *name);
/* Ends it. NULL is fine. */
void print_file_end(struct print_file *prints);
/* Writes a text to a file in the current directory. The file's number, or -errno. */
int print_file_write(struct print_file *prints, enum print_kind kind, const void *text, size_t size);
/* The same, and says in words what has become of it. */
void print_file_tell(struct print_file *prints, enum print_kind kind, const void *text, size_t size, struct strbuf *note);
/* The same with a function's instructions. Of its name, which may be anything, the file gets letters, digits and a few signs. */
void print_file_tell_function(struct print_file *prints, const char *function, const void *text, size_t size, struct strbuf *note);
