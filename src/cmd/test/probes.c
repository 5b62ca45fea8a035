/* Checks of code that is put into the kernel: probes and BPF programs. */
#include "cmd/test/test.h"

#include "base/cleanup.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES = 64 };

/* What `perf doctor` tries is right or wrong, or not there. */
static void as_doctor_says(struct check *check, const char *row)
{
	if (check_has(check, row) && !check_is_ok(check, row))
		check_fail(check, "calls were missed: 'perf doctor -v %s'", row);
}

static void kprobe(struct check *check)
{
	as_doctor_says(check, "kprobes");
}

static void uprobe(struct check *check)
{
	as_doctor_says(check, "uprobes");
}

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	long status = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return status < 0 ? -errno : (int)status;
}

/* An array of one number. */
static int create_map(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

	return bpf(BPF_MAP_CREATE, &attr);
}

static uint64_t read_map(int map)
{
	uint32_t key = 0;
	uint64_t value = 0;
	union bpf_attr attr = {.map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)&value};

	bpf(BPF_MAP_LOOKUP_ELEM, &attr);
	return value;
}

/* Loads: map[0]++; return `result`. */
static int load_counting(int map, int result)
{
	const struct bpf_insn code[] = {
		/* r1 = &map[0], r0 = 1, *r1 += r0 atomically, r0 = result, leave */
		{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_STX | BPF_DW | BPF_ATOMIC, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0, .imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = result},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_PERF_EVENT,
			       .insn_cnt = sizeof(code) / sizeof(code[0]),
			       .insns = (uintptr_t)code,
			       .license = (uintptr_t) "GPL"};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* What a program sees of samples, and how many of them are left. */
static void attach_and_count(struct check *check, int result)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);
	size_t pages = PAGES;
	uint64_t count = 0;
	cleanup_close int map = create_map();
	cleanup_close int program = map < 0 ? map : load_counting(map, result);

	if (program < 0) {
		check_fail(check, "the program was refused: %s", strerror(-program));
		return;
	}
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	cleanup_close int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, fd, &attr, "page-faults"))
		return;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0) {
		check_fail(check, "the program cannot be attached: %s", strerror(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	measure_touch_pages(&pages);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != sizeof(count) || count < PAGES)
		check_fail(check, "%llu page faults for %d pages", (unsigned long long)count, PAGES);
	/* Between the first instruction that counts and the first that is seen lies nothing. */
	check_equal(check, "samples seen by the program", read_map(map), count);
}

static void bpf_program(struct check *check)
{
	if (!check_has(check, "bpf"))
		return;
	attach_and_count(check, 0);
	if (check->status == CHECK_OK)
		attach_and_count(check, 1);
}

static void bpf_kinds(struct check *check)
{
	if (!check_has(check, "bpf") || !check_has(check, "btf"))
		return;
	if (!check_is_ok(check, "bpf"))
		check_skip(check, "this kernel cannot load or attach some kinds: 'perf doctor -v bpf'");
}

const struct check_row probe_checks[] = {
	{"Kprobe on a system call", kprobe},
	{"Uprobe on a function of our own", uprobe},
	{"BPF program on samples", bpf_program},
	{"BPF programs of all kinds", bpf_kinds},
	{NULL, NULL},
};
