/* What the BPF program of system calls (syscalls.bpf.c) and its loader (syscalls.c) exchange: maps, configuration, and the records in the
 * ring.
 *
 * A record begins with its type and size. All are multiples of 8 bytes, in native byte order. Times are CLOCK_MONOTONIC nanoseconds.
 * Process and thread ids are those of our own pid namespace when it is told (config.pid_namespace), else of the initial one. */
#pragma once

#include <stdint.h>

enum {
	SYSCALLS_ARGS = 6,
	SYSCALLS_FILES = 3,
	SYSCALLS_NATIVE = 512,			/* numbers of the machine's own calls are below this … */
	SYSCALLS_NUMBERS = 2 * SYSCALLS_NATIVE, /* … those of 32-bit programs (compat) are put behind them */
	SYSCALLS_DATA = 8192,			/* bytes that can be copied for one call */
	SYSCALLS_PIECE = 4096,			/* bytes that can be copied for one of its arguments */
	SYSCALLS_PATH_NAMES = 48,		/* depth of directories */
	SYSCALLS_NAME = 256,			/* NAME_MAX + 1 */
};

/* How an argument's memory is copied. Sizes are limited by config.string_size (bytes that people look at) or SYSCALLS_PIECE (all else). */
enum syscall_copy {
	SYSCALL_COPY_NONE,
	SYSCALL_COPY_PATH,     /* a string, whole */
	SYSCALL_COPY_STRING,   /* a string, config.string_size of it */
	SYSCALL_COPY_BYTES,    /* `length` is the argument that says how many; config.string_size of them */
	SYSCALL_COPY_RETURNED, /* as many as the call returned; config.string_size of them */
	SYSCALL_COPY_FIXED,    /* `size` bytes */
	SYSCALL_COPY_ARRAY,    /* elements of `size` bytes; `length` is the argument that says how many */
	SYSCALL_COPY_COUNTED,  /* elements of `size` bytes, as many as the call returned */
	SYSCALL_COPY_SIZED,    /* `length` is the argument that points to an int with the number of bytes */
	SYSCALL_COPY_BITS,     /* a set with as many bits as argument `length` says */
	SYSCALL_COPY_STRINGS,  /* pointers to strings, up to NULL */
	SYSCALL_COPY_POINTERS, /* they are only counted */
	SYSCALL_COPY_VECTOR,   /* struct iovec, `length` is the argument that says how many, and what they point to */
	SYSCALL_COPY_MESSAGE,  /* struct msghdr, and what it points to */
	SYSCALL_COPY_DIRENTS,  /* directory entries, as many bytes as the call returned: they are only counted */
	SYSCALL_COPY_REQUEST,  /* of ioctl: `length` is the argument that is the request */
};

enum syscall_when {
	SYSCALL_AT_EXIT,      /* copied when the call ends: pages are there then, which they need not be at its entry */
	SYSCALL_AT_EXIT_GOOD, /* only when it succeeded: the call fills it */
	SYSCALL_AT_ENTRY,     /* only at its entry, because the call destroys it */
	SYSCALL_AT_BOTH,      /* the call changes it, both states are of interest */
};

struct syscall_argument {
	uint8_t copy;	/* enum syscall_copy */
	uint8_t when;	/* enum syscall_when */
	uint8_t length; /* number of another argument, from 0 */
	uint8_t unused;
	uint16_t size;
	uint16_t unused_2;
};

enum syscall_selected {
	SYSCALL_NOT_SELECTED,
	SYSCALL_SELECTED,
	SYSCALL_FOLLOWED, /* not wanted, but the program must know when it happens: execve */
};

/* What is done about a system call; a row of the map `calls`. */
struct syscall_plan {
	uint8_t selected;     /* enum syscall_selected */
	uint8_t arguments;    /* those behind have nothing to copy */
	uint8_t never_exits;  /* exit: its record is sent at the entry */
	uint8_t returns_file; /* the result is a file descriptor */
	uint8_t replaces;     /* execve: the process is another one afterwards */
	uint8_t at_entry;     /* some argument is copied at the entry: a record is sent then, too */
	uint8_t files[2];     /* numbers of the first two arguments that are file descriptors, plus one; 0 = none */
	struct syscall_argument argument[SYSCALLS_ARGS];
};

enum syscalls_record_type {
	SYSCALLS_RECORD_CALL = 1, /* struct syscall_record */
	SYSCALLS_RECORD_NAME,	  /* struct name_record: of a thread */
	SYSCALLS_RECORD_FILE,	  /* struct file_record: what a file id means; comes before its first use */
	SYSCALLS_RECORD_FORK,	  /* struct fork_record */
	SYSCALLS_RECORD_EXIT,	  /* struct exit_record: a thread has ended */
	SYSCALLS_RECORD_SIGNAL,	  /* struct signal_record; with config.signals */
};

struct syscalls_record {
	uint32_t type;
	uint32_t size; /* with this header */
};

struct thread_record {
	struct syscalls_record header;
	uint64_t time;
	uint32_t pid, tid;
};

enum syscall_flag {
	SYSCALL_ENTERED = 1, /* only the entry: the call sleeps, or never returns, or has arguments that must be seen before */
	SYSCALL_COMPAT = 2,  /* of a 32-bit program */
	SYSCALL_CUT = 4,     /* there was more to copy than room */
	SYSCALL_SLEEPS = 8,  /* with SYSCALL_ENTERED: sent when the thread went to sleep */
};

struct syscall_record {
	struct thread_record thread; /* its time: of the entry */
	uint64_t duration;	     /* 0 with SYSCALL_ENTERED */
	int64_t result;
	uint64_t arguments[SYSCALLS_ARGS];
	uint64_t files[SYSCALLS_FILES]; /* ids: of the first and second argument that is a file descriptor, of the result; 0 = none */
	uint64_t lost;			/* records that found no room in the ring so far */
	uint16_t number;		/* below SYSCALLS_NUMBERS */
	uint16_t flags;			/* enum syscall_flag */
	uint32_t pieces;		/* bytes of struct syscall_piece behind this */
};

/* Memory of an argument. Sized to a multiple of 8 with its data. */
struct syscall_piece {
	uint8_t argument;
	uint8_t kind;	 /* enum syscall_piece_kind */
	uint16_t size;	 /* of the data */
	uint32_t wanted; /* what it would have been without limits; of strings: 0 when the end is there */
	uint8_t data[];
};

enum syscall_piece_kind {
	SYSCALL_PIECE_EXIT,    /* as of the exit */
	SYSCALL_PIECE_ENTRY,   /* as of the entry */
	SYSCALL_PIECE_STRING,  /* one of several strings; of an array of pointers */
	SYSCALL_PIECE_BUFFER,  /* one of the buffers that a vector points to */
	SYSCALL_PIECE_VECTOR,  /* of a message: its vector */
	SYSCALL_PIECE_ADDRESS, /* of a message: the socket address */
	SYSCALL_PIECE_CONTROL, /* of a message: control data */
	SYSCALL_PIECE_COUNT,   /* no data: `wanted` pointers were counted */
	SYSCALL_PIECE_FAULT,   /* the memory could not be read; no data, or of one string of several its address */
};

struct exit_record {
	struct thread_record thread;
	uint32_t status; /* as wait() has it */
	uint32_t unused;
};

enum { SYSCALLS_SIGINFO = 48 };

/* A signal that a thread handles, or that its process ignores. */
struct signal_record {
	struct thread_record thread;
	uint32_t number;
	uint32_t unused;
	uint8_t info[SYSCALLS_SIGINFO]; /* the beginning of a siginfo_t: all that is used of it; zeros: unknown */
};

struct name_record {
	struct thread_record thread;
	char name[16];
};

struct fork_record {
	struct thread_record thread; /* the new one */
	uint32_t parent_pid, parent_tid;
};

struct file_record {
	struct syscalls_record header;
	uint64_t id;
	uint64_t inode;
	uint64_t magic;	 /* of the file system */
	uint32_t mode;	 /* of the inode */
	uint32_t device; /* of a device's inode, the kernel's dev_t */
	uint32_t deleted;
	uint32_t names; /* bytes of names behind this: from the file upwards, each ended by NUL */
};

/* Sums of a thread's calls of one kind, in the map `sums`. Squares are of nanoseconds, 128 bits wide. */
struct syscall_sum_key {
	uint32_t tid;
	uint32_t number;
	uint64_t cgroup; /* 0 unless config.by_cgroup */
};

struct syscall_sum {
	uint64_t calls, errors;
	uint64_t total, shortest, longest;
	uint64_t squares_low, squares_high;
};

/* Calls by log2 of their nanoseconds, in the map `histograms`, with the keys of `sums`. */
struct syscall_histogram {
	uint32_t calls[40];
};

struct syscall_errno_key {
	struct syscall_sum_key call;
	uint64_t error;
};

/* Which processes are traced, a key of `targets`. */
enum syscalls_target {
	SYSCALLS_TARGET_PROCESS = 1,
	SYSCALLS_TARGET_THREAD = 2,
	SYSCALLS_TARGET_COMMAND = 3,  /* a process from its next successful execve on */
	SYSCALLS_TARGET_NEVER = 4,    /* not this process */
	SYSCALLS_TARGET_CHILDREN = 5, /* not this process, but what it starts: from their execve on; with config.commands */
};

struct syscalls_config {
	uint64_t shortest;    /* calls below this duration (ns) aren't sent */
	uint32_t string_size; /* bytes of strings and buffers, at most SYSCALLS_PIECE - 2 */
	uint32_t user;	      /* with by_user */
	uint32_t wake_bytes;  /* the reader is woken when so much waits */
	uint8_t system_wide;  /* everything but SYSCALLS_TARGET_NEVER */
	uint8_t by_user;      /* all of a user's */
	uint8_t in_cgroup;    /* only below the cgroup in the map `cgroups` */
	uint8_t on_cpus;      /* only on the CPUs in the map `cpus` */
	uint8_t inherit;      /* children and new threads of what is traced, too */
	uint8_t calls;	      /* records are sent */
	uint8_t sums;	      /* calls are added up in the kernel */
	uint8_t histograms;   /* and by their duration */
	uint8_t errors;	      /* and by their errno */
	uint8_t by_cgroup;    /* sums are kept for each cgroup */
	uint8_t failures;     /* only calls that failed */
	uint8_t files;	      /* paths of file descriptors are wanted */
	uint8_t signals;      /* signals are sent as well */
	uint8_t commands;     /* a target is SYSCALLS_TARGET_CHILDREN */
};
