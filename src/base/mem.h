/* Allocation that cannot fail: running out of memory ends the program with a message (exit status 1). */
#pragma once

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, warn_unused_result));
void *mem_zalloc(size_t size) __attribute__((malloc, warn_unused_result));
/* An array of count × size bytes; an overflow counts as out of memory. */
void *mem_alloc_array(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
void *mem_zalloc_array(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
/* The same for tables that are looked up before they are filled: in memory from the start. Fresh pages that are read first are all one page
 * of zeros; the write that follows costs another fault, which interrupts all threads of the process. */
void *mem_zalloc_table(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
/* Not zeroed: for large arrays that are filled from front to back. In large pages, each of which costs one fault instead of 512. */
void *mem_alloc_table(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
void *mem_resize(void *pointer, size_t size) __attribute__((warn_unused_result));
char *mem_strdup(const char *string) __attribute__((malloc, warn_unused_result));
char *mem_strndup(const char *string, size_t length) __attribute__((malloc, warn_unused_result));
char *mem_printf(const char *format, ...) __attribute__((malloc, format(printf, 1, 2), warn_unused_result));
char *mem_vprintf(const char *format, va_list args) __attribute__((malloc, format(printf, 1, 0), warn_unused_result));

/* Ends the program for want of memory. */
void mem_exhausted(void) __attribute__((noreturn));
