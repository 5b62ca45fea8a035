/* Copies of the kernel's code, by a made-up /proc. */
#include "symbol/kernel/kcore_copy.h"

#include "base/mem.h"
#include "symbol/code/code_file.h"
#include "symbol/kernel/kcore.h"
#include "tree.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT 0xffffffff81000000
#define PROGRAM 0xffffffffc0400000
#define MODULE 0xffffffffc0800000
#define DATA 0xffff888000000000
enum { PAGE = 4096, PAGES = 5 };

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81000010 T work\n"
			       "ffffffff81001800 T _etext\n"
			       "ffffffffc0800000 t of_module\t[foo]\n"
			       "ffffffffc0400100 t bpf_prog_1\t[bpf]\n";
static const char hidden[] = "0000000000000000 T _text\n0000000000000000 T _etext\n";
static const char modules[] = "foo 4096 0 - Live 0xffffffffc0800000\ngone 4096 0 - Live 0xffffffffd0000000\n";

/* Memory in which each page is full of its number: two of text, one of a program, one of a module, and one of nobody's business. */
static void write_kcore(const char *root)
{
	static const uint64_t addresses[PAGES] = {TEXT, TEXT + PAGE, PROGRAM, MODULE, DATA};
	char path[128];
	uint8_t page[PAGE];
	Elf64_Ehdr header = {.e_ident = ELFMAG "\2\1\1",
			     .e_type = ET_CORE,
			     .e_machine = EM_X86_64,
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 4};
	const uint64_t at = sizeof(header) + 4 * sizeof(Elf64_Phdr);
	Elf64_Phdr segments[4];
	for (size_t i = 0; i < 4; i++)
		segments[i] =
			(Elf64_Phdr){.p_type = PT_LOAD, .p_offset = at + (i + 1) * PAGE, .p_vaddr = addresses[i + 1], .p_filesz = PAGE};
	segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_offset = at, .p_vaddr = TEXT, .p_filesz = (size_t)2 * PAGE};
	snprintf(path, sizeof(path), "%s/kcore", root);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fwrite(&header, sizeof(header), 1, file);
	fwrite(segments, sizeof(segments), 1, file);
	for (int i = 0; i < PAGES; i++) {
		memset(page, i + 1, sizeof(page));
		fwrite(page, sizeof(page), 1, file);
	}
	fclose(file);
}

static void make(char *root, const char *list)
{
	tree_file files[] = {{"kallsyms", list}, {"modules", modules}};
	tree_make(root, files, 2);
	write_kcore(root);
}

static void code_and_nothing_else(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", to[64], path[80];
	struct kcore kcore = {0};
	uint8_t byte = 0;
	make(root, kallsyms);
	snprintf(to, sizeof(to), "%s/copy", root);
	assert_null(kcore_copy(root, to));
	snprintf(path, sizeof(path), "%s/kcore", to);
	assert_null(kcore_open(path, &kcore));
	assert_int_equal(kcore.segment_count, 3);
	assert_int_equal(kcore.machine, EM_X86_64);
	assert_true(kcore_read(&kcore, TEXT, &byte, 1) && byte == 1);
	assert_true(kcore_read(&kcore, TEXT + 2 * PAGE - 1, &byte, 1) && byte == 2);
	assert_true(kcore_read(&kcore, PROGRAM + 0x100, &byte, 1) && byte == 3);
	assert_true(kcore_read(&kcore, MODULE, &byte, 1) && byte == 4);
	assert_false(kcore_read(&kcore, DATA, &byte, 1));
	kcore_close(&kcore);
	struct error *error = kcore_copy(root, to); /* never over what is there */
	assert_non_null(error);
	error_free(error);
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(tree_remove(root), 0);
}

static void hidden_addresses(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", to[64];
	make(root, hidden);
	snprintf(to, sizeof(to), "%s/copy", root);
	struct error *error = kcore_copy(root, to);
	assert_non_null(error);
	assert_non_null(strstr(error_message(error), "kptr_restrict"));
	error_free(error);
	assert_int_not_equal(access(to, F_OK), 0);
	assert_int_equal(tree_remove(root), 0);
}

/* Half a list would be worse than none. */
static void unreadable_list(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", to[64];
	tree_file files[] = {{"kallsyms", kallsyms}, {"modules/is-a-directory", ""}};
	tree_make(root, files, 2);
	write_kcore(root);
	snprintf(to, sizeof(to), "%s/copy", root);
	struct error *error = kcore_copy(root, to);
	assert_non_null(error);
	assert_int_equal(error_errno(error), EISDIR);
	error_free(error);
	assert_int_not_equal(access(to, F_OK), 0);
	assert_int_equal(tree_remove(root), 0);
}

/* As on a disk that is full. */
static void no_room_for_the_copy(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", to[64];
	struct rlimit usual, small;
	make(root, kallsyms);
	snprintf(to, sizeof(to), "%s/copy", root);
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	small = (struct rlimit){PAGE + 100, usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct error *error = kcore_copy(root, to);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	signal(SIGXFSZ, before);
	assert_non_null(error);
	assert_int_equal(error_errno(error), EFBIG);
	error_free(error);
	assert_int_not_equal(access(to, F_OK), 0);
	assert_int_equal(tree_remove(root), 0);
}

static struct machine *make_machine(const struct buildid *id)
{
	struct machine *machine = machine_create();
	machine->kernel_start = 0xffff800000000000;
	struct map_description kernel = {
		.pid = UINT32_MAX, .start = TEXT, .end = TEXT + 0x100000, .pgoff = TEXT, .name = "[kernel.kallsyms]_text"};
	if (id)
		kernel.build_id = *id;
	machine_add_kernel_map(machine, &kernel, 0);
	struct map_description module = {.pid = UINT32_MAX, .start = MODULE, .end = MODULE + PAGE, .name = "[foo]"};
	machine_add_kernel_map(machine, &module, 0);
	machine_finish(machine);
	return machine;
}

/* A recording of another machine has its code with it, or in the cache. */
static void check_reading(const struct symbol_options *options, const struct buildid *id)
{
	struct machine *machine = make_machine(id);
	struct resolver *resolver = resolver_create(machine, options);
	static const struct {
		uint64_t address;
		const char *name;
		uint8_t byte;
	} expected[] = {{TEXT + 0x10, "work", 1}, {MODULE, "of_module", 4}};
	for (size_t i = 0; i < 2; i++) {
		struct frame frame;
		struct code_file *file;
		struct code_range range;
		resolver_frame(resolver, machine->kernel_maps, 1, expected[i].address, 1, &frame);
		assert_non_null(frame.symbol);
		assert_string_equal(frame.symbol->name, expected[i].name);
		assert_null(code_file_open(resolver, frame.map->dso, &file));
		assert_true(code_file_read(file, frame.symbol->start, 16, &range));
		assert_int_equal(range.bytes[0], expected[i].byte);
		code_file_close(file);
	}
	resolver_destroy(resolver);
	machine_destroy(machine);
}

static void read_from_the_recording(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", to[64];
	make(root, kallsyms);
	snprintf(to, sizeof(to), "%s/kcore_dir", root);
	assert_null(kcore_copy(root, to));
	check_reading(&(struct symbol_options){.kcore_dir = to, .buildid_dir = root, .proc = "/nonexistent", .ignore_vmlinux = true}, NULL);
	assert_int_equal(tree_remove(root), 0);
}

/* In a recording of others a file may be a pipe, to which nobody ever writes. */
static void pipes_are_not_opened(void **state)
{
	static const char *const names[] = {"kallsyms", "modules", "kcore"};
	const struct buildid id = {.size = 20, .data = {1, 2, 3}};
	for (size_t i = 0; i < 3; i++) {
		char root[] = "/tmp/kcore-XXXXXX", path[64], to[64];
		struct frame frame;
		char *folder = NULL;
		bool is_new;
		make(root, kallsyms);
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		snprintf(to, sizeof(to), "%s/copy", root);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(mkfifo(path, 0600), 0);
		struct error *error = kcore_copy(root, to);
		assert_non_null(error);
		assert_non_null(strstr(error_message(error), names[i]));
		error_free(error);
		error = kcore_copy_to_cache(root, to, &id, &folder, &is_new);
		assert_non_null(error);
		error_free(error);
		struct machine *machine = make_machine(NULL);
		const struct symbol_options options = {
			.kcore_dir = root, .buildid_dir = to, .proc = "/nonexistent", .ignore_vmlinux = true};
		struct resolver *resolver = resolver_create(machine, &options);
		resolver_frame(resolver, machine->kernel_maps, 1, TEXT + 0x10, 1, &frame);
		assert_int_equal(frame.symbol != NULL, i > 0);
		resolver_destroy(resolver);
		machine_destroy(machine);
		assert_int_equal(tree_remove(root), 0);
	}
}

static void read_from_the_cache(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", cache[64];
	const struct buildid id = {.size = 20, .data = {1, 2, 3}};
	char *folder = NULL, *again = NULL;
	bool is_new = false;
	make(root, kallsyms);
	snprintf(cache, sizeof(cache), "%s/cache", root);
	assert_null(kcore_copy_to_cache(root, cache, &id, &folder, &is_new));
	assert_true(is_new);
	assert_null(kcore_copy_to_cache(root, cache, &id, &again, &is_new));
	assert_false(is_new);
	assert_string_equal(folder, again);
	assert_null(kcore_copy_find(cache, &id, "_text", TEXT + PAGE)); /* of another boot */
	check_reading(&(struct symbol_options){.buildid_dir = cache, .proc = "/nonexistent", .ignore_vmlinux = true}, &id);
	kcore_copy_purge(cache);
	assert_int_not_equal(access(folder, F_OK), 0);
	free(folder);
	free(again);
	assert_int_equal(tree_remove(root), 0);
}

int symbol_kcore_copy_tests(void);
int symbol_kcore_copy_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_and_nothing_else), cmocka_unit_test(hidden_addresses),	    cmocka_unit_test(unreadable_list),
		cmocka_unit_test(no_room_for_the_copy),	 cmocka_unit_test(read_from_the_recording), cmocka_unit_test(read_from_the_cache),
		cmocka_unit_test(pipes_are_not_opened),
	};
	return cmocka_run_group_tests_name("kcore_copy", tests, NULL, NULL);
}
