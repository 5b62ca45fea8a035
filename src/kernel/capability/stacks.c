/* Probes of call graphs: a page fault at a known place, sampled, shows what the kernel walks and copies. */
#include "arch/arch.h"
#include "kernel/capability/capability_internal.h"
#include "kernel/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHAIN_MAX = 64, STACK_BYTES = 4096, FUNCTION_BYTES = 512 };

/* What the functions below tell of themselves. */
struct known {
	volatile char *page;	/* touched for the first time by the innermost function */
	uintptr_t outer_return; /* where the outermost one goes back to */
	void *frame;
};

/* The innermost function: its sample is taken here. Asking for its frame makes the compiler set one up, which it spares in functions that
 * call none. */
static __attribute__((noinline)) int touch(struct known *known)
{
	known->frame = __builtin_frame_address(0);
	known->page[0] = 1;
	__asm__ volatile("" ::: "memory");
	return 0;
}

static __attribute__((noinline)) void call_directly(struct known *known)
{
	known->outer_return = (uintptr_t)__builtin_return_address(0);
	touch(known);
	__asm__ volatile("" ::: "memory");
}

/* bsearch() and its kin pass no context: the one element is what is looked for. */
static int compare(const void *key, const void *element)
{
	(void)element;
	return touch(*(struct known *const *)key);
}

/* The same with the C library in between. */
static __attribute__((noinline)) void call_through_library(struct known *known)
{
	struct known *elements[2] = {known, known};

	known->outer_return = (uintptr_t)__builtin_return_address(0);
	qsort(elements, 2, sizeof(elements[0]), compare);
	__asm__ volatile("" ::: "memory");
}

struct work {
	void (*function)(struct known *known);
	struct known known;
};

/* Calls down to the function whose page fault is sampled; the page is new each time. */
static void run_work(void *context)
{
	struct work *work = context;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	work->known.page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (work->known.page == MAP_FAILED)
		return;
	void (*volatile function)(struct known *) = work->function;
	function(&work->known);
	munmap((void *)work->known.page, size);
}

static struct perf_event_attr fault_attr(uint64_t sample_type)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR | sample_type;
	return attr;
}

/* The sample of the fault on the known page: what is behind its address, in *ret_size bytes; NULL when there is none. */
static const uint64_t *find_fault(const struct strbuf *records, const struct known *known, size_t *ret_size)
{
	const struct perf_event_header *header;
	size_t at = 0;

	while ((header = measure_find(records, &at, PERF_RECORD_SAMPLE))) {
		const uint64_t *words = (const void *)(header + 1);
		*ret_size = header->size - sizeof(*header);
		if (*ret_size < 8 || words[0] != (uintptr_t)known->page)
			continue;
		*ret_size -= 8;
		return words + 1;
	}
	return NULL;
}

/* Does the chain of the fault have the place in `function` from which it called on, and right behind it where `function` itself goes back
 * to? Returns 1, 0, or -errno. *ret_length is the chain's length. */
static int chain_reaches(void (*function)(struct known *), size_t *ret_length)
{
	struct perf_event_attr attr = fault_attr(PERF_SAMPLE_CALLCHAIN);
	struct work work = {.function = function};
	struct strbuf records = {0};
	size_t size = 0;
	bool found = false;

	attr.exclude_callchain_kernel = 1;
	int status = measure_records(&attr, -1, 8, run_work, &work, &records);
	const uint64_t *chain = status ? NULL : find_fault(&records, &work.known, &size);
	uint64_t count = chain && size >= 8 && chain[0] <= (size - 8) / 8 ? chain[0] : 0;
	for (uint64_t i = 1; i < count; i++)
		found |= chain[i + 1] == work.known.outer_return && chain[i] - (uintptr_t)function < FUNCTION_BYTES;
	*ret_length = count;
	strbuf_deinit(&records);
	return status < 0 ? status : found;
}

static void lack_stacks(struct capability_context *context, struct capability_result *ret, int status, const char *what)
{
	if (status == -EACCES || status == -EPERM) {
		capability_found(ret, CAPABILITY_MISSING, "not for this user");
		capability_remedy_rights(context, ret, 2);
	} else {
		capability_found(ret, CAPABILITY_MISSING, "%s%s%s", what, status < 0 ? ": " : "", status < 0 ? strerror(-status) : "");
	}
}

/* The kernel's walk has to lead back through our functions; then, by a call from qsort(), through the C library. */
void probe_stack_fp(struct capability_context *context, struct capability_result *ret)
{
	size_t length = 0, library_length = 0;
	int own = chain_reaches(call_directly, &length), library = chain_reaches(call_through_library, &library_length);

	capability_fact(ret, "own", "%s", own > 0 ? "true" : "false");
	capability_fact(ret, "library", "%s", library > 0 ? "true" : "false");
	if (own <= 0) {
		lack_stacks(context, ret, own, "the kernel walks no stack of this program, which has frame pointers");
	} else if (library > 0) {
		capability_found(ret, CAPABILITY_OK, "walked through this program and the C library");
	} else {
		capability_found(ret, CAPABILITY_LIMITED,
				 "walked through this program, but not through the C library, which is built without");
		capability_cost(ret, "callers are missing above functions of libraries and programs without frame pointers");
		capability_remedy(ret, "perf record --call-graph dwarf …");
	}
}

/* Are the registers those at the fault, and the stack's bytes those from the stack pointer on? */
static bool stack_is_right(const uint64_t *words, size_t size)
{
	/* abi, two registers (by rising number), size of the stack, its bytes, how many of them count */
	if (size < 5 * 8 || words[0] != PERF_SAMPLE_REGS_ABI_64 || words[3] < 64 || words[3] > size - 5 * 8)
		return false;
	uint64_t code = words[2], bytes = words[4 + words[3] / 8];
	return code - (uintptr_t)touch < FUNCTION_BYTES && bytes >= 64;
}

/* Samples have to bring the two registers and a stack that belongs to them. */
void probe_stack_dwarf(struct capability_context *context, struct capability_result *ret)
{
	struct perf_event_attr attr = fault_attr(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct work work = {.function = call_directly};
	struct strbuf records = {0};
	const struct arch_frames *frames = arch_frames_of(arch_own(), PERF_SAMPLE_REGS_ABI_64);
	size_t size = 0;

	if (!frames) {
		capability_found(ret, CAPABILITY_MISSING, "stacks of this processor are not unwound by this version");
		return;
	}
	attr.sample_regs_user = 1ull << frames->sample[frames->numbers.sp] | 1ull << frames->ip_sample;
	attr.sample_stack_user = STACK_BYTES;
	int status = measure_records(&attr, -1, 32, run_work, &work, &records);
	const uint64_t *words = status ? NULL : find_fault(&records, &work.known, &size);
	bool right = words && stack_is_right(words, size);
	strbuf_deinit(&records);
	capability_fact(ret, "registers_and_stack", "%s", right ? "true" : "false");
	if (right)
		capability_found(ret, CAPABILITY_OK, "samples come with registers and stack, and are unwound here");
	else
		lack_stacks(context, ret, status, "samples come without registers or stack");
}
