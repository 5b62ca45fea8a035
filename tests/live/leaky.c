/* A program that knows its leaks: functions that allocate in all ways, of which some aren't freed, and prints nothing. With "later"
 * it waits for a line before it does, writes one when it has, and waits until its standard input ends. */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static void *volatile kept[8192];
static int next_kept;

static APART void keep(void *memory)
{
	kept[next_kept++ % 8192] = memory;
}

APART void leak_malloc(void)
{
	for (int i = 0; i < 100; i++)
		keep(malloc(1000));
	keep(malloc(1000000)); /* by mmap inside: one allocation all the same */
}

APART void leak_calloc(void)
{
	for (int i = 0; i < 10; i++)
		keep(calloc(25, 8));
}

APART void leak_realloc(void)
{
	for (int i = 0; i < 7; i++)
		keep(realloc(realloc(malloc(10), 500), 3000));
}

APART void leak_reallocarray(void)
{
	keep(reallocarray(malloc(10), 10, 55));
}

APART void leak_aligned(void)
{
	void *memory;
	if (!posix_memalign(&memory, 64, 640))
		keep(memory);
	keep(aligned_alloc(64, 1280));
	keep(memalign(64, 2560));
	keep(valloc(5120));
}

APART void leak_mapping(void)
{
	keep(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

APART void leak_small(void)
{
	for (int i = 0; i < 4000; i++)
		keep(malloc(256));
}

APART void free_all(void)
{
	for (int i = 0; i < 200; i++) {
		void *memory = malloc(i * 1000 + 1);
		memory = realloc(memory, i * 100 + 1);
		free(memory);
	}
	void *mapping = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(mapping, 8192);
}

int main(int argc, char **argv)
{
	char byte;
	if (argc > 1 && !strcmp(argv[1], "later")) { /* whoever watches says when */
		while (read(0, &byte, 1) == 1 && byte != '\n')
			;
	}
	leak_malloc();
	leak_calloc();
	leak_realloc();
	leak_reallocarray();
	leak_aligned();
	leak_mapping();
	if (argc > 1 && !strcmp(argv[1], "small"))
		for (int i = 0; i < 5; i++)
			leak_small();
	free_all();
	if (argc > 1 && !strcmp(argv[1], "later") && write(1, "done\n", 5) == 5)
		while (read(0, &byte, 1) == 1)
			;
	return 0;
}
