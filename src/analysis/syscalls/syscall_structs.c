/* Structures that system calls take and fill. Their layouts are those of 64-bit machines, from the kernel's UAPI headers; those of <asm/…>
 * are the same on x86-64 and arm64 unless said. */
#include "analysis/syscalls/syscall_internal.h"

#include <asm/stat.h>
#include <linux/rseq.h>
#include <linux/stat.h>
#include <linux/sysinfo.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>

extern const struct constant_set constants_statx, constants_statx_attribute, constants_fs_magic, constants_statfs_flag, constants_sigaction,
	constants_signal, constants_signal_code, constants_signal_code_chld, constants_signal_code_segv, constants_signal_code_bus,
	constants_signal_code_fpe, constants_signal_code_ill, constants_signal_code_trap, constants_sigaltstack, constants_sigevent,
	constants_poll, constants_epoll_event, constants_semop, constants_sched_class, constants_sched_attr_flag, constants_file_type;

/* ---- files ---- */

/* The most interesting members, as strace shows them. */
static void print_stat_members(struct strbuf *out, const char *prefix, uint64_t mode, uint64_t size, uint64_t device)
{
	uint64_t type = mode & 0170000;

	strbuf_printf(out, "%smode=", prefix);
	syscall_print_file_mode(out, mode);
	if (type == 0020000 || type == 0060000) {
		strbuf_printf(out, ", %srdev=", prefix);
		syscall_print_device(out, device);
	} else {
		strbuf_printf(out, ", %ssize=%llu", prefix, (unsigned long long)size);
	}
	strbuf_add_str(out, ", ...}");
}

static void print_stat(struct syscall_text *text, const uint8_t *data)
{
	struct stat status;

	memcpy(&status, data, sizeof(status));
	strbuf_add_char(text->out, '{');
	print_stat_members(text->out, "st_", status.st_mode, (uint64_t)status.st_size, status.st_rdev);
}

static void print_statx(struct syscall_text *text, const uint8_t *data)
{
	struct statx status;

	memcpy(&status, data, sizeof(status));
	strbuf_add_str(text->out, "{stx_mask=");
	constants_add_flags(text->out, &constants_statx, status.stx_mask, false);
	strbuf_add_str(text->out, ", stx_attributes=");
	constants_add_flags(text->out, &constants_statx_attribute, status.stx_attributes, false);
	strbuf_add_str(text->out, ", ");
	print_stat_members(text->out, "stx_", status.stx_mode, status.stx_size,
			   (uint64_t)status.stx_rdev_major << 8 | (status.stx_rdev_minor & 0xff) |
				   (uint64_t)(status.stx_rdev_minor & ~0xffu) << 12);
}

#define FIXED(kind) .form = SYSCALL_FORM_FIXED, .size = sizeof(kind)
const struct syscall_type syscall_type_stat = {.structure = "stat", .print_element = print_stat, FIXED(struct stat)};
const struct syscall_type syscall_type_statx = {
	.structure = "statx", .print_element = print_statx, FIXED(struct statx), .same_in_compat = true};

/* include/uapi/asm-generic/statfs.h */
struct kernel_statfs {
	int64_t type, block_size;
	uint64_t blocks, free, available, files, free_files;
	int32_t id[2];
	int64_t name_length, fragment_size, flags, spare[4];
};

static void print_statfs(struct syscall_text *text, const uint8_t *data)
{
	enum { ST_VALID = 0x20 }; /* include/linux/statfs.h; the kernel sets it always */
	struct kernel_statfs status;
	struct strbuf *out = text->out;

	memcpy(&status, data, sizeof(status));
	strbuf_add_str(out, "{f_type=");
	constants_add_enum(out, &constants_fs_magic, (uint64_t)status.type, false);
	strbuf_printf(out, ", f_bsize=%lld, f_blocks=%llu, f_bfree=%llu, f_bavail=%llu, f_files=%llu, f_ffree=%llu, f_fsid={val=[",
		      (long long)status.block_size, (unsigned long long)status.blocks, (unsigned long long)status.free,
		      (unsigned long long)status.available, (unsigned long long)status.files, (unsigned long long)status.free_files);
	put_hex(out, (uint32_t)status.id[0]);
	strbuf_add_str(out, ", ");
	put_hex(out, (uint32_t)status.id[1]);
	strbuf_printf(out, "]}, f_namelen=%lld, f_frsize=%lld, f_flags=", (long long)status.name_length, (long long)status.fragment_size);
	uint64_t flags = (uint64_t)status.flags;
	if (flags & ST_VALID)
		strbuf_add_str(out, flags == ST_VALID ? "ST_VALID" : "ST_VALID|");
	if (flags != ST_VALID)
		constants_add_flags(out, &constants_statfs_flag, flags & ~(uint64_t)ST_VALID, false);
	strbuf_add_char(out, '}');
}

const struct syscall_type syscall_type_statfs = {.structure = "statfs", .print_element = print_statfs, FIXED(struct kernel_statfs)};

/* ---- time ---- */

static void print_two(struct strbuf *out, const uint8_t *data, const char *first, const char *second)
{
	strbuf_add_char(out, '{');
	strbuf_add_str(out, first);
	put_decimal(out, (int64_t)get_u64(data));
	strbuf_add_str(out, second);
	put_decimal(out, (int64_t)get_u64(data + 8));
	strbuf_add_char(out, '}');
}

void syscall_print_timespec(struct strbuf *out, const uint8_t *data)
{
	enum { NOW = (1 << 30) - 1, OMIT = (1 << 30) - 2 }; /* UTIME_NOW, UTIME_OMIT */
	uint64_t nanoseconds = get_u64(data + 8);

	if (nanoseconds == NOW || nanoseconds == OMIT)
		strbuf_add_str(out, nanoseconds == NOW ? "UTIME_NOW" : "UTIME_OMIT");
	else
		print_two(out, data, "tv_sec=", ", tv_nsec=");
}

static void print_timespec(struct syscall_text *text, const uint8_t *data)
{
	syscall_print_timespec(text->out, data);
}

static void print_timespec_pair(struct syscall_text *text, const uint8_t *data)
{
	syscall_print_timespec(text->out, data);
	strbuf_add(text->out, ", ", 2);
	syscall_print_timespec(text->out, data + 16);
}

static void print_timeval(struct syscall_text *text, const uint8_t *data)
{
	print_two(text->out, data, "tv_sec=", ", tv_usec=");
}

static void print_timeval_pair(struct syscall_text *text, const uint8_t *data)
{
	print_timeval(text, data);
	strbuf_add(text->out, ", ", 2);
	print_timeval(text, data + 16);
}

static void print_timezone(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "{tz_minuteswest=%d, tz_dsttime=%d}", (int)get_u32(data), (int)get_u32(data + 4));
}

static void print_interval(struct syscall_text *text, const uint8_t *data, void (*print)(struct syscall_text *text, const uint8_t *data))
{
	strbuf_add_str(text->out, "{it_interval=");
	print(text, data);
	strbuf_add_str(text->out, ", it_value=");
	print(text, data + 16);
	strbuf_add_char(text->out, '}');
}

static void print_itimerval(struct syscall_text *text, const uint8_t *data)
{
	print_interval(text, data, print_timeval);
}

static void print_itimerspec(struct syscall_text *text, const uint8_t *data)
{
	print_interval(text, data, print_timespec);
}

static void print_times(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "{tms_utime=%lld, tms_stime=%lld, tms_cutime=%lld, tms_cstime=%lld}", (long long)get_u64(data),
		      (long long)get_u64(data + 8), (long long)get_u64(data + 16), (long long)get_u64(data + 24));
}

const struct syscall_type syscall_type_timespec = {
	.structure = "__kernel_timespec", .print_element = print_timespec, .form = SYSCALL_FORM_FIXED, .size = 16};
const struct syscall_type syscall_type_timespec_pair = {
	.print_element = print_timespec_pair, .form = SYSCALL_FORM_FIXED, .size = 32, .bracketed = true};
const struct syscall_type syscall_type_timeval = {
	.structure = "__kernel_old_timeval", .print_element = print_timeval, .form = SYSCALL_FORM_FIXED, .size = 16};
const struct syscall_type syscall_type_timeval_pair = {
	.print_element = print_timeval_pair, .form = SYSCALL_FORM_FIXED, .size = 32, .bracketed = true};
const struct syscall_type syscall_type_timezone = {
	.structure = "timezone", .print_element = print_timezone, .form = SYSCALL_FORM_FIXED, .size = 8, .same_in_compat = true};
const struct syscall_type syscall_type_itimerval = {
	.structure = "__kernel_old_itimerval", .print_element = print_itimerval, .form = SYSCALL_FORM_FIXED, .size = 32};
const struct syscall_type syscall_type_itimerspec = {
	.structure = "__kernel_itimerspec", .print_element = print_itimerspec, .form = SYSCALL_FORM_FIXED, .size = 32};
const struct syscall_type syscall_type_tms = {.structure = "tms", .print_element = print_times, .form = SYSCALL_FORM_FIXED, .size = 32};

/* ---- limits and usage ---- */

static void print_limit(struct strbuf *out, uint64_t value)
{
	if (value == UINT64_MAX)
		strbuf_add_str(out, "RLIM64_INFINITY");
	else if (value > 1024 && value % 1024 == 0)
		strbuf_printf(out, "%llu*1024", (unsigned long long)value / 1024);
	else
		strbuf_add_u64(out, value, 0);
}

static void print_rlimit(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_str(text->out, "{rlim_cur=");
	print_limit(text->out, get_u64(data));
	strbuf_add_str(text->out, ", rlim_max=");
	print_limit(text->out, get_u64(data + 8));
	strbuf_add_char(text->out, '}');
}

static void print_rusage(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_str(text->out, "{ru_utime=");
	print_timeval(text, data);
	strbuf_add_str(text->out, ", ru_stime=");
	print_timeval(text, data + 16);
	strbuf_add_str(text->out, ", ...}");
}

static void print_uname(struct syscall_text *text, const uint8_t *data)
{
	enum { LENGTH = sizeof(((struct utsname *)NULL)->sysname) };

	strbuf_add_str(text->out, "{sysname=");
	syscall_print_string(text->out, data, LENGTH, false, UINT32_MAX);
	strbuf_add_str(text->out, ", nodename=");
	syscall_print_string(text->out, data + LENGTH, LENGTH, false, UINT32_MAX);
	strbuf_add_str(text->out, ", ...}");
}

static void print_sysinfo(struct syscall_text *text, const uint8_t *data)
{
	struct sysinfo info;

	memcpy(&info, data, sizeof(info));
	strbuf_printf(
		text->out,
		"{uptime=%ld, loads=[%lu, %lu, %lu], totalram=%lu, freeram=%lu, sharedram=%lu, bufferram=%lu, totalswap=%lu, freeswap=%lu, "
		"procs=%u, totalhigh=%lu, freehigh=%lu, mem_unit=%u}",
		(long)info.uptime, (unsigned long)info.loads[0], (unsigned long)info.loads[1], (unsigned long)info.loads[2],
		(unsigned long)info.totalram, (unsigned long)info.freeram, (unsigned long)info.sharedram, (unsigned long)info.bufferram,
		(unsigned long)info.totalswap, (unsigned long)info.freeswap, info.procs, (unsigned long)info.totalhigh,
		(unsigned long)info.freehigh, info.mem_unit);
}

const struct syscall_type syscall_type_rlimit = {
	.structure = "rlimit64", .print_element = print_rlimit, .form = SYSCALL_FORM_FIXED, .size = 16};
const struct syscall_type syscall_type_rusage = {.structure = "rusage", .print_element = print_rusage, FIXED(struct rusage)};
const struct syscall_type syscall_type_utsname = {
	.structure = "new_utsname", .print_element = print_uname, FIXED(struct utsname), .same_in_compat = true};
const struct syscall_type syscall_type_sysinfo = {.structure = "sysinfo", .print_element = print_sysinfo, FIXED(struct sysinfo)};

/* ---- signals ---- */

void syscall_print_sigset(struct strbuf *out, const uint8_t *data, size_t size)
{
	uint64_t set = size >= 8 ? get_u64(data) : size >= 4 ? get_u32(data) : 0;
	unsigned int most = size >= 8 ? 64 : 32, count = (unsigned int)__builtin_popcountll(set);
	bool first = true;

	if (count >= most * 2 / 3) {
		strbuf_add_char(out, '~');
		set = ~set;
	}
	strbuf_add_char(out, '[');
	for (unsigned int i = 1; i <= most; i++)
		if (set >> (i - 1) & 1) {
			if (!first)
				strbuf_add_char(out, ' ');
			syscall_print_signal(out, i, true);
			first = false;
		}
	strbuf_add_char(out, ']');
}

static void print_sigset(struct syscall_text *text, const uint8_t *data)
{
	syscall_print_sigset(text->out, data, 8);
}

/* What rt_sigaction() takes: include/linux/signal_types.h, struct sigaction. */
struct kernel_sigaction {
	uint64_t handler, flags, restorer, mask;
};

static void print_sigaction(struct syscall_text *text, const uint8_t *data)
{
	enum { RESTORER = 0x04000000 };
	static const char *const special[] = {"SIG_DFL", "SIG_IGN"};
	struct kernel_sigaction action;
	struct strbuf *out = text->out;

	memcpy(&action, data, sizeof(action));
	strbuf_add_str(out, "{sa_handler=");
	if (action.handler < 2)
		strbuf_add_str(out, special[action.handler]);
	else
		put_hex(out, action.handler);
	strbuf_add_str(out, ", sa_mask=");
	syscall_print_sigset(out, (const uint8_t *)&action.mask, 8);
	strbuf_add_str(out, ", sa_flags=");
	constants_add_flags(out, &constants_sigaction, action.flags, false);
	if (action.flags & RESTORER) {
		strbuf_add_str(out, ", sa_restorer=");
		put_hex(out, action.restorer);
	}
	strbuf_add_char(out, '}');
}

/* Why the kernel sent a signal: codes mean something else with each. */
static const struct constant_set *signal_codes(int number)
{
	switch (number) {
	case SIGCHLD:
		return &constants_signal_code_chld;
	case SIGSEGV:
		return &constants_signal_code_segv;
	case SIGBUS:
		return &constants_signal_code_bus;
	case SIGFPE:
		return &constants_signal_code_fpe;
	case SIGILL:
		return &constants_signal_code_ill;
	case SIGTRAP:
		return &constants_signal_code_trap;
	}
	return NULL;
}

static bool has_address(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP;
}

static void print_siginfo_child(struct strbuf *out, const siginfo_t *info)
{
	strbuf_printf(out, ", si_pid=%d, si_uid=%u, si_status=", info->si_pid, info->si_uid);
	if (info->si_code == CLD_EXITED)
		put_decimal(out, info->si_status);
	else
		syscall_print_signal(out, (uint64_t)info->si_status, false);
	strbuf_printf(out, ", si_utime=%ld, si_stime=%ld", (long)info->si_utime, (long)info->si_stime);
}

static void print_signal_value(struct syscall_text *text, const siginfo_t *info)
{
	strbuf_printf(text->out, ", si_int=%d, si_ptr=", info->si_int);
	syscall_print_address(text, (uintptr_t)info->si_ptr);
}

static void print_signal_code(struct strbuf *out, int number, int code)
{
	const struct constant_set *codes = code > 0 && code != SI_KERNEL ? signal_codes(number) : NULL;

	strbuf_add_str(out, "{si_signo=");
	syscall_print_signal(out, (uint64_t)number, false);
	strbuf_add_str(out, ", si_code=");
	constants_add_enum(out, codes ? codes : &constants_signal_code, (uint64_t)(int64_t)code, false);
}

static void print_siginfo(struct syscall_text *text, const uint8_t *data)
{
	siginfo_t info;
	struct strbuf *out = text->out;

	memcpy(&info, data, sizeof(info));
	if (!info.si_signo) {
		strbuf_add_str(out, "{}");
		return;
	}
	print_signal_code(out, info.si_signo, info.si_code);
	if (info.si_signo == SIGCHLD && info.si_code > 0) {
		print_siginfo_child(out, &info);
	} else if (info.si_code == SI_TIMER) {
		strbuf_printf(out, ", si_timerid=%#x, si_overrun=%d", (unsigned int)info.si_timerid, info.si_overrun);
		print_signal_value(text, &info);
	} else if (info.si_code <= 0) {
		strbuf_printf(out, ", si_pid=%d, si_uid=%u", info.si_pid, info.si_uid);
		if (info.si_code == SI_QUEUE)
			print_signal_value(text, &info);
	} else if (has_address(info.si_signo)) {
		strbuf_add_str(out, ", si_addr=");
		syscall_print_address(text, (uintptr_t)info.si_addr);
	}
	strbuf_add_char(out, '}');
}

void syscall_add_signal(uint32_t number, const void *info, size_t size, struct strbuf *out)
{
	struct syscall_text text = {.out = out};
	siginfo_t whole = {0};

	memcpy(&whole, info, size < sizeof(whole) ? size : sizeof(whole));
	syscall_print_signal(out, number, false);
	if (!whole.si_signo)
		return;
	strbuf_add_char(out, ' ');
	print_siginfo(&text, (const uint8_t *)&whole);
}

void syscall_add_signal_code(uint32_t number, int32_t code, struct strbuf *out)
{
	syscall_print_signal(out, number, false);
	strbuf_add_char(out, ' ');
	print_signal_code(out, (int)number, code);
	strbuf_add_char(out, '}');
}

void syscall_add_end(uint32_t status, struct strbuf *out)
{
	if (WIFSIGNALED((int)status)) {
		strbuf_add_str(out, "killed by ");
		syscall_print_signal(out, (uint64_t)WTERMSIG((int)status), false);
		strbuf_add_str(out, WCOREDUMP((int)status) ? " (core dumped)" : "");
	} else {
		strbuf_printf(out, "exited with %d", WEXITSTATUS((int)status));
	}
}

static void print_stack(struct syscall_text *text, const uint8_t *data)
{
	stack_t stack;

	memcpy(&stack, data, sizeof(stack));
	strbuf_add_str(text->out, "{ss_sp=");
	syscall_print_address(text, (uint64_t)(uintptr_t)stack.ss_sp);
	strbuf_add_str(text->out, ", ss_flags=");
	constants_add_flags(text->out, &constants_sigaltstack, (uint32_t)stack.ss_flags, false);
	strbuf_printf(text->out, ", ss_size=%zu}", stack.ss_size);
}

/* struct sigevent: include/uapi/asm-generic/siginfo.h */
static void print_sigevent(struct syscall_text *text, const uint8_t *data)
{
	struct strbuf *out = text->out;

	strbuf_printf(out, "{sigev_value={sival_int=%d, sival_ptr=", (int)get_u32(data));
	syscall_print_address(text, get_u64(data));
	strbuf_add_str(out, "}, sigev_signo=");
	syscall_print_signal(out, get_u32(data + 8), false);
	strbuf_add_str(out, ", sigev_notify=");
	constants_add_enum(out, &constants_sigevent, get_u32(data + 12), false);
	if (get_u32(data + 12) == SIGEV_THREAD_ID)
		strbuf_printf(out, ", sigev_notify_thread_id=%d", (int)get_u32(data + 16));
	strbuf_add_char(out, '}');
}

const struct syscall_type syscall_type_sigset = {
	.print_element = print_sigset, .form = SYSCALL_FORM_FIXED, .size = 8, .same_in_compat = true};
const struct syscall_type syscall_type_sigaction = {.print_element = print_sigaction, FIXED(struct kernel_sigaction)};
const struct syscall_type syscall_type_siginfo = {.print_element = print_siginfo, FIXED(siginfo_t)};
const struct syscall_type syscall_type_stack = {.structure = "sigaltstack", .print_element = print_stack, FIXED(stack_t)};
const struct syscall_type syscall_type_sigevent = {.print_element = print_sigevent, .form = SYSCALL_FORM_FIXED, .size = 64};

/* The status of a process that ended or stopped, as the macros of <sys/wait.h> take it apart. */
static void print_wait_status(struct syscall_text *text, const uint8_t *data)
{
	int status = (int)get_u32(data);
	struct strbuf *out = text->out;

	if (WIFEXITED(status)) {
		strbuf_printf(out, "{WIFEXITED(s) && WEXITSTATUS(s) == %d}", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		strbuf_add_str(out, "{WIFSIGNALED(s) && WTERMSIG(s) == ");
		syscall_print_signal(out, (uint64_t)WTERMSIG(status), false);
		strbuf_add_str(out, WCOREDUMP(status) ? " && WCOREDUMP(s)}" : "}");
	} else if (WIFSTOPPED(status)) {
		strbuf_add_str(out, "{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		syscall_print_signal(out, (uint64_t)WSTOPSIG(status), false);
		strbuf_add_char(out, '}');
	} else if (WIFCONTINUED(status)) {
		strbuf_add_str(out, "{WIFCONTINUED(s)}");
	} else {
		put_hex(out, (uint32_t)status);
	}
}

/* Nothing is filled in when there was nobody to tell of. */
static void print_wait_memory(struct syscall_text *text, const struct syscall_memory *memory)
{
	if (!text->call->result || memory->size < 4) {
		syscall_print_address(text, text->call->arguments[memory->argument]);
		return;
	}
	strbuf_add_char(text->out, '[');
	print_wait_status(text, memory->data);
	strbuf_add_char(text->out, ']');
}

const struct syscall_type syscall_type_wait_status = {
	.print_memory = print_wait_memory, .form = SYSCALL_FORM_FIXED, .size = 4, .same_in_compat = true, .bracketed = true};

/* ---- waiting for files ---- */

static void print_pollfd(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "{fd=%d", (int)get_u32(data));
	if ((int32_t)get_u32(data) >= 0) {
		strbuf_add_str(text->out, ", events=");
		constants_add_flags(text->out, &constants_poll, get_u16(data + 4), false);
	}
	strbuf_add_char(text->out, '}');
}

static void print_epoll_event(struct syscall_text *text, const uint8_t *data)
{
	uint64_t value = get_u64(data + offsetof(struct epoll_event, data));

	strbuf_add_str(text->out, "{events=");
	constants_add_flags(text->out, &constants_epoll_event, get_u32(data), false);
	strbuf_printf(text->out, ", data={u32=%u, u64=%llu}}", (uint32_t)value, (unsigned long long)value);
}

const struct syscall_type syscall_type_pollfd = {
	.structure = "pollfd", .print_element = print_pollfd, .form = SYSCALL_FORM_FIXED, .size = 8, .same_in_compat = true};
const struct syscall_type syscall_type_epoll_event = {
	.structure = "epoll_event", .print_element = print_epoll_event, .form = SYSCALL_FORM_FIXED, .size = sizeof(struct epoll_event)};

/* ---- the rest ---- */

static void print_sembuf(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "{%u, %d, ", get_u16(data), (int16_t)get_u16(data + 2));
	constants_add_flags(text->out, &constants_semop, get_u16(data + 4), false);
	strbuf_add_char(text->out, '}');
}

static void print_sched_param(struct syscall_text *text, const uint8_t *data)
{
	put_decimal(text->out, (int32_t)get_u32(data));
}

/* struct sched_attr: include/uapi/linux/sched/types.h */
static void print_sched_attr(struct syscall_text *text, const uint8_t *data)
{
	struct strbuf *out = text->out;

	strbuf_printf(out, "{size=%u, sched_policy=", get_u32(data));
	constants_add_enum(out, &constants_sched_class, get_u32(data + 4), false);
	strbuf_add_str(out, ", sched_flags=");
	constants_add_flags(out, &constants_sched_attr_flag, get_u64(data + 8), false);
	strbuf_printf(out, ", sched_nice=%d, sched_priority=%u, sched_runtime=%llu, sched_deadline=%llu, sched_period=%llu, ...}",
		      (int)get_u32(data + 16), get_u32(data + 20), (unsigned long long)get_u64(data + 24),
		      (unsigned long long)get_u64(data + 32), (unsigned long long)get_u64(data + 40));
}

const struct syscall_type syscall_type_sembuf = {
	.structure = "sembuf", .print_element = print_sembuf, .form = SYSCALL_FORM_FIXED, .size = 6, .same_in_compat = true};
const struct syscall_type syscall_type_sched_param = {.structure = "sched_param",
						      .print_element = print_sched_param,
						      .form = SYSCALL_FORM_FIXED,
						      .size = 4,
						      .same_in_compat = true,
						      .bracketed = true};
const struct syscall_type syscall_type_sched_attr = {
	.structure = "sched_attr", .print_element = print_sched_attr, .form = SYSCALL_FORM_FIXED, .size = 48, .same_in_compat = true};
