/* A system call: its description (what the arguments mean), one call as it was seen, and its text.
 *
 *	openat(dfd: CWD, filename: "/etc/ld.so.cache", flags: RDONLY|CLOEXEC)      = 3</etc/ld.so.cache>
 */
#pragma once

#include "analysis/syscalls/constants.h"
#include "arch/syscalls.h"
#include "base/strbuf.h"
#include "base/untrusted.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYSCALL_ARGUMENTS = 6 }; /* at most */

struct syscall_type; /* what kind of value it is */

/* What happens to an argument. */
enum syscall_direction {
	SYSCALL_VALUE,	 /* it is the value itself */
	SYSCALL_READ,	 /* a pointer to what the call reads */
	SYSCALL_FILLED,	 /* … what the call fills when it succeeds */
	SYSCALL_CHANGED, /* … what the call reads and changes */
};

enum syscall_length {
	SYSCALL_LENGTH_ONE,	 /* a single one */
	SYSCALL_LENGTH_ARGUMENT, /* as many as argument `length` says */
	SYSCALL_LENGTH_RESULT,	 /* as many as the call returned */
	SYSCALL_LENGTH_POINTED,	 /* as many as the int that argument `length` points to says */
};

struct syscall_argument_description {
	const char *name;
	const struct syscall_type *type;
	enum syscall_direction direction;
	enum syscall_length length_kind;
	unsigned int length;
	const struct constant_set *constants; /* of flags and enumerations, else NULL */
};

enum syscall_class {
	SYSCALL_CLASS_FILE = 1 << 0,
	SYSCALL_CLASS_DESC = 1 << 1,
	SYSCALL_CLASS_NET = 1 << 2,
	SYSCALL_CLASS_PROCESS = 1 << 3,
	SYSCALL_CLASS_MEMORY = 1 << 4,
	SYSCALL_CLASS_SIGNAL = 1 << 5,
	SYSCALL_CLASS_IPC = 1 << 6,
	SYSCALL_CLASS_STAT = 1 << 7,
};

struct syscall_description {
	const char *name;
	const struct syscall_type *result;
	unsigned int classes; /* enum syscall_class */
	unsigned int count;   /* of arguments */
	struct syscall_argument_description arguments[SYSCALL_ARGUMENTS];
};

/* All that are known, ascending by name. */
extern const struct syscall_description syscall_descriptions[];
extern const unsigned int syscall_description_count;
const struct syscall_description *syscall_describe(const char *name);
/* A type for calls without description, by the type in C of the argument ("unsigned int", "struct iovec *"); NULL = nothing is known. */
const struct syscall_type *syscall_plain_type(const char *c_type);
/* "file", "net" …; 0 when there is no such class. */
unsigned int syscall_class(const char *name);
/* The call ends its thread: it has no result. */
bool syscall_never_returns(const struct syscall_description *description);
/* The call makes the process another program: its arguments are gone when it has succeeded. */
bool syscall_replaces(const struct syscall_description *description);
/* The argument is a file descriptor. */
bool syscall_is_file(const struct syscall_argument_description *argument);
/* … and so is the result, maybe */
bool syscall_returns_file(const struct syscall_description *description);

/* How the memory behind an argument is to be copied. */
enum syscall_memory_form {
	SYSCALL_FORM_NONE,
	SYSCALL_FORM_PATH,     /* a string that is of interest as a whole */
	SYSCALL_FORM_STRING,   /* a string */
	SYSCALL_FORM_BYTES,    /* bytes */
	SYSCALL_FORM_FIXED,    /* elements of a fixed size */
	SYSCALL_FORM_SOCKET,   /* bytes, but needed as a whole */
	SYSCALL_FORM_BITS,     /* a set of as many bits as the length says */
	SYSCALL_FORM_STRINGS,  /* a list of pointers to strings */
	SYSCALL_FORM_POINTERS, /* a list of pointers that is only counted */
	SYSCALL_FORM_VECTOR,   /* struct iovec and its buffers */
	SYSCALL_FORM_MESSAGE,  /* struct msghdr and what belongs to it */
	SYSCALL_FORM_DIRENTS,  /* directory entries, which are only counted */
	SYSCALL_FORM_REQUEST,  /* as much as the request of an ioctl says */
};
/* The form, and the size of an element. */
enum syscall_memory_form syscall_memory_form(const struct syscall_argument_description *argument, unsigned int *ret_size);

enum syscall_memory_kind {
	SYSCALL_MEMORY_EXIT,	/* as of the call's end */
	SYSCALL_MEMORY_ENTRY,	/* as of its beginning */
	SYSCALL_MEMORY_STRING,	/* one of several strings */
	SYSCALL_MEMORY_BUFFER,	/* one of the buffers that a vector points to */
	SYSCALL_MEMORY_VECTOR,	/* of a message: its struct iovec */
	SYSCALL_MEMORY_ADDRESS, /* of a message: the socket address */
	SYSCALL_MEMORY_CONTROL, /* of a message: control data */
	SYSCALL_MEMORY_COUNT,	/* no data: `wanted` pointers were counted */
	SYSCALL_MEMORY_FAULT,	/* could not be read; of one string of several the data is its address */
};

/* Memory that was copied for an argument. */
struct syscall_memory {
	uint8_t argument;
	uint8_t kind;	 /* enum syscall_memory_kind */
	uint32_t size;	 /* of `data`; of strings with the NUL */
	uint32_t wanted; /* the size without limits; of strings: not 0 when there was more */
	const uint8_t *data;
};

enum { SYSCALL_MEMORY_MOST = 192 };

/* One call, or its entry. */
struct syscall {
	const struct syscall_description *description; /* never NULL */
	uint64_t time;				       /* of the entry; 0 = not seen */
	uint64_t duration;			       /* ns */
	uint64_t arguments[SYSCALL_ARGUMENTS];
	int64_t result;
	uint32_t pid, tid;
	bool compat; /* of a 32-bit program on a 64-bit machine */
	bool cut;    /* there was more memory than could be copied */
	bool blind;  /* memory isn't copied at all: strings show as addresses */
	/* What the first and second argument that is a file descriptor, and the result, stand for; safe text, or NULL. */
	const char *files[3];
	const struct syscall_memory *memory;
	size_t memory_count;
};

struct syscall_style {
	bool names;    /* of arguments */
	bool zeros;    /* arguments that are 0 as well */
	bool numbers;  /* … of them those that mean something: counts, offsets, ids, exit codes; not NULL, not the absence of flags */
	bool prefixes; /* O_RDONLY instead of RDONLY */
	bool color;    /* paths and errors are coloured: the text has escape sequences of ours */
	uint32_t string_limit; /* bytes of strings and buffers */
	/* The name of a thread or NULL, for results that are one; may be NULL. */
	const struct untrusted *(*thread_name)(void *context, uint32_t tid);
	void *thread_name_context;
	/* Structures as the kernel's types have them; false: it doesn't know this one, and added nothing. May be NULL. */
	bool (*structure)(void *context, const char *name, const uint8_t *data, size_t size, struct strbuf *out);
	void *structure_context;
};

/* "openat(dfd: CWD, …)" without a newline; of an entry with what is known then. The text is safe for a terminal. */
void syscall_add_text(const struct syscall *call, const struct syscall_style *style, struct strbuf *out);
/* Only what the call has filled, as "buf: "…""; nothing when there is nothing. */
void syscall_add_filled(const struct syscall *call, const struct syscall_style *style, struct strbuf *out);
/* "3</etc/passwd>", "-1 ENOENT (No such file or directory)", "?" for calls that never return. */
void syscall_add_result(const struct syscall *call, const struct syscall_style *style, struct strbuf *out);
/* "SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}": `info` is the beginning of a siginfo_t, zeros when it isn't known. */
void syscall_add_signal(uint32_t number, const void *info, size_t size, struct strbuf *out);
/* The same where no more than si_code is known. */
void syscall_add_signal_code(uint32_t number, int32_t code, struct strbuf *out);
/* "exited with 1", "killed by SIGSEGV (core dumped)": how a thread ended, by its status as wait() has it. */
void syscall_add_end(uint32_t status, struct strbuf *out);
/* Only the value of one argument; false when it isn't shown in this style. */
bool syscall_add_argument(const struct syscall *call, const struct syscall_style *style, unsigned int argument, struct strbuf *out);
/* "ENOENT"; NULL when there is no such error. */
const char *syscall_error_name(int64_t error);
/* Results of calls that failed. */
static inline bool syscall_failed(int64_t result)
{
	return result < 0 && result >= -4095;
}
