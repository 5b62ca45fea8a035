/* Arguments and results whose meaning depends on other arguments: modes, memory, futexes, processes, and results that are more than a
 * number. Those of fcntl(), ioctl(), prctl() and bpf() are in syscall_requests.c. */
#include "analysis/syscalls/syscall_internal.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

extern const struct constant_set constants_clone, constants_clone3, constants_futex, constants_poll, constants_personality,
	constants_personality_flag, constants_sched_policy, constants_open, constants_resolve, constants_perf_type, constants_perf_hardware,
	constants_perf_software, constants_perf_sample, constants_perf_read, constants_io_uring_setup, constants_io_uring_feature,
	constants_signal;

/* ---- files and memory ---- */

/* The mode is an argument only when something may be created. */
static bool print_open_mode(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	uint64_t flags = text->call->arguments[argument - 1];

	if (!(flags & O_CREAT) && (flags & O_TMPFILE) != O_TMPFILE)
		return false;
	put_octal(text->out, (uint16_t)value, 2);
	return true;
}

/* Only devices have a number. */
static bool print_node_device(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	uint64_t type = text->call->arguments[argument - 1] & S_IFMT;

	if (type != S_IFCHR && type != S_IFBLK)
		return false;
	syscall_print_device(text->out, (uint32_t)value);
	return true;
}

static bool print_mmap_fd(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	if (text->call->arguments[3] & MAP_ANONYMOUS && !text->style->zeros)
		return false;
	return syscall_type_fd.print_value(text, argument, value);
}

static bool print_mmap_offset(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	if (!value && text->call->arguments[3] & MAP_ANONYMOUS && !text->style->zeros)
		return false;
	put_hex(text->out, value);
	return true;
}

static bool print_mremap_address(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	if (!(text->call->arguments[3] & MREMAP_FIXED))
		return false;
	syscall_print_address(text, value);
	return true;
}

/* A string for most file systems, but what it is only they know. */
static bool print_mount_data(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return syscall_type_string.print_value(text, argument, value);
}

static bool print_umask(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_octal(text->out, value, 2);
	return true;
}

const struct syscall_type syscall_type_special_open_mode = {.print_value = print_open_mode};
const struct syscall_type syscall_type_special_node_device = {.print_value = print_node_device};
const struct syscall_type syscall_type_special_mmap_fd = {.print_value = print_mmap_fd};
const struct syscall_type syscall_type_special_mmap_offset = {.print_value = print_mmap_offset};
const struct syscall_type syscall_type_special_mremap_address = {.print_value = print_mremap_address};
const struct syscall_type syscall_type_special_mount_data = {.print_value = print_mount_data, .form = SYSCALL_FORM_STRING};
const struct syscall_type syscall_type_special_umask = {.print_value = print_umask};

/* struct open_how: include/uapi/linux/openat2.h */
static void print_open_how(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_str(text->out, "{flags=");
	constants_add_flags(text->out, &constants_open, get_u64(data), false);
	if (get_u64(data) & O_CREAT) {
		strbuf_add_str(text->out, ", mode=");
		syscall_print_permissions(text->out, get_u64(data + 8));
	}
	strbuf_add_str(text->out, ", resolve=");
	constants_add_flags(text->out, &constants_resolve, get_u64(data + 16), false);
	strbuf_add_char(text->out, '}');
}

const struct syscall_type syscall_type_open_how = {
	.structure = "open_how", .print_element = print_open_how, .form = SYSCALL_FORM_FIXED, .size = 24, .same_in_compat = true};

/* ---- processes ---- */

static bool print_clone_flags(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	enum { SIGNAL = 0xff }; /* CSIGNAL: what the parent gets when the child ends */
	uint64_t signal = value & SIGNAL;

	if (value & ~(uint64_t)SIGNAL || !signal)
		constants_add_flags(text->out, &constants_clone, value & ~(uint64_t)SIGNAL, syscall_strips(text));
	if (signal) {
		if (value & ~(uint64_t)SIGNAL)
			strbuf_add_char(text->out, '|');
		syscall_print_signal(text->out, signal, false);
	}
	return true;
}

static bool print_if_flag(struct syscall_text *text, uint64_t value, uint64_t flags)
{
	if (!(text->call->arguments[0] & flags))
		return false;
	syscall_print_address(text, value);
	return true;
}

static bool print_parent_tid(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return print_if_flag(text, value, CLONE_PARENT_SETTID | CLONE_PIDFD);
}

static bool print_child_tid(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return print_if_flag(text, value, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID);
}

static bool print_tls(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return print_if_flag(text, value, CLONE_SETTLS);
}

const struct syscall_type syscall_type_special_clone_flags = {.print_value = print_clone_flags};
const struct syscall_type syscall_type_special_clone_parent_tid = {.print_value = print_parent_tid};
const struct syscall_type syscall_type_special_clone_child_tid = {.print_value = print_child_tid};
const struct syscall_type syscall_type_special_clone_tls = {.print_value = print_tls};

/* struct clone_args: include/uapi/linux/sched.h; members that aren't used are left out. */
static void print_clone_args(struct syscall_text *text, const uint8_t *data)
{
	static const struct {
		const char *name;
		unsigned int offset;
		uint64_t flags; /* shown with these; 0 = when it isn't 0 */
	} members[] = {
		{"pidfd", 8, CLONE_PIDFD},
		{"child_tid", 16, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID},
		{"parent_tid", 24, CLONE_PARENT_SETTID},
	};
	struct strbuf *out = text->out;
	uint64_t flags = get_u64(data);

	strbuf_add_str(out, "{flags=");
	constants_add_flags(out, &constants_clone3, flags, false);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (flags & members[i].flags) {
			strbuf_printf(out, ", %s=", members[i].name);
			syscall_print_address(text, get_u64(data + members[i].offset));
		}
	strbuf_add_str(out, ", exit_signal=");
	if (get_u64(data + 32))
		syscall_print_signal(out, get_u64(data + 32), false);
	else
		strbuf_add_char(out, '0');
	strbuf_add_str(out, ", stack=");
	syscall_print_address(text, get_u64(data + 40));
	strbuf_add_str(out, ", stack_size=");
	put_hex(out, get_u64(data + 48));
	if (flags & CLONE_SETTLS) {
		strbuf_add_str(out, ", tls=");
		syscall_print_address(text, get_u64(data + 56));
	}
	strbuf_add_char(out, '}');
}

const struct syscall_type syscall_type_clone_args = {
	.print_element = print_clone_args, .form = SYSCALL_FORM_FIXED, .size = 64, .same_in_compat = true};

static bool print_personality(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	enum { QUERY = 0xffffffff, TYPE = 0xff };
	uint64_t flags = value & ~(uint64_t)TYPE & QUERY;

	if ((uint32_t)value == QUERY) {
		put_hex(text->out, QUERY);
		return true;
	}
	constants_add_enum(text->out, &constants_personality, value & TYPE, false);
	if (flags) {
		strbuf_add_char(text->out, '|');
		constants_add_flags(text->out, &constants_personality_flag, flags, false);
	}
	return true;
}

static bool print_policy(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_decimal(text->out, (int64_t)value);
	strbuf_add_str(text->out, " (");
	constants_add_flags(text->out, &constants_sched_policy, value, false);
	strbuf_add_char(text->out, ')');
	return true;
}

static bool print_signal_result(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	put_decimal(text->out, (int64_t)value);
	strbuf_add_str(text->out, " (");
	syscall_print_signal(text->out, value, false);
	strbuf_add_char(text->out, ')');
	return true;
}

const struct syscall_type syscall_type_special_personality = {.print_value = print_personality};
const struct syscall_type syscall_type_special_sched_policy = {.print_value = print_policy};
const struct syscall_type syscall_type_special_signal = {.print_value = print_signal_result};

/* ---- futexes ---- */

static unsigned int futex_command(const struct syscall *call)
{
	return (unsigned int)call->arguments[1] & FUTEX_CMD_MASK;
}

static bool print_futex_op(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	constants_add_enum(text->out, &constants_futex, value & FUTEX_CMD_MASK, syscall_strips(text));
	if (value & FUTEX_PRIVATE_FLAG)
		strbuf_add_str(text->out, syscall_strips(text) ? "|PRIVATE_FLAG" : "_PRIVATE");
	if (value & FUTEX_CLOCK_REALTIME)
		strbuf_add_str(text->out, syscall_strips(text) ? "|CLOCK_REALTIME" : "|FUTEX_CLOCK_REALTIME");
	return true;
}

static bool print_futex_value(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	switch (futex_command(text->call)) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return false;
	}
	if ((uint32_t)value == 0x7fffffff)
		put_decimal(text->out, 0x7fffffff);
	else
		strbuf_add_u64(text->out, (uint32_t)value, 0);
	return true;
}

static bool print_futex_timeout(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);

	if (!memory)
		memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_ENTRY);
	switch (futex_command(text->call)) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		if (memory && memory->size >= 16 && !text->call->compat)
			syscall_print_timespec(text->out, memory->data);
		else
			syscall_print_address(text, value);
		return true;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
	case FUTEX_CMP_REQUEUE_PI:
		strbuf_add_u64(text->out, (uint32_t)value, 0); /* how many are moved or woken */
		return true;
	case FUTEX_WAKE_BITSET:
		if (!text->style->zeros)
			return false;
		syscall_print_address(text, value);
		return true;
	}
	return false;
}

static bool print_futex_address(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	switch (futex_command(text->call)) {
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_CMP_REQUEUE_PI:
		break;
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAKE_BITSET:
		if (text->style->zeros)
			break;
		return false;
	default:
		return false;
	}
	syscall_print_address(text, value);
	return true;
}

/* The operation of FUTEX_WAKE_OP: include/uapi/linux/futex.h, FUTEX_OP() */
static void print_wake_op(struct strbuf *out, uint32_t value)
{
	static const char *const operations[] = {"SET", "ADD", "OR", "ANDN", "XOR"};
	static const char *const comparisons[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
	uint32_t operation = value >> 28, comparison = value >> 24 & 15;

	if (operation & 8)
		strbuf_add_str(out, "FUTEX_OP_OPARG_SHIFT<<28|");
	operation &= 7;
	strbuf_printf(out, "FUTEX_OP_%s<<28|%u<<12|FUTEX_OP_CMP_%s<<24|0x%x", operation < 5 ? operations[operation] : "?",
		      value >> 12 & 0xfff, comparison < 6 ? comparisons[comparison] : "?", value & 0xfff);
}

static bool print_futex_value3(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	switch (futex_command(text->call)) {
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAKE_BITSET:
		if ((uint32_t)value == FUTEX_BITSET_MATCH_ANY)
			strbuf_add_str(text->out, syscall_strips(text) ? "MATCH_ANY" : "FUTEX_BITSET_MATCH_ANY");
		else
			put_hex(text->out, (uint32_t)value);
		return true;
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
		strbuf_add_u64(text->out, (uint32_t)value, 0);
		return true;
	case FUTEX_WAKE_OP:
		print_wake_op(text->out, (uint32_t)value);
		return true;
	}
	return false;
}

const struct syscall_type syscall_type_special_futex_op = {.print_value = print_futex_op};
const struct syscall_type syscall_type_special_futex_value = {.print_value = print_futex_value};
const struct syscall_type syscall_type_special_futex_timeout = {.print_value = print_futex_timeout, .form = SYSCALL_FORM_FIXED, .size = 16};
const struct syscall_type syscall_type_special_futex_address = {.print_value = print_futex_address};
const struct syscall_type syscall_type_special_futex_value3 = {.print_value = print_futex_value3};

/* ---- waiting ---- */

/* What is left of a sleep is written only when a signal ended it. */
static bool print_remaining(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	enum { INTERRUPTED = -4, RESTART_BLOCK = -516 };
	const struct syscall_memory *memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);
	int64_t result = text->call->result;

	if (memory && memory->size >= 16 && (result == INTERRUPTED || result == RESTART_BLOCK) && !text->call->compat)
		syscall_print_timespec(text->out, memory->data);
	else
		syscall_print_address(text, value);
	return true;
}

/* pselect6() has a structure of a pointer to the mask and its size. */
static bool print_pselect_mask(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *memory = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);

	if (!memory || memory->size < 16 || text->call->compat) {
		syscall_print_address(text, value);
		return true;
	}
	strbuf_add_str(text->out, "{sigmask=");
	syscall_print_address(text, get_u64(memory->data));
	strbuf_printf(text->out, ", sigsetsize=%llu}", (unsigned long long)get_u64(memory->data + 8));
	return true;
}

static bool print_timeout_or_number(struct syscall_text *text, uint64_t value)
{
	put_decimal(text->out, (int64_t)value);
	if (!value)
		strbuf_add_str(text->out, " (Timeout)");
	return value != 0;
}

/* The descriptors on which something happened: 1 ([{fd=3, revents=POLLIN}]). */
static bool print_poll(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *memory = syscall_memory_of(text->call, 0, SYSCALL_MEMORY_EXIT);
	bool first = true;

	if (!print_timeout_or_number(text, value) || !memory)
		return true;
	strbuf_add_str(text->out, " ([");
	for (size_t at = 0; at + 8 <= memory->size; at += 8)
		if (get_u16(memory->data + at + 6)) {
			strbuf_printf(text->out, "%s{fd=%d, revents=", first ? "" : ", ", (int)get_u32(memory->data + at));
			constants_add_flags(text->out, &constants_poll, get_u16(memory->data + at + 6), false);
			strbuf_add_char(text->out, '}');
			first = false;
		}
	strbuf_add_char(text->out, ']');
	const struct syscall_memory *left = syscall_memory_of(text->call, 2, SYSCALL_MEMORY_EXIT);
	if (left && left->size >= 16 && !text->call->compat) {
		strbuf_add_str(text->out, ", left ");
		syscall_print_timespec(text->out, left->data);
	}
	strbuf_add_char(text->out, ')');
	return true;
}

/* The sets that have something left: 2 (in [3], out [4]). */
static bool print_select(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	static const char *const names[] = {"in ", "out ", "exc "};
	const char *separator = " (";

	if (!print_timeout_or_number(text, value))
		return true;
	for (unsigned int i = 1; i <= 3; i++) {
		const struct syscall_memory *memory = syscall_memory_of(text->call, i, SYSCALL_MEMORY_EXIT);
		bool any = false;
		for (size_t at = 0; memory && at < memory->size; at++)
			any |= memory->data[at] != 0;
		if (!any)
			continue;
		strbuf_add_str(text->out, separator);
		strbuf_add_str(text->out, names[i - 1]);
		syscall_type_fdset.print_memory(text, memory);
		separator = ", ";
	}
	const struct syscall_memory *left = syscall_memory_of(text->call, 4, SYSCALL_MEMORY_EXIT);
	if (left && left->size >= 16 && !text->call->compat) {
		strbuf_add_str(text->out, separator);
		strbuf_add_str(text->out, "left ");
		text->call->description->arguments[4].type->print_element(text, left->data);
		separator = ", ";
	}
	if (*separator == ',')
		strbuf_add_char(text->out, ')');
	return true;
}

const struct syscall_type syscall_type_special_remaining = {.print_value = print_remaining, .form = SYSCALL_FORM_FIXED, .size = 16};
const struct syscall_type syscall_type_special_pselect_mask = {.print_value = print_pselect_mask, .form = SYSCALL_FORM_FIXED, .size = 16};
const struct syscall_type syscall_type_special_poll = {.print_value = print_poll};
const struct syscall_type syscall_type_special_select = {.print_value = print_select};

/* ---- large structures: what matters of them ---- */

/* struct perf_event_attr: include/uapi/linux/perf_event.h */
static void print_perf_attr(struct syscall_text *text, const uint8_t *data)
{
	enum { TYPE_HARDWARE, TYPE_SOFTWARE };
	struct strbuf *out = text->out;
	uint32_t type = get_u32(data);

	strbuf_add_str(out, "{type=");
	constants_add_enum(out, &constants_perf_type, type, false);
	strbuf_printf(out, ", size=%u, config=", get_u32(data + 4));
	if (type == TYPE_HARDWARE || type == TYPE_SOFTWARE)
		constants_add_enum(out, type == TYPE_SOFTWARE ? &constants_perf_software : &constants_perf_hardware, get_u64(data + 8),
				   false);
	else
		put_hex(out, get_u64(data + 8));
	strbuf_printf(out, ", sample_period=%llu, sample_type=", (unsigned long long)get_u64(data + 16));
	constants_add_flags(out, &constants_perf_sample, get_u64(data + 24), false);
	strbuf_add_str(out, ", read_format=");
	constants_add_flags(out, &constants_perf_read, get_u64(data + 32), false);
	strbuf_add_str(out, ", ...}");
}

const struct syscall_type syscall_type_perf_attr = {
	.print_element = print_perf_attr, .form = SYSCALL_FORM_FIXED, .size = 64, .same_in_compat = true};

/* struct io_uring_params: include/uapi/linux/io_uring.h */
static void print_io_uring_params(struct syscall_text *text, const uint8_t *data)
{
	struct strbuf *out = text->out;

	strbuf_add_str(out, "{flags=");
	constants_add_flags(out, &constants_io_uring_setup, get_u32(data + 8), false);
	strbuf_printf(out, ", sq_thread_cpu=%u, sq_thread_idle=%u, sq_entries=%u, cq_entries=%u, features=", get_u32(data + 12),
		      get_u32(data + 16), get_u32(data), get_u32(data + 4));
	constants_add_flags(out, &constants_io_uring_feature, get_u32(data + 20), false);
	strbuf_add_str(out, ", ...}");
}

const struct syscall_type syscall_type_io_uring_params = {.structure = "io_uring_params",
							  .print_element = print_io_uring_params,
							  .form = SYSCALL_FORM_FIXED,
							  .size = 40,
							  .same_in_compat = true};

static void print_capability_header(struct syscall_text *text, const uint8_t *data)
{
	uint32_t version = get_u32(data);

	if (version == 0x20080522)
		strbuf_add_str(text->out, "{version=_LINUX_CAPABILITY_VERSION_3");
	else
		strbuf_printf(text->out, "{version=0x%x", version);
	strbuf_printf(text->out, ", pid=%d}", (int)get_u32(data + 4));
}

static void print_capability_data(struct syscall_text *text, const uint8_t *data)
{
	static const char *const names[] = {"{effective=", ", permitted=", ", inheritable="};

	for (unsigned int i = 0; i < 3; i++) {
		strbuf_add_str(text->out, names[i]);
		put_hex(text->out, get_u32(data + 4 * i) | (uint64_t)get_u32(data + 12 + 4 * i) << 32);
	}
	strbuf_add_char(text->out, '}');
}

const struct syscall_type syscall_type_cap_header = {.structure = "__user_cap_header_struct",
						     .print_element = print_capability_header,
						     .form = SYSCALL_FORM_FIXED,
						     .size = 8,
						     .same_in_compat = true};
const struct syscall_type syscall_type_cap_data = {.structure = "__user_cap_data_struct",
						   .print_element = print_capability_data,
						   .form = SYSCALL_FORM_FIXED,
						   .size = 24,
						   .same_in_compat = true};
