/* Machine code from the kernel's memory, by a made-up /proc/kcore. */
#include "symbol/code/code_file.h"

#include "symbol/kernel/kcore.h"
#include "tree.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT 0xffffffff81000000
#define MODULES 0xffffffffc0000000

static const uint8_t text_code[] = {0xe8, 0x0b, 0,    0,    0,	  0xc3, 0x90, 0x90, 0x90, 0x90,
				    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x53, 0x5b, 0xc3};
static const uint8_t module_code[] = {0x55, 0x5d, 0xc3};

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81000000 T first\n"
			       "ffffffff81000010 T second\n"
			       "ffffffff81000013 T behind\n"
			       "ffffffffc0000000 t mod_a\t[foo]\n"
			       "ffffffffc0000003 t mod_b\t[foo]";

/* An ELF core whose two segments are the kernel's text and the modules, and one that isn't in the file. */
static void write_kcore(const char *root)
{
	char path[128];
	uint64_t at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
	Elf64_Ehdr header = {.e_ident = ELFMAG "\2\1\1",
			     .e_type = ET_CORE,
			     .e_machine = EM_X86_64,
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 3};
	Elf64_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_offset = at, .p_vaddr = TEXT, .p_filesz = sizeof(text_code)},
		{.p_type = PT_LOAD, .p_offset = at + sizeof(text_code), .p_vaddr = MODULES, .p_filesz = sizeof(module_code)},
		{.p_type = PT_LOAD, .p_offset = UINT64_MAX - 10, .p_vaddr = 0x1000, .p_filesz = 1 << 30},
	};
	snprintf(path, sizeof(path), "%s/kcore", root);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fwrite(&header, sizeof(header), 1, file);
	fwrite(segments, sizeof(segments), 1, file);
	fwrite(text_code, sizeof(text_code), 1, file);
	fwrite(module_code, sizeof(module_code), 1, file);
	fclose(file);
}

/* A machine that was recorded when the kernel was at TEXT + moved. */
static struct machine *make_machine(uint64_t moved)
{
	struct machine *machine = machine_create();
	machine->kernel_start = 0xffff800000000000;
	struct map_description kernel = {.pid = UINT32_MAX,
					 .start = TEXT + moved,
					 .end = TEXT + moved + 0x100000,
					 .pgoff = TEXT + moved,
					 .name = "[kernel.kallsyms]_text"};
	machine_add_kernel_map(machine, &kernel, 0);
	struct map_description module = {.pid = UINT32_MAX, .start = MODULES, .end = MODULES + 0x1000, .name = "[foo]"};
	machine_add_kernel_map(machine, &module, 0);
	machine_finish(machine);
	return machine;
}

struct place {
	char root[64];
	struct machine *machine;
	struct resolver *resolver;
};

static void begin(struct place *place, uint64_t moved, bool same_machine)
{
	tree_file files[] = {{"kallsyms", kallsyms}};
	strcpy(place->root, "/tmp/kcore-XXXXXX");
	tree_make(place->root, files, 1);
	write_kcore(place->root);
	place->machine = make_machine(moved);
	struct symbol_options options = {
		.proc = place->root, .buildid_dir = place->root, .ignore_vmlinux = true, .same_machine = same_machine};
	place->resolver = resolver_create(place->machine, &options);
}

static void end(struct place *place)
{
	resolver_destroy(place->resolver);
	machine_destroy(place->machine);
	assert_int_equal(tree_remove(place->root), 0);
}

static struct frame frame_at(struct place *place, uint64_t address)
{
	struct frame frame;
	resolver_frame(place->resolver, place->machine->kernel_maps, 1, address, 1, &frame);
	assert_non_null(frame.symbol);
	return frame;
}

static void check_kernel(uint64_t moved)
{
	struct place place;
	struct code_file *file;
	struct code_range range;
	struct code_name name;
	begin(&place, moved, true);
	struct frame frame = frame_at(&place, TEXT + moved + 0x11);
	assert_string_equal(frame.symbol->name, "second");
	assert_null(code_file_open(place.resolver, frame.map->dso, &file));
	/* Recorded addresses are asked for, those of now are given: code speaks of them. */
	assert_true(code_file_read(file, frame.symbol->start, frame.symbol->end - frame.symbol->start, &range));
	assert_int_equal(range.address, TEXT + 0x10);
	assert_int_equal(range.size, 3);
	assert_memory_equal(range.bytes, text_code + 0x10, 3);
	assert_true(code_file_name(file, &range, TEXT + 0x12, &name));
	assert_string_equal(name.name, "second");
	assert_int_equal(name.offset, 2);
	if (!moved) {
		assert_true(code_file_name(file, &range, MODULES + 1, &name));
		assert_string_equal(name.name, "mod_a");
		assert_int_equal(name.offset, 1);
	}
	assert_false(code_file_read(file, TEXT + moved + 0x1000, 1, &range));
	assert_false(code_file_read(file, TEXT + moved + 0x10, 0x100, &range));
	code_file_close(file);
	end(&place);
}

static void kernel_in_memory(void **state)
{
	check_kernel(0);
	check_kernel(0x1c00000); /* booted anew since */
}

static void modules_in_memory(void **state)
{
	struct place place;
	struct code_file *file;
	struct code_range range;
	begin(&place, 0, true);
	struct frame frame = frame_at(&place, MODULES + 1);
	assert_string_equal(frame.symbol->name, "mod_a");
	assert_null(code_file_open(place.resolver, frame.map->dso, &file));
	assert_true(code_file_read(file, frame.symbol->start, 3, &range));
	assert_int_equal(range.address, MODULES);
	assert_memory_equal(range.bytes, module_code, 3);
	code_file_close(file);
	end(&place);
}

/* Modules are somewhere else after a boot; another machine's kernel isn't ours. */
static void other_kernels_are_not_read(void **state)
{
	static const struct {
		uint64_t moved;
		bool same_machine, module;
	} cases[] = {{0x1c00000, true, true}, {0, false, true}, {0, false, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct place place;
		struct code_file *file = NULL;
		begin(&place, cases[i].moved, cases[i].same_machine);
		const struct map *map = maps_find(place.machine->kernel_maps, cases[i].module ? MODULES : TEXT, 1);
		struct error *error = code_file_open(place.resolver, map->dso, &file);
		assert_non_null(error);
		assert_null(file);
		assert_non_null(strstr(error_message(error), cases[i].module ? "[foo]" : "vmlinux"));
		error_free(error);
		end(&place);
	}
}

static void broken_pictures_of_memory(void **state)
{
	char root[] = "/tmp/kcore-XXXXXX", path[64];
	tree_file files[] = {{"text", "no ELF file, but long enough for a header of one, and a little more than that"}, {"empty", ""}};
	struct kcore kcore = {0};
	uint8_t byte;
	tree_make(root, files, 2);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, files[i][0]);
		struct error *error = kcore_open(path, &kcore);
		assert_non_null(error);
		error_free(error);
	}
	snprintf(path, sizeof(path), "%s/pipe", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	struct error *error = kcore_open(path, &kcore);
	assert_non_null(error);
	error_free(error);
	write_kcore(root);
	snprintf(path, sizeof(path), "%s/kcore", root);
	assert_null(kcore_open(path, &kcore));
	assert_false(kcore_read(&kcore, 0x1000, &byte, 1));
	assert_false(kcore_read(&kcore, TEXT + sizeof(text_code), &byte, 1));
	assert_true(kcore_read(&kcore, TEXT + sizeof(text_code) - 1, &byte, 1) && byte == 0xc3);
	kcore_close(&kcore);
	kcore_close(&kcore);
	assert_int_equal(tree_remove(root), 0);
}

int symbol_code_file_tests(void);
int symbol_code_file_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_in_memory),
		cmocka_unit_test(modules_in_memory),
		cmocka_unit_test(other_kernels_are_not_read),
		cmocka_unit_test(broken_pictures_of_memory),
	};
	return cmocka_run_group_tests_name("symbol/code_file", tests, NULL, NULL);
}
