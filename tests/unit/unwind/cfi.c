/* Call frame information: every row of the C library's, against what readelf makes of it. */
#include "unwind/cfi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
				    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra"};

static int register_number(const char *name)
{
	for (int i = 0; i < 17; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static void rule_text(const struct cfi_row *row, int number, char text[32])
{
	strcpy(text, "u");
	for (int i = 0; i < row->count; i++) {
		const struct cfi_rule *rule = &row->rules[i];
		if (rule->reg != number)
			continue;
		if (rule->kind == CFI_AT_OFFSET)
			sprintf(text, "c%+d", rule->value);
		else if (rule->kind == CFI_IN_REGISTER)
			sprintf(text, "r%d", rule->value);
		else if (rule->kind == CFI_AT_EXPRESSION)
			strcpy(text, "exp");
		else if (rule->kind == CFI_IS_EXPRESSION)
			strcpy(text, "vexp");
	}
}

static void cfa_text(const struct cfi_row *row, char text[32])
{
	if (row->cfa_kind == CFI_IS_EXPRESSION)
		strcpy(text, "exp");
	else
		sprintf(text, "%s%+d", row->cfa_register < 17 ? names[row->cfa_register] : "?", row->cfa_value);
}

/* Where the C library of this process is. */
static bool find_library(char path[512])
{
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "libc.so") && sscanf(line, "%*s %*s %*s %*s %*s %511s", path) == 1;
	if (maps)
		fclose(maps);
	return found;
}

struct columns {
	int numbers[32];
	int count;
};

/* A line "LOC CFA rbx rbp … ra". */
static void read_columns(char *line, struct columns *columns)
{
	columns->count = 0;
	strtok(line, " \n");
	strtok(NULL, " \n");
	for (char *word; (word = strtok(NULL, " \n")) && columns->count < 32;)
		columns->numbers[columns->count++] = register_number(word);
}

/* A line "ADDRESS CFA rule …": is it what we have? */
static bool row_agrees(const struct cfi_section *section, char *line, const struct columns *columns)
{
	struct cfi_row row;
	char expected[32];
	uint64_t address = strtoull(strtok(line, " \n"), NULL, 16);
	char *cfa = strtok(NULL, " \n");
	if (!cfa || !cfi_section_row(section, address, &row))
		return false;
	cfa_text(&row, expected);
	bool same = !strcmp(cfa, expected);
	for (int i = 0; i < columns->count; i++) {
		char *word = strtok(NULL, " \n");
		if (word && *word == '(') /* "r5 (rdi)" */
			word = strtok(NULL, " \n");
		rule_text(&row, columns->numbers[i], expected);
		same &= word && (columns->numbers[i] < 0 || !strcmp(!strcmp(word, "s") ? "u" : word, expected));
	}
	return same;
}

/* The linker's table leads to the functions that a walk over the section finds. */
static void sorted_table(void **state)
{
	char path[512];
	struct elf_file elf;
	struct cfi_section walked, sorted;
	if (!find_library(path))
		skip();
	assert_null(elf_open(path, &elf));
	const struct elf_section *found = elf_section(&elf, ".eh_frame"), *header = elf_section(&elf, ".eh_frame_hdr");
	assert_true(found && header);
	uint8_t *bytes = malloc(header->size);
	memcpy(bytes, elf_section_data(&elf, header), header->size);
	struct cfi_table table = {.data = bytes, .size = header->size, .address = header->addr};
	const uint8_t *data = elf_section_data(&elf, found);
	cfi_section_init(&walked, &elf, data, found->size, found->addr, true);
	assert_true(cfi_section_init_sorted(&sorted, &elf, data, found->size, found->addr, &table));
	assert_true(walked.count > 1000);
	assert_int_equal(sorted.count, walked.count);
	assert_null(sorted.places); /* it is searched where it lies: the agent has those of many files */
	for (size_t i = 0; i < walked.count; i++) {
		const struct cfi_entry x = cfi_section_at(&walked, i), y = cfi_section_at(&sorted, i);
		uint64_t cie, other;
		assert_memory_equal(&x, &y, sizeof(x));
		assert_int_equal(cfi_entry_end(&walked, &x), cfi_entry_end(&sorted, &y));
		assert_true(cfi_entry_cie(&walked, &x, &cie) && cfi_entry_cie(&sorted, &y, &other) && cie == other);
	}
	cfi_section_deinit(&sorted);
	/* Entries that the table tells wrongly cover nothing; one that isn't sorted is no table. */
	struct cfi_row row;
	uint64_t start = cfi_section_at(&walked, 7).start;
	bytes[12 + 7 * 8 + 4] ^= 4;
	assert_true(cfi_section_init_sorted(&sorted, &elf, data, found->size, found->addr, &table));
	assert_true(cfi_section_row(&walked, start, &row) && !cfi_section_row(&sorted, start, &row));
	cfi_section_deinit(&sorted);
	/* One of another section is left out. */
	bytes[12 + 7 * 8 + 7] ^= 0x40;
	assert_true(cfi_section_init_sorted(&sorted, &elf, data, found->size, found->addr, &table));
	assert_int_equal(sorted.count, walked.count - 1);
	assert_false(cfi_section_row(&sorted, start, &row));
	assert_true(cfi_section_row(&sorted, cfi_section_at(&walked, 6).start, &row) &&
		    cfi_section_row(&sorted, cfi_section_at(&walked, 8).start, &row));
	cfi_section_deinit(&sorted);
	bytes[12 + 7 * 8 + 7] ^= 0x40;
	bytes[12 + 7 * 8 + 3] ^= 0x40;
	assert_false(cfi_section_init_sorted(&sorted, &elf, data, found->size, found->addr, &table));
	table.size = 11;
	assert_false(cfi_section_init_sorted(&sorted, &elf, data, found->size, found->addr, &table));
	cfi_section_deinit(&walked);
	free(bytes);
	elf_close(&elf);
}

static void every_row(void **state)
{
	char path[512], command[600], line[1024];
	struct elf_file elf;
	struct cfi_section section;
	struct columns columns = {0};
	size_t rows = 0, wrong = 0;
#if !defined(__x86_64__)
	skip();
#endif
	if (!find_library(path) || system("readelf --version >/dev/null 2>&1") != 0) {
		print_message("no C library mapped, or no readelf\n");
		skip();
	}
	assert_null(elf_open(path, &elf));
	const struct elf_section *found = elf_section(&elf, ".eh_frame");
	assert_non_null(found);
	cfi_section_init(&section, &elf, elf_section_data(&elf, found), found->size, found->addr, true);
	snprintf(command, sizeof(command), "readelf -wF '%s' 2>/dev/null", path);
	FILE *readelf = popen(command, "r");
	bool frames = false, function = false;
	while (fgets(line, sizeof(line), readelf)) {
		if (strstr(line, "Contents of the"))
			frames = strstr(line, ".eh_frame section");
		if (strstr(line, " CIE "))
			function = false;
		if (strstr(line, " FDE ") || !frames) {
			function = frames;
			continue;
		}
		if (function && strstr(line, "LOC"))
			read_columns(line, &columns);
		else if (function && strlen(line) > 17 && line[16] == ' ') {
			rows++;
			wrong += !row_agrees(&section, line, &columns);
		}
	}
	pclose(readelf);
	print_message("%zu functions, %zu rows, %zu wrong\n", section.count, rows, wrong);
	assert_true(rows > 1000);
	assert_int_equal(wrong, 0);
	cfi_section_deinit(&section);
	elf_close(&elf);
}

int unwind_cfi_tests(void);
int unwind_cfi_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_row), cmocka_unit_test(sorted_table)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
