/* What the plugin for Perl (perf-perl.so) offers, and what it is given. Perl's headers are macros around its interpreter's structures, so
 * calls of libperl are compiled against one version of it, into a shared object of its own that is loaded when a script needs it.
 *
 * The plugin knows values and calls, nothing of events: perl.c does the rest. It includes nothing of the program, and the program nothing
 * of Perl. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERL_PLUGIN_VERSION = 2 };

/* A scalar, or a reference to an array or a hash. A new one belongs to the caller until it is put into another one or passed to call(). */
struct perl_value;

enum perl_outcome {
	PERL_DONE,
	PERL_ENDED, /* exit, or died: the message was printed */
};

/* What scripts ask about the event that is handled. */
enum perl_common { PERL_COMMON_PC, PERL_COMMON_FLAGS, PERL_COMMON_LOCK_DEPTH };

struct perl_host {
	void *context;
	int64_t (*common)(void *context, enum perl_common what);
};

struct perl_plugin {
	int version; /* PERL_PLUGIN_VERSION */
	/* Compiles and runs the script. `arguments` ends with NULL. *ret_status: what it ended with. `host` must live as long as the
	 * interpreter. */
	enum perl_outcome (*start)(const char *script, char *const *arguments, const struct perl_host *host, int *ret_status);
	/* Ends the script with `status`. Returns what perl would exit with: END blocks may have changed it, and it is 1 where output
	 * could not be written, of which Perl has told. */
	int (*stop)(int status);

	struct perl_value *(*new_signed)(int64_t value);
	struct perl_value *(*new_unsigned)(uint64_t value);
	struct perl_value *(*new_text)(const char *text, size_t length);
	struct perl_value *(*new_array)(void);
	struct perl_value *(*new_hash)(void);
	void (*array_add)(struct perl_value *array, struct perl_value *value);
	void (*hash_set)(struct perl_value *hash, const char *key, struct perl_value *value);

	/* Whether there is such a function ("sched::sched_switch"); with `folder`, only one that is written in Perl in a file of that
	 * folder or below it, so that a name from a recording can't call into a module. */
	bool (*has)(const char *name, const char *folder);
	/* Takes the values away. *ret_status is set when it ended. */
	enum perl_outcome (*call)(const char *name, struct perl_value **values, size_t count, int *ret_status);
};

/* The plugin's one symbol. */
const struct perl_plugin *perf_perl_plugin(void);
