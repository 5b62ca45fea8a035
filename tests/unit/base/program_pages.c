/* Our own pages leave memory, and come back when they are needed. */
#include "base/files/program_pages.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Reads all of this program, also between its variables. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static int touch(struct dl_phdr_info *info, size_t size, void *context)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		for (size_t at = 0; segment->p_type == PT_LOAD && at < segment->p_memsz; at += 4096)
			*(volatile unsigned int *)context += *(const volatile uint8_t *)(info->dlpi_addr + segment->p_vaddr + at);
	}
	return 1;
}

/* Of what nobody can write to in mapped files, wherever these are: pages of files in memory count as shared ones in /proc/PID/status. */
static unsigned long resident_kb(void)
{
	char line[512], flags[5] = "";
	unsigned long kb, inode = 0, sum = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%*x-%*x %4s %*x %*s %lu", flags, &inode) != 2 && sscanf(line, "Rss: %lu kB", &kb) == 1)
			sum += inode && flags[1] == '-' ? kb : 0;
	fclose(file);
	return sum;
}

static void pages_go(void **state)
{
	unsigned int sum = 0, again = 0;
	dl_iterate_phdr(touch, &sum);
	unsigned long before = resident_kb();
	program_pages_forget();
	unsigned long after = resident_kb();
	print_message("%lu kB of code and constants, then %lu kB\n", before, after);
	assert_true(after < before);
	dl_iterate_phdr(touch, &again);
	(void)again; /* counters of other tests have changed */
}

int base_program_pages_tests(void);
int base_program_pages_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pages_go)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
