/* Symbol tables: sizes, aliases, overlaps, lazy names. What is expected was observed with the kernel's perf. */
#include "symbol/symtab.h"
#include "symbol/kernel/kallsyms.h"
#include "symbol/kernel/kernel_image.h"

#include <elf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *name_at(const struct symtab *symtab, uint64_t address)
{
	const struct symbol *symbol = symtab_find(symtab, address);
	return symbol ? symbol->name : "";
}

static void sizes_are_guessed(void **state)
{
	struct symbol_builder builder = {0};
	symbol_builder_add(&builder, 0x3000, 0, STB_GLOBAL, STT_FUNC, "last");
	symbol_builder_add(&builder, 0x1000, 0x10, STB_GLOBAL, STT_FUNC, "sized");
	symbol_builder_add(&builder, 0x2000, 0, STB_GLOBAL, STT_FUNC, "unsized");
	symbol_builder_settle(&builder, false);
	struct symtab *symtab = symtab_build(&builder, 0, NULL);
	uint64_t start, end;
	assert_null(symtab_find_around(symtab, 0x1800, &start, &end));
	assert_true(start == 0x1010 && end == 0x2000);
	assert_string_equal(symtab_find_around(symtab, 0x1008, &start, &end)->name, "sized");
	assert_true(start == 0x1000 && end == 0x1010);
	assert_string_equal(name_at(symtab, 0xfff), "");
	assert_string_equal(name_at(symtab, 0x100f), "sized");
	assert_string_equal(name_at(symtab, 0x1010), "");
	assert_string_equal(name_at(symtab, 0x2fff), "unsized");
	assert_string_equal(name_at(symtab, 0x3fff), "last");
	assert_string_equal(name_at(symtab, 0x4000), "");
	symtab_destroy(symtab);
}

/* All addresses around one for which that is the answer, and no other. */
static void check_around(const struct symtab *symtab, uint64_t space)
{
	uint64_t last_start = 1, last_end = 0;
	for (uint64_t at = 0; at < space; at++) {
		uint64_t start, end;
		const struct symbol *symbol = symtab_find_around(symtab, at, &start, &end);
		assert_ptr_equal(symbol, symtab_find(symtab, at));
		assert_true(start <= at && at < end);
		if (start == last_start && end == last_end)
			continue;
		last_start = start;
		last_end = end;
		for (uint64_t other = start; other < end && other < space; other++)
			assert_ptr_equal(symtab_find(symtab, other), symbol);
	}
}

/* An empty symbol within another one: it has its place in the table, and its own address. */
static void empty_symbols(void **state)
{
	struct symbol_builder builder = {0};
	symbol_builder_add(&builder, 0x1000, 0x100, STB_GLOBAL, STT_FUNC, "outer");
	symbol_builder_add(&builder, 0x1010, 0x10, STB_GLOBAL, STT_FUNC, "inner");
	symbol_builder_add(&builder, UINT64_MAX, 0, STB_GLOBAL, STT_FUNC, "empty");
	symbol_builder_add(&builder, 0x2000, UINT64_MAX, STB_GLOBAL, STT_FUNC, "rest");
	symbol_builder_settle(&builder, false);
	const struct symbol last = *vec_last(&builder.symbols);
	vec_push(&builder.symbols, last);
	builder.symbols.data[2] = (struct symbol){.start = 0x1080, .end = 0x1080, .name = "label"};
	builder.symbols.data[3] = (struct symbol){.start = 0x2000, .end = UINT64_MAX, .name = "rest"};
	struct symtab *symtab = symtab_build(&builder, 0, NULL);
	uint64_t start, end;
	check_around(symtab, 0x3000);
	assert_int_equal(symtab->count, 5);
	assert_string_equal(symtab_at(symtab, 2)->name, "label");
	assert_int_equal(symtab_at(symtab, 2)->start, 0x1080);
	assert_int_equal(symtab_at(symtab, 2)->end, 0x1080);
	assert_int_equal(symtab_at(symtab, 3)->end, UINT64_MAX);
	assert_string_equal(name_at(symtab, 0x1018), "inner");
	assert_string_equal(name_at(symtab, 0x1081), "outer");
	assert_string_equal(name_at(symtab, 0x100000000000), "rest");
	assert_true(symtab_bounds(symtab, &start, &end) && start == 0x1000 && end == UINT64_MAX);
	symtab_destroy(symtab);
}

static void one_of_the_aliases(void **state)
{
	static const struct {
		struct symbol a, b;
		bool first;
	} pairs[] = {
		{{.end = 8, .name = "a"}, {.end = 0, .name = "longer", .binding = STB_GLOBAL}, true},
		{{.end = 8, .name = "label"}, {.end = 8, .name = "f", .type = STT_FUNC}, false},
		{{.end = 8, .name = "weak", .binding = STB_WEAK}, {.end = 8, .name = "l"}, false},
		{{.end = 8, .name = "local"}, {.end = 8, .name = "g", .binding = STB_GLOBAL}, false},
		{{.end = 8, .name = "__long_name"}, {.end = 8, .name = "_n"}, false},
		{{.end = 8, .name = "long_name"}, {.end = 8, .name = "name"}, true},
		{{.end = 8, .name = "SyS_x"}, {.end = 8, .name = "sys_x"}, false},
		{{.end = 8, .name = "same1"}, {.end = 8, .name = "same2"}, true},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_int_equal(symbol_preferred(&pairs[i].a, &pairs[i].b), pairs[i].first);
}

/* Looked up together or one by one, addresses in no order: the same. */
static void check_many(const struct symtab *symtab, uint64_t space)
{
	uint64_t addrs[SYMTAB_MANY];
	const struct symbol *symbols[SYMTAB_MANY];
	for (uint64_t begin = 0; begin < space; begin += SYMTAB_MANY) {
		for (size_t i = 0; i < SYMTAB_MANY; i++)
			addrs[i] = (begin + i) * 37 % space;
		symtab_find_many(symtab, addrs, SYMTAB_MANY, symbols);
		for (size_t i = 0; i < SYMTAB_MANY; i++)
			assert_ptr_equal(symbols[i], symtab_find(symtab, addrs[i]));
	}
}

/* Every address of random overlapping symbols, against the definition: the symbol that starts last of those that cover it. */
static void overlaps(void **state)
{
	enum { SPACE = 400 };
	for (unsigned int seed = 1; seed < 200; seed++) {
		char owner[SPACE] = {0}, names[40][2];
		struct symbol_builder builder = {0};
		uint64_t start = 0, starts[40], ends[40];
		size_t count = 0;
		srand(seed);
		for (; count < 40 && start < SPACE - 60; count++) {
			start += 1 + (uint64_t)rand() % 12;
			names[count][0] = (char)('A' + count);
			names[count][1] = '\0';
			starts[count] = start;
			ends[count] = start + 1 + (uint64_t)rand() % (rand() % 4 ? 10 : 50);
			symbol_builder_add(&builder, start, ends[count] - start, STB_GLOBAL, STT_FUNC, names[count]);
		}
		for (size_t i = 0; i < count; i++)
			for (uint64_t at = starts[i]; at < ends[i]; at++)
				owner[at] = names[i][0];
		symbol_builder_settle(&builder, false);
		struct symtab *symtab = symtab_build(&builder, 0, NULL);
		for (uint64_t at = 0; at < SPACE; at++)
			assert_int_equal(name_at(symtab, at)[0], owner[at]);
		check_many(symtab, SPACE);
		check_around(symtab, SPACE);
		symtab_destroy(symtab);
	}
}

enum { FILE_NAMES = 20000, FILE_NAME = 10 };

struct names_file {
	char names[FILE_NAMES][FILE_NAME];
	int fd;
	struct mapping mapping;
};

/* Symbols of 16 bytes each, all names of which are in a file. */
static struct symtab *build_from_file(struct names_file *ret, bool sparing)
{
	char path[] = "/tmp/symtab.XXXXXX";
	struct symbol_builder builder = {.file = &ret->mapping, .sparing = sparing};
	ret->fd = mkstemp(path);
	assert_true(ret->fd >= 0);
	unlink(path);
	for (int i = 0; i < FILE_NAMES; i++)
		snprintf(ret->names[i], FILE_NAME, "name%05d", i);
	assert_int_equal(pwrite(ret->fd, ret->names, sizeof(ret->names), 0), sizeof(ret->names));
	assert_null(mapping_open_fd(ret->fd, path, &ret->mapping));
	for (uint64_t i = 0; i < FILE_NAMES; i++)
		symbol_builder_add(&builder, i * 16, 16, STB_GLOBAL, STT_FUNC, (const char *)ret->mapping.data + i * FILE_NAME);
	symbol_builder_settle(&builder, false);
	return symtab_build(&builder, 0, NULL);
}

/* Many names stay in the file. Who writes to it meanwhile, or cuts it short, gets other names and nothing worse. */
static void names_in_a_file(void **state)
{
	static struct names_file file;
	struct symtab *symtab = build_from_file(&file, false);
	assert_null(file.mapping.data); /* the table's now */
	assert_string_equal(name_at(symtab, 16 * 16), "name00016");
	memset(file.names, 'x', sizeof(file.names));
	assert_int_equal(pwrite(file.fd, file.names, sizeof(file.names), 0), sizeof(file.names));
	assert_string_equal(name_at(symtab, 16 * 16), "name00016");
	assert_string_equal(name_at(symtab, 16 * 17), "xxxxxxxxx");
	assert_string_equal(name_at(symtab, 16 * (FILE_NAMES - 1)), "xxxxxxxxx");
	memset(file.names, 0, sizeof(file.names)); /* as what was cut off reads */
	assert_int_equal(pwrite(file.fd, file.names, sizeof(file.names), 0), sizeof(file.names));
	close(file.fd);
	assert_string_equal(name_at(symtab, 16 * 18), "");
	assert_null(symtab_by_name(symtab, "name00019"));
	symtab_destroy(symtab);
}

/* KB of the mapping of a file that are in our memory. */
static int resident(int fd)
{
	char line[512];
	unsigned long inode, at = 0;
	int size = -1;
	struct stat status;
	FILE *maps = fopen("/proc/self/smaps", "r");
	assert_non_null(maps);
	assert_int_equal(fstat(fd, &status), 0);
	while (size < 0 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%*x-%*x %*s %*s %*s %lu", &inode) == 1)
			at = inode;
		else if (at == status.st_ino)
			sscanf(line, "Rss: %d", &size);
	}
	fclose(maps);
	return size;
}

/* Where they go now and then, after 64 at the latest, but for the page that the file ends in. */
static void names_leave_our_memory(void **state)
{
	static struct names_file file;
	struct symtab *symtab = build_from_file(&file, false);
	assert_true(resident(file.fd) >= (int)(sizeof(file.names) >> 10));
	close(file.fd);
	symtab_destroy(symtab);
	symtab = build_from_file(&file, true);
	int page = (int)sysconf(_SC_PAGESIZE) >> 10;
	assert_in_range(resident(file.fd), 0, page);
	int left = 0;
	for (uint64_t i = 0; i < FILE_NAMES; i += 100) {
		assert_string_equal(name_at(symtab, 16 * i), file.names[i]);
		left = resident(file.fd) <= page ? 0 : left + 1;
		assert_in_range(left, 0, 63);
	}
	close(file.fd);
	symtab_destroy(symtab);
}

struct asking {
	const struct symtab *symtab;
	const char *answer;
};

static void *ask(void *context)
{
	struct asking *asking = context;
	for (int i = 0; i < 1000; i++)
		asking->answer = name_at(asking->symtab, 0x1000);
	return NULL;
}

static void names_become_readable(void **state)
{
	static const char *const names[][2] = {
		{"_ZN3foo1A3getERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "foo::A::get"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_D8demangle4testFaZv", "demangle.test(char)"},
		{"camlStdlib__List__map_123", "Stdlib.List.map_123"},
		{"_Z3barv@plt", "bar@plt"},
		{"_Znot_mangled", "_Znot_mangled"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct symbol_builder builder = {.demangle = true};
		symbol_builder_add(&builder, 0x1000, 8, STB_GLOBAL, STT_FUNC, names[i][0]);
		symbol_builder_settle(&builder, false);
		struct symtab *symtab = symtab_build(&builder, 0, NULL);
		struct asking asking[4];
		pthread_t threads[4];
		for (int k = 0; k < 4; k++) {
			asking[k] = (struct asking){symtab, NULL};
			pthread_create(&threads[k], NULL, ask, &asking[k]);
		}
		for (int k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
		for (int k = 0; k < 4; k++)
			assert_string_equal(asking[k].answer, names[i][1]);
		assert_ptr_equal(symtab_by_name(symtab, names[i][1]), symtab_find(symtab, 0x1000));
		symtab_destroy(symtab);
	}
}

static void write_list(char *path, const char *text)
{
	strcpy(path, "/tmp/kallsyms-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void kernel_list(void **state)
{
	static const char text[] =
		"ffffffff81000000 T _text\nffffffff81000000 T other_name\nffffffff81000040 t local\n"
		"ffffffff81000080 r constant\nffffffff81000100 W weak\nnot a line\n\n"
		"ffffffffc0000000 t init\t[one_mod]\nffffffffc0000100 t exit\t[one_mod]\nffffffffc0100000 d data\t[two]\n";
	char path[64];
	write_list(path, text);
	struct kallsyms list;
	assert_null(kallsyms_open(path, &list));
	assert_false(list.restricted);
	uint64_t address;
	assert_true(kallsyms_address(&list, "_text", &address) && address == 0xffffffff81000000);
	assert_true(kallsyms_address(&list, "local", &address) && address == 0xffffffff81000040);
	assert_false(kallsyms_address(&list, "exit", &address));
	struct symbol_builder builder = {0};
	char *name = kernel_module_name("/lib/modules/6.1/extra/one-mod.ko.xz");
	kallsyms_pick(&list, name, 0, &builder);
	free(name);
	struct symtab *module = symtab_build(&builder, 0, path);
	kallsyms_give(&list, 0x1000, &builder);
	struct symtab *kernel = symtab_build(&builder, 0, path);
	assert_string_equal(name_at(kernel, 0xffffffff81001000), "other_name");
	assert_string_equal(name_at(kernel, 0xffffffff81001090), "local");
	assert_string_equal(name_at(kernel, 0xffffffff81001100), "weak");
	assert_string_equal(name_at(kernel, 0xffffffff81002fff), "weak");
	assert_string_equal(name_at(kernel, 0xffffffff81003000), "");
	assert_int_equal(module->count, 2);
	assert_string_equal(name_at(module, 0xffffffffc0000fff), "exit");
	symtab_destroy(kernel);
	symtab_destroy(module);
	unlink(path);
	write_list(path, "0000000000000000 T _text\n0000000000000000 T a\n");
	assert_null(kallsyms_open(path, &list));
	assert_true(list.restricted);
	kallsyms_close(&list);
	unlink(path);
}

static void module_names(void **state)
{
	static const char *const names[][2] = {
		{"/lib/modules/6.1/nf-nat.ko", "nf_nat"}, {"[ext4]", "ext4"}, {"snd-hda", "snd_hda"}, {"./parts.ko.zst", "parts"}};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *name = kernel_module_name(names[i][0]);
		assert_string_equal(name, names[i][1]);
		free(name);
	}
}

int symbol_symtab_tests(void);
int symbol_symtab_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_guessed),	 cmocka_unit_test(empty_symbols),
		cmocka_unit_test(one_of_the_aliases),	 cmocka_unit_test(overlaps),
		cmocka_unit_test(names_in_a_file),	 cmocka_unit_test(names_leave_our_memory),
		cmocka_unit_test(names_become_readable), cmocka_unit_test(kernel_list),
		cmocka_unit_test(module_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
