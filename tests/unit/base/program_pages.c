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

static long resident_kb(void)
{
	char line[128];
	long kb = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %ld kB", &kb); /* of files in memory they count as shared, not as files' */
	fclose(file);
	return kb;
}

static void pages_go(void **state)
{
	unsigned int sum = 0, again = 0;
	dl_iterate_phdr(touch, &sum);
	long before = resident_kb();
	program_pages_forget();
	assert_true(resident_kb() < before);
	dl_iterate_phdr(touch, &again);
	(void)again; /* counters of other tests have changed */
}

int base_program_pages_tests(void);
int base_program_pages_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pages_go)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
