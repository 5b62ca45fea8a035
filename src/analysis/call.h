/* A system call: its description (what the arguments mean), one call as it was seen, and its text.
 *
 *	openat(dfd: CWD, filename: "/etc/ld.so.cache", flags: RDONLY|CLOEXEC)      = 3</etc/ld.so.cache>
 */
#pragma once

#include "analysis/constants.h"
#include "arch/syscalls.h"
#include "base/strbuf.h"
#include "base/untrusted.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_ARGUMENTS = 6 }; /* at most */

struct call_type; /* what kind of value it is */

/* What happens to an argument. */
enum call_direction {
	CALL_VALUE,   /* it is the value itself */
	CALL_READ,    /* a pointer to what the call reads */
	CALL_FILLED,  /* … what the call fills when it succeeds */
	CALL_CHANGED, /* … what the call reads and changes */
};

enum call_length {
	CALL_LENGTH_ONE,      /* a single one */
	CALL_LENGTH_ARGUMENT, /* as many as argument `length` says */
	CALL_LENGTH_RESULT,   /* as many as the call returned */
	CALL_LENGTH_POINTED,  /* as many as the int that argument `length` points to says */
};

struct call_argument_description {
	const char *name;
	const struct call_type *type;
	enum call_direction direction;
	enum call_length length_kind;
	unsigned int length;
	const struct constant_set *constants; /* of flags and enumerations, else NULL */
};

enum call_class {
	CALL_CLASS_FILE = 1 << 0,
	CALL_CLASS_DESC = 1 << 1,
	CALL_CLASS_NET = 1 << 2,
	CALL_CLASS_PROCESS = 1 << 3,
	CALL_CLASS_MEMORY = 1 << 4,
	CALL_CLASS_SIGNAL = 1 << 5,
	CALL_CLASS_IPC = 1 << 6,
	CALL_CLASS_STAT = 1 << 7,
};

struct call_description {
	const char *name;
	const struct call_type *result;
	unsigned int classes; /* enum call_class */
	unsigned int count;   /* of arguments */
	struct call_argument_description arguments[CALL_ARGUMENTS];
};

/* All that are known, ascending by name. */
extern const struct call_description call_descriptions[];
extern const unsigned int call_description_count;
const struct call_description *call_describe(const char *name);
/* A type for calls without description, by the type in C of the argument ("unsigned int", "struct iovec *"); NULL = nothing is known. */
const struct call_type *call_plain_type(const char *c_type);
/* "file", "net" …; 0 when there is no such class. */
unsigned int call_class(const char *name);
/* The call ends its thread: it has no result. */
bool call_never_returns(const struct call_description *description);
/* The call makes the process another program: its arguments are gone when it has succeeded. */
bool call_replaces(const struct call_description *description);
/* The argument is a file descriptor. */
bool call_is_file(const struct call_argument_description *argument);
/* … and so is the result, maybe */
bool call_returns_file(const struct call_description *description);

/* How the memory behind an argument is to be copied. */
enum call_memory_form {
	CALL_FORM_NONE,
	CALL_FORM_PATH,	    /* a string that is of interest as a whole */
	CALL_FORM_STRING,   /* a string */
	CALL_FORM_BYTES,    /* bytes */
	CALL_FORM_FIXED,    /* elements of a fixed size */
	CALL_FORM_SOCKET,   /* bytes, but needed as a whole */
	CALL_FORM_BITS,	    /* a set of as many bits as the length says */
	CALL_FORM_STRINGS,  /* a list of pointers to strings */
	CALL_FORM_POINTERS, /* a list of pointers that is only counted */
	CALL_FORM_VECTOR,   /* struct iovec and its buffers */
	CALL_FORM_MESSAGE,  /* struct msghdr and what belongs to it */
	CALL_FORM_DIRENTS,  /* directory entries, which are only counted */
	CALL_FORM_REQUEST,  /* as much as the request of an ioctl says */
};
/* The form, and the size of an element. */
enum call_memory_form call_memory_form(const struct call_argument_description *argument, unsigned int *ret_size);

enum call_memory_kind {
	CALL_MEMORY_EXIT,    /* as of the call's end */
	CALL_MEMORY_ENTRY,   /* as of its beginning */
	CALL_MEMORY_STRING,  /* one of several strings */
	CALL_MEMORY_BUFFER,  /* one of the buffers that a vector points to */
	CALL_MEMORY_VECTOR,  /* of a message: its struct iovec */
	CALL_MEMORY_ADDRESS, /* of a message: the socket address */
	CALL_MEMORY_CONTROL, /* of a message: control data */
	CALL_MEMORY_COUNT,   /* no data: `wanted` pointers were counted */
	CALL_MEMORY_FAULT,   /* could not be read; of one string of several the data is its address */
};

/* Memory that was copied for an argument. */
struct call_memory {
	uint8_t argument;
	uint8_t kind;	 /* enum call_memory_kind */
	uint32_t size;	 /* of `data`; of strings with the NUL */
	uint32_t wanted; /* the size without limits; of strings: not 0 when there was more */
	const uint8_t *data;
};

enum { CALL_MEMORY_MOST = 192 };

/* One call, or its entry. */
struct call {
	const struct call_description *description; /* never NULL */
	uint64_t time;				    /* of the entry; 0 = not seen */
	uint64_t duration;			    /* ns */
	uint64_t arguments[CALL_ARGUMENTS];
	int64_t result;
	uint32_t pid, tid;
	bool compat; /* of a 32-bit program on a 64-bit machine */
	bool cut;    /* there was more memory than could be copied */
	bool blind;  /* memory isn't copied at all: strings show as addresses */
	/* What the first and second argument that is a file descriptor, and the result, stand for; safe text, or NULL. */
	const char *files[3];
	const struct call_memory *memory;
	size_t memory_count;
};

struct call_style {
	bool names;	       /* of arguments */
	bool zeros;	       /* arguments that are 0 as well */
	bool numbers;	       /* … of them those that mean something: counts, offsets, ids, exit codes; not NULL, not the absence of flags */
	bool prefixes;	       /* O_RDONLY instead of RDONLY */
	bool color;	       /* paths and errors are coloured: the text has escape sequences of ours */
	uint32_t string_limit; /* bytes of strings and buffers */
	/* The name of a thread or NULL, for results that are one; may be NULL. */
	const struct untrusted *(*thread_name)(void *context, uint32_t tid);
	void *thread_name_context;
};

/* "openat(dfd: CWD, …)" without a newline; of an entry with what is known then. The text is safe for a terminal. */
void call_add_text(const struct call *call, const struct call_style *style, struct strbuf *out);
/* Only what the call has filled, as "buf: "…""; nothing when there is nothing. */
void call_add_filled(const struct call *call, const struct call_style *style, struct strbuf *out);
/* "3</etc/passwd>", "-1 ENOENT (No such file or directory)", "?" for calls that never return. */
void call_add_result(const struct call *call, const struct call_style *style, struct strbuf *out);
/* "SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}": `info` is the beginning of a siginfo_t, zeros when it isn't known. */
void call_add_signal(uint32_t number, const void *info, size_t size, struct strbuf *out);
/* "exited with 1", "killed by SIGSEGV (core dumped)": how a thread ended, by its status as wait() has it. */
void call_add_end(uint32_t status, struct strbuf *out);
/* Only the value of one argument; false when it isn't shown in this style. */
bool call_add_argument(const struct call *call, const struct call_style *style, unsigned int argument, struct strbuf *out);
/* "ENOENT"; NULL when there is no such error. */
const char *call_error_name(int64_t error);
/* Results of calls that failed. */
static inline bool call_failed(int64_t result)
{
	return result < 0 && result >= -4095;
}
