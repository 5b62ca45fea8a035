/* The calls that are many calls in one: what their arguments are depends on a request. */
#include "analysis/syscalls/syscall_internal.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/bpf.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sockios.h>

extern const struct constant_set constants_open, constants_fd_flags, constants_flock_type, constants_seek, constants_seals, constants_lease,
	constants_notify, constants_termios_input, constants_termios_output, constants_termios_control, constants_termios_local,
	constants_termios_speed, constants_seccomp_mode, constants_inode_flags;

/* Memory of the argument; NULL when there is too little of it. */
static const uint8_t *memory_at(const struct syscall_text *text, unsigned int argument, size_t size)
{
	const struct syscall_memory *memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);

	if (!memory)
		memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_ENTRY);
	return memory && memory->size >= size && !text->call->compat ? memory->data : NULL;
}

/* ---- fcntl ---- */

/* struct flock of 64-bit machines: include/uapi/asm-generic/fcntl.h */
static void print_lock(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_str(text->out, "{l_type=");
	constants_add_enum(text->out, &constants_flock_type, get_u16(data), false);
	strbuf_add_str(text->out, ", l_whence=");
	constants_add_enum(text->out, &constants_seek, get_u16(data + 2), false);
	strbuf_printf(text->out, ", l_start=%lld, l_len=%lld", (long long)get_u64(data + 8), (long long)get_u64(data + 16));
	if ((uint32_t)text->call->arguments[1] == F_GETLK || (uint32_t)text->call->arguments[1] == F_OFD_GETLK)
		strbuf_printf(text->out, ", l_pid=%d", (int)get_u32(data + 24));
	strbuf_add_char(text->out, '}');
}

static bool print_fcntl_argument(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const uint8_t *data;

	switch ((uint32_t)text->call->arguments[1]) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		return false;
	case F_SETFD:
		constants_add_flags(text->out, &constants_fd_flags, (uint32_t)value, false);
		return true;
	case F_SETFL:
		constants_add_flags(text->out, &constants_open, (uint32_t)value, syscall_strips(text));
		return true;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		data = memory_at(text, argument, 28);
		if (data)
			print_lock(text, data);
		else
			syscall_print_address(text, value);
		return true;
	case F_ADD_SEALS:
		constants_add_flags(text->out, &constants_seals, (uint32_t)value, false);
		return true;
	case F_SETLEASE:
		constants_add_enum(text->out, &constants_lease, (uint32_t)value, false);
		return true;
	case F_NOTIFY:
		constants_add_flags(text->out, &constants_notify, (uint32_t)value, false);
		return true;
	case F_SETSIG:
		syscall_print_signal(text->out, (uint32_t)value, syscall_strips(text));
		return true;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		put_decimal(text->out, (int32_t)value);
		return true;
	}
	put_hex(text->out, value);
	return true;
}

/* 0x8002 (flags O_RDWR|O_LARGEFILE) */
static bool print_fcntl_result(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct constant_set *set = NULL;

	switch ((uint32_t)text->call->arguments[1]) {
	case F_GETFD:
		set = &constants_fd_flags;
		break;
	case F_GETFL:
		set = &constants_open;
		break;
	case F_GET_SEALS:
		set = &constants_seals;
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return syscall_type_fd.print_value(text, argument, value);
	}
	if (!set || (!value && set != &constants_open)) {
		put_decimal(text->out, (int64_t)value);
		return true;
	}
	put_hex(text->out, value);
	strbuf_add_str(text->out, set == &constants_seals ? " (seals " : " (flags ");
	constants_add_flags(text->out, set, value, false);
	strbuf_add_char(text->out, ')');
	return true;
}

const struct syscall_type syscall_type_special_fcntl_arg = {.print_value = print_fcntl_argument, .form = SYSCALL_FORM_FIXED, .size = 32};
const struct syscall_type syscall_type_special_fcntl = {.print_value = print_fcntl_result};

/* ---- ioctl ---- */

static void print_termios(struct syscall_text *text, const uint8_t *data)
{
	struct strbuf *out = text->out;
	struct termios modes;

	memcpy(&modes, data, sizeof(modes));
	strbuf_add_str(out, "{c_iflag=");
	constants_add_flags(out, &constants_termios_input, modes.c_iflag, false);
	strbuf_add_str(out, ", c_oflag=");
	if (!(modes.c_oflag & (NLDLY | CRDLY | TABDLY | BSDLY | VTDLY | FFDLY)))
		strbuf_add_str(out, modes.c_oflag ? "NL0|CR0|TAB0|BS0|VT0|FF0|" : "NL0|CR0|TAB0|BS0|VT0|FF0");
	if (modes.c_oflag)
		constants_add_flags(out, &constants_termios_output, modes.c_oflag, false);
	strbuf_add_str(out, ", c_cflag=");
	constants_add_enum(out, &constants_termios_speed, modes.c_cflag & CBAUD, false);
	strbuf_add_char(out, '|');
	constants_add_flags(out, &constants_termios_control, modes.c_cflag & ~(uint32_t)(CBAUD | CIBAUD), false);
	strbuf_add_str(out, ", c_lflag=");
	constants_add_flags(out, &constants_termios_local, modes.c_lflag, false);
	strbuf_add_str(out, ", ...}");
}

static void print_window_size(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", get_u16(data), get_u16(data + 2), get_u16(data + 4),
		      get_u16(data + 6));
}

static void print_number(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "[%d]", (int)get_u32(data));
}

static void print_number64(struct syscall_text *text, const uint8_t *data)
{
	strbuf_printf(text->out, "[%llu]", (unsigned long long)get_u64(data));
}

static void print_inode_flags(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_char(text->out, '[');
	constants_add_flags(text->out, &constants_inode_flags, get_u32(data), false);
	strbuf_add_char(text->out, ']');
}

/* What the argument of a request is: how much of it, how it looks, and whether the call fills it. */
static const struct request {
	uint32_t request;
	uint32_t size; /* 0 = the argument is a number, or there is none (print NULL) */
	void (*print)(struct syscall_text *text, const uint8_t *data);
	bool filled;
} requests[] = {
	{TCGETS, sizeof(struct termios), print_termios, true},
	{TCSETS, sizeof(struct termios), print_termios, false},
	{TCSETSW, sizeof(struct termios), print_termios, false},
	{TCSETSF, sizeof(struct termios), print_termios, false},
	{TIOCGWINSZ, 8, print_window_size, true},
	{TIOCSWINSZ, 8, print_window_size, false},
	{TIOCGPGRP, 4, print_number, true},
	{TIOCSPGRP, 4, print_number, false},
	{TIOCGSID, 4, print_number, true},
	{TIOCGPTN, 4, print_number, true},
	{TIOCSPTLCK, 4, print_number, false},
	{FIONREAD, 4, print_number, true},
	{TIOCOUTQ, 4, print_number, true},
	{FIONBIO, 4, print_number, false},
	{FIOASYNC, 4, print_number, false},
	{BLKGETSIZE64, 8, print_number64, true},
	{BLKSSZGET, 4, print_number, true},
	{BLKROGET, 4, print_number, true},
	{FS_IOC_GETFLAGS, 4, print_inode_flags, true},
	{FS_IOC_SETFLAGS, 4, print_inode_flags, false},
	{TIOCSCTTY, 0, NULL, false},
	{TIOCGPTPEER, 0, NULL, false},
	{TCSBRK, 0, NULL, false},
	{TCXONC, 0, NULL, false},
	{TCFLSH, 0, NULL, false},
	{FICLONE, 0, NULL, false},
};

static bool print_ioctl_argument(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	uint32_t number = (uint32_t)text->call->arguments[1];

	if (number == FIOCLEX || number == FIONCLEX)
		return false;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const struct request *request = &requests[i];
		if (request->request != number)
			continue;
		const uint8_t *data = request->print ? memory_at(text, argument, request->size) : NULL;
		if (!request->print)
			put_decimal(text->out, (int32_t)value);
		else if (data && !(request->filled && syscall_failed(text->call->result)))
			request->print(text, data);
		else
			syscall_print_address(text, value);
		return true;
	}
	put_hex(text->out, value);
	return true;
}

const struct syscall_type syscall_type_special_ioctl_arg = {.print_value = print_ioctl_argument, .form = SYSCALL_FORM_REQUEST};

/* ---- prctl ---- */

static bool print_prctl_argument(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);

	switch ((uint32_t)text->call->arguments[0]) {
	case PR_SET_NAME:
	case PR_GET_NAME:
		if (memory && memory->size)
			syscall_print_string(text->out, memory->data, memory->size, false, 15);
		else
			syscall_print_address(text, value);
		return true;
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_SECUREBITS:
	case PR_GET_TIMERSLACK:
	case PR_GET_NO_NEW_PRIVS:
	case PR_GET_THP_DISABLE:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
		return false;
	case PR_SET_PDEATHSIG:
		syscall_print_signal(text->out, value, syscall_strips(text));
		return true;
	case PR_SET_SECCOMP:
		constants_add_enum(text->out, &constants_seccomp_mode, value, false);
		return true;
	case PR_SET_DUMPABLE:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMERSLACK:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_CHILD_SUBREAPER:
	case PR_SET_THP_DISABLE:
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
		strbuf_add_u64(text->out, value, 0);
		return true;
	}
	put_hex(text->out, value);
	return true;
}

/* Only some options use the others. */
static bool print_prctl_rest(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	unsigned int used = 1;

	switch ((uint32_t)text->call->arguments[0]) {
	case PR_SET_SECCOMP:
		used = 2;
		break;
	case PR_SET_NO_NEW_PRIVS:
	case PR_GET_NO_NEW_PRIVS:
	case PR_SET_THP_DISABLE:
	case PR_GET_THP_DISABLE:
	case PR_CAP_AMBIENT:
	case PR_SET_MM:
	case PR_SET_VMA:
	case PR_SCHED_CORE:
	case PR_SET_SYSCALL_USER_DISPATCH:
	case PR_GET_SPECULATION_CTRL:
	case PR_SET_SPECULATION_CTRL:
		used = 4;
		break;
	}
	if (argument > used)
		return false;
	put_hex(text->out, value);
	return true;
}

static bool print_prctl_result(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	/* include/linux/sched/coredump.h */
	static const char *const dumpable[] = {"SUID_DUMP_DISABLE", "SUID_DUMP_USER", "SUID_DUMP_ROOT"};

	put_decimal(text->out, (int64_t)value);
	if ((uint32_t)text->call->arguments[0] == PR_GET_DUMPABLE && value < 3)
		strbuf_printf(text->out, " (%s)", dumpable[value]);
	return true;
}

const struct syscall_type syscall_type_special_prctl_arg = {.print_value = print_prctl_argument, .form = SYSCALL_FORM_STRING};
const struct syscall_type syscall_type_special_prctl_rest = {.print_value = print_prctl_rest};
const struct syscall_type syscall_type_special_prctl = {.print_value = print_prctl_result};

static bool print_arch_prctl(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_hex(text->out, value);
	return true;
}

const struct syscall_type syscall_type_special_arch_prctl_arg = {.print_value = print_arch_prctl};

/* ---- bpf ---- */

/* What is commonly asked for; include/uapi/linux/bpf.h, union bpf_attr. */
static bool print_bpf_attr(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const uint8_t *data = memory_at(text, argument, 32);
	struct strbuf *out = text->out;

	if (!data) {
		syscall_print_address(text, value);
		return true;
	}
	switch ((uint32_t)text->call->arguments[0]) {
	case BPF_MAP_CREATE:
		strbuf_printf(out, "{map_type=%u, key_size=%u, value_size=%u, max_entries=%u, ...}", get_u32(data), get_u32(data + 4),
			      get_u32(data + 8), get_u32(data + 12));
		return true;
	case BPF_MAP_LOOKUP_ELEM:
	case BPF_MAP_UPDATE_ELEM:
	case BPF_MAP_DELETE_ELEM:
	case BPF_MAP_GET_NEXT_KEY:
		strbuf_printf(out, "{map_fd=%u, key=0x%llx, value=0x%llx, flags=%llu}", get_u32(data),
			      (unsigned long long)get_u64(data + 8), (unsigned long long)get_u64(data + 16),
			      (unsigned long long)get_u64(data + 24));
		return true;
	case BPF_PROG_LOAD:
		strbuf_printf(out, "{prog_type=%u, insn_cnt=%u, ...}", get_u32(data), get_u32(data + 4));
		return true;
	}
	syscall_print_address(text, value);
	return true;
}

static bool print_bpf_result(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	switch ((uint32_t)text->call->arguments[0]) {
	case BPF_MAP_CREATE:
	case BPF_PROG_LOAD:
	case BPF_OBJ_GET:
	case BPF_BTF_LOAD:
	case BPF_LINK_CREATE:
	case BPF_RAW_TRACEPOINT_OPEN:
		return syscall_type_fd.print_value(text, argument, value);
	}
	put_decimal(text->out, (int64_t)value);
	return true;
}

const struct syscall_type syscall_type_special_bpf_attr = {
	.print_value = print_bpf_attr, .form = SYSCALL_FORM_FIXED, .size = 32, .same_in_compat = true};
const struct syscall_type syscall_type_special_bpf = {.print_value = print_bpf_result};
