/* Static tracepoints: this program has some, and a file of foreign notes. */
#include "symbol/elf/sdt.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As <sys/sdt.h> writes them: two notes, the second one without arguments. */
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"
	"	.balign 4\n"
	"	.4byte 8, 2f-1f, 3\n"
	"	.asciz \"stapsdt\"\n"
	"1:	.8byte 0x1000, 0, 0x2000\n"
	"	.asciz \"test\"\n	.asciz \"first\"\n	.asciz \"8@%rdi -4@$5\"\n"
	"2:	.balign 4\n"
	"	.4byte 8, 4f-3f, 3\n"
	"	.asciz \"stapsdt\"\n"
	"3:	.8byte 0x1234, 0, 0\n"
	"	.asciz \"test\"\n	.asciz \"second\"\n	.asciz \"\"\n"
	"4:	.balign 4\n"
	".popsection\n");

struct seen {
	size_t count;
	struct sdt_probe probes[8];
};

static void see(void *context, const struct sdt_probe *probe)
{
	struct seen *seen = context;

	if (!strcmp(probe->provider, "test") && seen->count < 8)
		seen->probes[seen->count++] = *probe;
}

static void own(void **state)
{
	struct elf_file elf;
	struct seen seen = {0};

	assert_null(elf_open("/proc/self/exe", &elf));
	sdt_visit(&elf, see, &seen);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.probes[0].name, "first");
	assert_string_equal(seen.probes[0].arguments, "8@%rdi -4@$5");
	assert_int_equal(seen.probes[0].address, 0x1000);
	assert_int_equal(seen.probes[0].semaphore, 0x2000);
	assert_string_equal(seen.probes[1].name, "second");
	assert_string_equal(seen.probes[1].arguments, "");
	assert_int_equal(seen.probes[1].address, 0x1234);
	elf_close(&elf);
}

/* Every note cut short, and sizes that lie: nothing outside of the section is read. */
static void damage(void **state)
{
	struct elf_file elf;
	struct seen seen = {0};

	assert_null(elf_open("/proc/self/exe", &elf));
	const struct elf_section *section = elf_section(&elf, ".note.stapsdt");
	assert_non_null(section);
	const uint8_t *data = elf_section_data(&elf, section);
	for (size_t size = 0; size <= section->size; size++) {
		uint8_t *copy = mem_alloc(size + 1);
		memcpy(copy, data, size);
		struct elf_section cut = {.name = ".note.stapsdt", .type = section->type, .size = size};
		struct elf_file part = {.data = copy, .size = size, .is_64bit = true, .sections = &cut, .section_count = 1};
		sdt_visit(&part, see, &seen);
		for (size_t i = 0; i + 4 <= size; i += 4) {
			memset(copy + i, 0xff, 4);
			sdt_visit(&part, see, &seen);
			memcpy(copy + i, data + i, 4);
		}
		free(copy);
		seen.count = 0;
	}
	elf_close(&elf);
}

int symbol_sdt_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(own), cmocka_unit_test(damage)};

	return cmocka_run_group_tests_name("symbol/sdt", tests, NULL, NULL);
}
