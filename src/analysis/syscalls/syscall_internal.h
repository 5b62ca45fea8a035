/* Types of arguments, and what the functions that print them share. */
#pragma once

#include "analysis/syscalls/syscall.h"
#include "analysis/syscalls/syscall_put.h"

#include <string.h>

/* A call that is being printed. */
struct syscall_text {
	struct strbuf *out;
	const struct syscall *call;
	const struct syscall_style *style;
};

/* A type prints either values (of arguments, results) or memory that was copied. Memory is `size` bytes at `data`, of at least the type's
 * size; of bytes and strings whatever there is. */
struct syscall_type {
	/* False when the argument is to be left out (an optional one that isn't used). */
	bool (*print_value)(struct syscall_text *text, unsigned int argument, uint64_t value);
	void (*print_memory)(struct syscall_text *text, const struct syscall_memory *memory);
	/* One element; arrays of them get brackets. */
	void (*print_element)(struct syscall_text *text, const uint8_t *data);
	const char *structure; /* the kernel's name of an element's structure, or NULL */
	uint32_t size;	       /* of an element in memory */
	enum syscall_memory_form form;
	bool same_in_compat; /* laid out alike in 32-bit programs */
	bool bracketed;	     /* a single element has brackets, too: [3] */
};

/* All of them: syscall_type_NAME. Those that begin with special_ look at other arguments as well. */
/* clang-format off */
#define SYSCALL_TYPES(X) \
	X(int) X(uint) X(long) X(ulong) X(size) X(off) X(hex) X(ptr) X(pid) X(never) X(hidden) X(fd) X(dfd) X(flags) X(enum) \
	X(mode) X(file_mode) X(signal) X(access) X(uid) X(dev) X(key) X(keyring) X(ioctl) X(path) X(string) X(bytes) X(random) \
	X(strings) X(pointers) X(iovec) X(msghdr) X(mmsghdr) X(sockaddr) X(socket_value) X(fdset) X(cpu_set) X(dirents) \
	X(dirents64) X(uids) X(stat) X(statx) X(statfs) X(timespec) X(timespec_pair) X(timeval) X(timeval_pair) X(timezone) \
	X(itimerval) X(itimerspec) X(rlimit) X(rusage) X(tms) X(utsname) X(sysinfo) X(sigaction) X(sigset) X(siginfo) \
	X(sigevent) X(stack) X(pollfd) X(epoll_event) X(sembuf) X(sched_param) X(sched_attr) X(cap_header) X(cap_data) \
	X(wait_status) X(fdpair) X(int_pointer) X(uid_pointer) X(off_pointer) X(time_pointer) X(pointer) X(length) \
	X(clone_args) X(open_how) X(perf_attr) X(io_uring_params) X(special_open_mode) X(special_node_device) \
	X(special_mmap_fd) X(special_mmap_offset) X(special_mremap_address) X(special_mount_data) X(special_fcntl_arg) \
	X(special_fcntl) X(special_ioctl_arg) X(special_prctl_arg) X(special_prctl_rest) X(special_prctl) \
	X(special_arch_prctl_arg) X(special_futex_op) X(special_futex_value) X(special_futex_timeout) X(special_futex_address) \
	X(special_futex_value3) X(special_clone_flags) X(special_clone_parent_tid) X(special_clone_child_tid) \
	X(special_clone_tls) X(special_socket_protocol) X(special_socket_option) X(special_select) X(special_poll) \
	X(special_remaining) X(special_pselect_mask) X(special_personality) X(special_sched_policy) X(special_signal) \
	X(special_umask) X(special_bpf_attr) X(special_bpf)
/* clang-format on */
#define SYSCALL_TYPE_DECLARE(name) extern const struct syscall_type syscall_type_##name;
SYSCALL_TYPES(SYSCALL_TYPE_DECLARE)

/* ---- what printers use ---- */

/* The copy of an argument's memory; NULL when there is none. */
const struct syscall_memory *syscall_memory_of(const struct syscall *call, unsigned int argument, enum syscall_memory_kind kind);
/* Prints what an argument points to as elements of `type`: [{…}, {…}], NULL or the address when there is nothing to see. */
void syscall_print_pointed(struct syscall_text *text, unsigned int argument, const struct syscall_type *type);
/* Colours between which text stands; nothing when the style has none. */
static inline void syscall_begin_color(struct syscall_text *text, const char *sequence)
{
	if (text->style->color)
		strbuf_add_str(text->out, sequence);
}
static inline void syscall_end_color(struct syscall_text *text)
{
	syscall_begin_color(text, "\033[m");
}
#define SYSCALL_COLOR_PATH "\033[36m"
#define SYSCALL_COLOR_ERROR "\033[31m"
/* NULL or 0x… */
void syscall_print_address(struct syscall_text *text, uint64_t address);
/* Is the name of an optional constant to be given without what all have in front? Inside of structures never. */
bool syscall_strips(const struct syscall_text *text);
/* A string with quotes and escapes; "..." behind it when there is more than `limit`. */
void syscall_print_string(struct strbuf *out, const uint8_t *data, size_t size, bool more, uint32_t limit);
/* Bytes with quotes: \x39\x91 with `hex`. */
void syscall_print_bytes(struct strbuf *out, const uint8_t *data, size_t size, uint64_t wanted, uint32_t limit, bool hex);
/* SIGINT, SIGRT_3; without SIG when `strip`. */
void syscall_print_signal(struct strbuf *out, uint64_t signal, bool strip);
/* [INT CHLD], ~[KILL STOP] */
void syscall_print_sigset(struct strbuf *out, const uint8_t *data, size_t size);
void syscall_print_sockaddr(struct strbuf *out, const uint8_t *data, size_t size);
void syscall_print_permissions(struct strbuf *out, uint64_t mode);
/* S_IFREG|S_ISUID|0644 */
void syscall_print_file_mode(struct strbuf *out, uint64_t mode);
/* makedev(0x8, 0x1) of a number as system calls have it. */
void syscall_print_device(struct strbuf *out, uint64_t device);
void syscall_print_timespec(struct strbuf *out, const uint8_t *data);

/* Values of the memory of our machine. */
static inline uint64_t get_u64(const uint8_t *data)
{
	uint64_t value;
	memcpy(&value, data, sizeof(value));
	return value;
}

static inline uint32_t get_u32(const uint8_t *data)
{
	uint32_t value;
	memcpy(&value, data, sizeof(value));
	return value;
}

static inline uint16_t get_u16(const uint8_t *data)
{
	uint16_t value;
	memcpy(&value, data, sizeof(value));
	return value;
}
