/* Allocation that ends the program when memory runs out. The check for overflow in count × size is here, so that callers need none. */
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void mem_exhausted(void)
{
	static const char message[] = "perf: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);
	(void)ignored;
	_exit(1);
}

static void *checked(void *pointer, size_t size)
{
	if (!pointer && size)
		mem_exhausted();
	return pointer;
}

static size_t array_size(size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		mem_exhausted();
	return bytes;
}

void *mem_alloc(size_t size)
{
	return checked(malloc(size), size);
}

void *mem_zalloc(size_t size)
{
	return checked(calloc(1, size), size);
}

void *mem_alloc_array(size_t count, size_t size)
{
	return mem_alloc(array_size(count, size));
}

void *mem_zalloc_array(size_t count, size_t size)
{
	return mem_zalloc(array_size(count, size));
}

/* Bytes for a table, `*bytes` of them at least. */
static void *alloc_table(size_t *size)
{
	enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20 };
	size_t bytes = *size;
	bool large = bytes >= HUGE_PAGE && bytes <= SIZE_MAX - HUGE_PAGE;
	size_t unit = large ? HUGE_PAGE : CACHE_LINE;
	if (bytes <= SIZE_MAX - unit)
		bytes = (bytes + unit - 1) / unit * unit;
	void *table = checked(aligned_alloc(unit, bytes), bytes);
	if (large)
		madvise(table, bytes, MADV_HUGEPAGE); /* a look-up in small pages also waits for the page table */
	*size = bytes;
	return table;
}

void *mem_alloc_table(size_t count, size_t size)
{
	size_t bytes = array_size(count, size);
	return alloc_table(&bytes);
}

void *mem_zalloc_table(size_t count, size_t size)
{
	size_t bytes = array_size(count, size);
	void *table = alloc_table(&bytes);
	explicit_bzero(table, bytes); /* memset() would be made calloc() again */
	return table;
}

void *mem_resize(void *pointer, size_t size)
{
	return checked(realloc(pointer, size), size);
}

char *mem_strndup(const char *string, size_t length)
{
	length = strnlen(string, length);
	char *copy = mem_alloc(length + 1);
	memcpy(copy, string, length);
	copy[length] = '\0';
	return copy;
}

char *mem_strdup(const char *string)
{
	return mem_strndup(string, strlen(string));
}

char *mem_vprintf(const char *format, va_list args)
{
	char *text;
	if (vasprintf(&text, format, args) < 0)
		mem_exhausted();
	return text;
}

char *mem_printf(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = mem_vprintf(format, args);
	va_end(args);
	return text;
}
