/* What every command that reads a recording begins with: the session and the resolver for the options that all of them share. */
#pragma once

#include "app/groups.h"
#include "app/progress.h"
#include "session/session.h"
#include "symbol/resolve.h"

struct opening_options {
	const struct input_options *input;
	const char *cpus; /* "0-3,7" or NULL */
	const char *time; /* --time, or NULL */
	bool streaming;	  /* session_next() will be used */
	bool unordered;	  /* … and gives the order of the file */
};

struct opening {
	struct session *session;
	struct resolver *resolver;
	uint64_t *cpu_bits; /* the filter's, or NULL */
	size_t cpu_words;
	char *buildid_dir;  /* of the configuration, or NULL */
	struct progress progress;
};

/* Opens the recording and shows progress while its first pass runs. All zero is an opening that opening_end() accepts. */
struct error *opening_begin(struct opening *opening, const struct opening_options *options);
void opening_end(struct opening *opening);
/* Warns of what was lost, and of what is wrong with the recording: what every command says at its end. */
void opening_warn(const struct opening *opening);
