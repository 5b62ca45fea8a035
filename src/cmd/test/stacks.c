/* Checks of stacks and of the names in them: three functions of ours call each other, the innermost causes a page fault, and the sample of
 * that is read back as a report would do it. */
#include "cmd/test/test.h"

#include "capture/sampling.h"
#include "kernel/measure.h"
#include "perfdata/layout.h"
#include "symbol/resolve.h"
#include "unwind/unwind.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { STACK_BYTES = 16384, DEPTH_MAX = 64, USER_MODE = 2, SPIN_NS = 20000000 };

#if __has_attribute(noipa)
#define VISIBLE __attribute__((noipa))
#else
#define VISIBLE __attribute__((noinline))
#endif

static VISIBLE void check_inner(volatile char *page)
{
	/* Asking for its frame makes the compiler set one up. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	page[0] = 1;
	__asm__ volatile("");
}

static VISIBLE void check_middle(volatile char *page)
{
	check_inner(page);
	__asm__ volatile("");
}

static VISIBLE void check_outer(void *page)
{
	check_middle(page);
	__asm__ volatile("");
}

/* This process as a machine of the model: one thread and its maps. */
static struct machine *own_machine(void)
{
	static const uint32_t executable = PROT_READ | PROT_EXEC;
	struct machine *machine = machine_create();
	struct utsname name;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352];

	uname(&name);
	machine->arch = arena_strdup(&machine->arena, name.machine);
	machine_add_comm(machine, (uint32_t)getpid(), (uint32_t)getpid(), "perf", false, 1);
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset;
		char rights[8];
		int path = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &start, &end, rights, &offset, &path) < 4 || rights[2] != 'x' || !path)
			continue;
		line[strcspn(line, "\n")] = '\0';
		const struct map_description map = {.pid = (uint32_t)getpid(),
						    .tid = (uint32_t)getpid(),
						    .start = start,
						    .end = end,
						    .pgoff = offset,
						    .name = line[path] ? line + path : "//anon",
						    .prot = executable};
		machine_add_map(machine, &map, 1);
	}
	if (maps)
		fclose(maps);
	machine_finish(machine);
	return machine;
}

struct own_names {
	struct symbol_options options;
	struct machine *machine;
	struct resolver *resolver;
	const struct maps *maps;
};

static void own_names_init(struct own_names *names)
{
	names->options = (struct symbol_options){.same_machine = true, .demangle = true};
	names->machine = own_machine();
	names->resolver = resolver_create(names->machine, &names->options);
	names->maps = thread_maps(machine_thread(names->machine, (uint32_t)getpid(), 2));
}

static void own_names_deinit(struct own_names *names)
{
	resolver_destroy(names->resolver);
	machine_destroy(names->machine);
}

static const char *name_of(const struct own_names *names, uint64_t address)
{
	struct frame frame;

	resolver_frame(names->resolver, names->maps, USER_MODE, address, 2, &frame);
	return frame.symbol ? frame.symbol->name : "?";
}

/* Do the names of a stack, innermost first, begin with those of our functions? */
static void check_stack(struct check *check, const struct own_names *names, const uint64_t *ips, size_t count)
{
	static const char *const expected[] = {"check_inner", "check_middle", "check_outer"};
	struct strbuf text = {0};

	for (size_t i = 0; i < count; i++)
		strbuf_printf(&text, "%s%s", i ? " < " : "", name_of(names, ips[i]));
	check_log(check, "%s", strbuf_str(&text));
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (i >= count || strcmp(name_of(names, ips[i]), expected[i]) != 0)
			check_fail(check, "%s is missing from the stack: %s", expected[i], strbuf_str(&text));
	strbuf_deinit(&text);
}

/* The sample of a page fault in check_inner(). `records` owns its bytes. False when there is none, which is told. */
static bool sample_fault(struct check *check, struct perf_event_attr *attr, struct strbuf *records, struct sample *ret)
{
	size_t at = 0, size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct event_attr *event_attr = (const struct event_attr *)attr;
	const struct perf_event_header *header;
	struct sample_layout layout;

	attr->sample_period = 1;
	attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	int status = page == MAP_FAILED ? 0 : measure_records(attr, -1, 32, check_outer, page, records);
	if (!check_opened(check, status, attr, "page-faults"))
		return false;
	sample_layout_init(&layout, event_attr);
	while ((header = measure_find(records, &at, PERF_RECORD_SAMPLE)))
		if (!sample_decode(&layout, event_attr, (const struct record_header *)header, ret) && ret->addr == (uintptr_t)page)
			return true;
	check_fail(check, "the page fault was not sampled");
	return false;
}

static struct perf_event_attr fault_attr(void)
{
	return measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);
}

static void own_symbols(struct check *check)
{
	struct perf_event_attr attr = fault_attr();
	struct strbuf records = {0};
	struct own_names names;
	struct sample sample;

	own_names_init(&names);
	if (sample_fault(check, &attr, &records, &sample)) {
		check_log(check, "0x%llx is in %s", (unsigned long long)sample.ip, name_of(&names, sample.ip));
		if (strcmp(name_of(&names, sample.ip), "check_inner") != 0)
			check_fail(check, "the sample is in '%s' instead of check_inner", name_of(&names, sample.ip));
	}
	own_names_deinit(&names);
	strbuf_deinit(&records);
}

static void frame_pointers(struct check *check)
{
	struct perf_event_attr attr = fault_attr();
	struct strbuf records = {0};
	struct own_names names;
	struct sample sample;

	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	own_names_init(&names);
	if (sample_fault(check, &attr, &records, &sample)) {
		/* The first is a marker: what follows is the user's. */
		size_t skip = sample.chain_count && sample.chain[0] >= PERF_CONTEXT_MAX;
		check_stack(check, &names, sample.chain + skip, sample.chain_count - skip);
	}
	own_names_deinit(&names);
	strbuf_deinit(&records);
}

static void dwarf_unwind(struct check *check)
{
	struct perf_event_attr attr = fault_attr();
	struct strbuf records = {0};
	struct unwind_cache *cache = NULL;
	struct own_names names;
	struct sample sample;
	uint64_t ips[DEPTH_MAX];

	if (!check_has(check, "dwarf"))
		return;
	attr.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = sampling_unwind_regs();
	attr.sample_stack_user = STACK_BYTES;
	own_names_init(&names);
	if (sample_fault(check, &attr, &records, &sample)) {
		const struct unwind_input input = {.arch = names.machine->arch,
						   .abi = sample.regs_user.abi,
						   .mask = sample.regs_user.mask,
						   .registers = sample.regs_user.values,
						   .stack = sample.stack,
						   .stack_size = sample.stack_valid,
						   .maps = names.maps,
						   .time = 2};
		struct unwind_end end;
		size_t count = unwind_user(names.resolver, &cache, &input, ips, DEPTH_MAX, &end);
		check_stack(check, &names, ips, count);
		if (!count || strcmp(name_of(&names, ips[count - 1]), "_start") != 0)
			check_fail(check, "the outermost function is %s instead of _start", count ? name_of(&names, ips[count - 1]) : "?");
	}
	unwind_cache_destroy(cache);
	own_names_deinit(&names);
	strbuf_deinit(&records);
}

/* The first sample of cycles while we compute. False when there is none, which is told. */
static bool sample_cycles(struct check *check, struct perf_event_attr *attr, struct strbuf *records, struct sample *ret)
{
	const struct event_attr *event_attr = (const struct event_attr *)attr;
	const struct perf_event_header *header;
	struct sample_layout layout;
	uint64_t spin = SPIN_NS;
	size_t at = 0;

	attr->sample_period = 100000;
	int status = measure_records(attr, -1, 64, measure_spin, &spin, records);
	if (!check_opened(check, status, attr, "cycles"))
		return false;
	sample_layout_init(&layout, event_attr);
	while ((header = measure_find(records, &at, PERF_RECORD_SAMPLE)))
		if (!sample_decode(&layout, event_attr, (const struct record_header *)header, ret))
			return true;
	check_fail(check, "no sample of cycles arrived");
	return false;
}

static void branch_stacks(struct check *check)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
	struct strbuf records = {0};
	struct sample sample;

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	if (check_has(check, "branches") && sample_cycles(check, &attr, &records, &sample))
		check_range(check, "branches of a sample", sample.branch_count, 1, 1024);
	strbuf_deinit(&records);
}

static void precise_sampling(struct check *check)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
	struct strbuf records = {0};
	struct sample sample;

	attr.sample_type = PERF_SAMPLE_IP;
	attr.precise_ip = 1;
	if (check_has(check, "precise") && sample_cycles(check, &attr, &records, &sample) &&
	    !(sample.header->misc & PERF_RECORD_MISC_EXACT_IP))
		check_fail(check, "the sample is not marked as exact");
	strbuf_deinit(&records);
}

const struct check_row stack_checks[] = {
	{"Symbols of our own code", own_symbols}, {"Call chain by frame pointers", frame_pointers}, {"Test dwarf unwind", dwarf_unwind},
	{"Branch stacks", branch_stacks},	  {"Precise sampling", precise_sampling},	    {NULL, NULL},
};
