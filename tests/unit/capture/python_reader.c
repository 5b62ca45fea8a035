/* Frames of Python that a process has made up: of this process, whose memory has an interpreter of version 3.12 that is also a file. */
#include "capture/python/python_reader.h"

#include "arch/arch.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, MARK = 3, CODE_UNITS = 16 };
enum { RUNTIME, EVALUATES, CODE_TYPE, VERSION, SYMBOLS };

struct made_frame {
	uint64_t code, previous, unused[5], instruction;
	uint8_t more[6], owner, end[9];
};
_Static_assert(offsetof(struct made_frame, instruction) == 56 && offsetof(struct made_frame, owner) == 70, "as in CPython 3.12");

struct made_code {
	uint64_t references, type, count, unused[11], file, more, name, lines, others[6];
	uint16_t instructions[CODE_UNITS];
};
_Static_assert(offsetof(struct made_code, file) == 112 && offsetof(struct made_code, name) == 128 &&
		       offsetof(struct made_code, instructions) == 192,
	       "as in CPython 3.12");

/* The file, and what is in memory where it is mapped. */
static struct image {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[1 + SYMBOLS];
	char names[128];
	uint8_t evaluates[64], calls[64];
	uint64_t version, type, runtime[7], interpreter[10], thread[8];
	struct made_frame frames[2];
	struct made_code code;
	uint64_t stack[32];
} __attribute__((aligned(PAGE))) image;

#define PLACE(MEMBER) offsetof(struct image, MEMBER)
#define ADDRESS(WHAT) ((uint64_t)(uintptr_t) & (WHAT))

static void name_symbols(void)
{
	static const struct {
		const char *name;
		size_t place, size;
	} symbols[SYMBOLS] = {[RUNTIME] = {"_PyRuntime", PLACE(runtime), sizeof(image.runtime)},
			      [EVALUATES] = {"_PyEval_EvalFrameDefault", PLACE(evaluates), sizeof(image.evaluates)},
			      [CODE_TYPE] = {"PyCode_Type", PLACE(type), sizeof(image.type)},
			      [VERSION] = {"Py_Version", PLACE(version), sizeof(image.version)}};
	size_t end = 1;
	for (size_t i = 0; i < SYMBOLS; i++) {
		image.symbols[1 + i] = (Elf64_Sym){.st_name = (uint32_t)end,
						   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
						   .st_shndx = SHN_ABS,
						   .st_value = symbols[i].place,
						   .st_size = symbols[i].size};
		end += (size_t)sprintf(image.names + end, "%s", symbols[i].name) + 1;
	}
	image.sections[1].sh_name = (uint32_t)end;
	end += (size_t)sprintf(image.names + end, ".symtab") + 1;
	assert_true(end <= sizeof(image.names));
}

static void make_file(void)
{
	image.header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				    .e_type = ET_DYN,
				    .e_machine = EM_X86_64,
				    .e_version = EV_CURRENT,
				    .e_phoff = PLACE(load),
				    .e_shoff = PLACE(sections),
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 1,
				    .e_shentsize = sizeof(Elf64_Shdr),
				    .e_shnum = 3,
				    .e_shstrndx = 2};
	image.load = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(image), .p_memsz = sizeof(image)};
	image.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					 .sh_offset = PLACE(symbols),
					 .sh_size = sizeof(image.symbols),
					 .sh_link = 2,
					 .sh_entsize = sizeof(Elf64_Sym)};
	image.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = PLACE(names), .sh_size = sizeof(image.names)};
	image.version = 0x030c00f0;
	name_symbols();
}

/* A function that evaluates, called by one that doesn't; its struct _PyCFrame leads to the first frame, whose code is the interpreter's
 * own: name and file are one string. */
static void make_process(bool ends)
{
	enum { CFRAME = 2, SAVED_FP = 8 };
	image.runtime[6] = ADDRESS(image.interpreter);
	image.interpreter[9] = ADDRESS(image.thread);
	image.thread[7] = ADDRESS(image.stack[CFRAME]);
	image.stack[CFRAME] = ADDRESS(image.frames[0]);
	image.stack[SAVED_FP] = 0;
	image.stack[SAVED_FP + 1] = ADDRESS(image.calls[8]);
	image.code.type = ADDRESS(image.type);
	image.code.count = CODE_UNITS;
	image.frames[0].code = ADDRESS(image.code);
	image.frames[0].instruction = ADDRESS(image.code.instructions);
	image.frames[0].previous = ADDRESS(image.frames[ends]);
	image.frames[1].owner = MARK;
}

static struct python_reader_counts read_stack(bool ends)
{
	static const struct symbol_options options = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	const struct arch_frames *arch = &arch_own()->frames;
	char path[] = "/tmp/perf-python-XXXXXX";
	struct stat status;
	make_file();
	make_process(ends);
	int fd = mkstemp(path);
	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	assert_int_equal(fstat(fd, &status), 0);
	close(fd);
	uint32_t pid = (uint32_t)getpid();
	const struct map_description map = {.pid = pid,
					    .tid = pid,
					    .start = ADDRESS(image),
					    .end = ADDRESS(image) + sizeof(image),
					    .name = path,
					    .prot = PROT_READ | PROT_EXEC,
					    .major = major(status.st_dev),
					    .minor = minor(status.st_dev),
					    .inode = status.st_ino};
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &options);
	struct python_frames *frames = python_frames_create(NULL);
	struct python_reader *reader = python_reader_create(frames, resolver);
	struct unwind_cache *cache = NULL;
	machine->arch = arch_own()->name;
	machine_add_comm(machine, pid, pid, "python", false, 1);
	machine_add_map(machine, &map, 1);
	/* Of the registers by the kernel's numbers: the first one vouches, as one of the code's instructions. */
	uint64_t values[64] = {[0] = ADDRESS(image.code.instructions[1])}, packed[4],
		 ips[8] = {ADDRESS(image.evaluates[16]), ADDRESS(image.calls[7])};
	unsigned int fp = arch->sample[arch->numbers.fp], sp = arch->sample[arch->numbers.sp], ip = arch->ip_sample, count = 0;
	uint64_t mask = 1 | UINT64_C(1) << fp | UINT64_C(1) << sp | UINT64_C(1) << ip;
	values[fp] = ADDRESS(image.stack[8]);
	values[sp] = ADDRESS(image.stack);
	values[ip] = ips[0];
	for (unsigned int i = 0; i < 64; i++)
		if (mask >> i & 1)
			packed[count++] = values[i];
	const struct unwind_input input = {.arch = machine->arch,
					   .abi = 2,
					   .mask = mask,
					   .registers = packed,
					   .stack = image.stack,
					   .stack_size = sizeof(image.stack),
					   .maps = thread_maps(machine_thread(machine, pid, UINT64_MAX)),
					   .time = UINT64_MAX};
	assert_int_equal(python_reader_add(reader, pid, &input, &cache, ips, 2, 8), 2);
	struct python_reader_counts counts = python_reader_counts(reader);
	unwind_cache_destroy(cache);
	python_reader_destroy(reader);
	python_frames_destroy(frames);
	resolver_destroy(resolver);
	machine_destroy(machine);
	unlink(path);
	return counts;
}

/* None of the frames counts, so that it isn't their number that ends it. */
static void test_a_frame_that_calls_itself(void **state)
{
	if (strcmp(arch_own()->name, "x86_64") != 0)
		skip();
	struct python_reader_counts counts = read_stack(true);
	assert_int_equal(counts.added, 1);
	counts = read_stack(false);
	assert_int_equal(counts.added, 0);
	assert_int_equal(counts.changed, 1);
}

int capture_python_reader_tests(void);
int capture_python_reader_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_frame_that_calls_itself)};
	return cmocka_run_group_tests_name("capture/python_reader", tests, NULL, NULL);
}
