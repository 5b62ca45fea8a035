/* Within cmd/daemon: what the daemon and who asks it share.
 *
 * A daemon stands on a base folder, which is its user's alone:
 *
 *	BASE/lock                  its process id; locked (flock) as long as it lives
 *	BASE/control               a socket of its user's, on which it is asked
 *	BASE/output                what it did
 *	BASE/session-NAME/         perf record runs here:
 *		output             what it says
 *		control, ack       FIFOs for --control
 *		perf.data, …       what it records */
#pragma once

#include "app/command.h"
#include "app/groups.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct daemon_options {
	const char *base, *config; /* files; NULL = none was named */
	const char *separator;	   /* -x */
	const char *session;	   /* NULL = all */
	bool foreground;
	struct output_options output;
};

/* ---- settings.c: the configuration ---- */

struct daemon_settings {
	char *base; /* absolute; NULL = nobody named one */
	VEC(struct daemon_run {
		char *name;
		char *run;   /* as it was written */
		char *where; /* "FILE:LINE" */
	})
	runs;
};

/* `sessions`: they are wanted too, not only the base. */
struct error *daemon_settings_read(const struct daemon_options *options, bool sessions, struct daemon_settings *ret);
void daemon_settings_free(struct daemon_settings *settings);
/* The files that are read. */
typedef VEC(char *) daemon_files;
void daemon_settings_files(const struct daemon_options *options, daemon_files *ret);
/* A command line as words: separated by blanks; '…' and "…" hold them together. False: a quote doesn't end. */
bool daemon_split_words(const char *text, daemon_files *ret);
void daemon_free_words(daemon_files *words);

/* Opens a folder that is to be its user's alone: BASE, and each of its sessions'. */
struct error *daemon_open_folder(int at, const char *name, int *ret);

/* ---- session.c: one perf record ---- */

struct daemon_session {
	char *name, *run;
	pid_t pid;	     /* 0 = it doesn't run */
	int status;	     /* … as of waitpid(), when it has ended */
	int folder;	     /* -1 = none */
	int control, ack;    /* FIFOs, open both ways: they neither end nor block */
	uint64_t started_ns; /* CLOCK_MONOTONIC; 0 = it couldn't be started */
	bool answered;	     /* since it was started */
	bool killed;	     /* it didn't end when it was told to */
	bool wanted;	     /* while a configuration is applied */
};

struct daemon_session *daemon_session_create(const char *name, const char *run);
/* It must have been stopped. */
void daemon_session_destroy(struct daemon_session *session);
/* Makes its folder in `base` and starts it there. */
struct error *daemon_session_start(struct daemon_session *session, int base);
/* SIGTERM; SIGKILL to what hasn't ended after so many seconds. What was recorded stays, the FIFOs don't. */
enum { DAEMON_STOP_SECONDS = 10 };
void daemon_sessions_stop(struct daemon_session *const *sessions, size_t count);
/* Whether it has ended since it was last asked; adds how. */
bool daemon_session_ended(struct daemon_session *session, struct strbuf *how);
/* Adds "exited, status=1" or "killed (signal 15)" of one that has ended. */
void daemon_session_add_end(const struct daemon_session *session, struct strbuf *out);
/* Whether it answers. */
bool daemon_session_ping(struct daemon_session *session);
/* Has it write what it holds: SIGUSR2, which would end a recorder that hasn't begun, so that its first answer is waited for. False: there
 * was none, and nothing is sent. */
bool daemon_session_dump(struct daemon_session *session);

/* ---- server.c: the daemon ---- */

/* Returns in the foreground when it has ended, else when it runs in the background. */
struct error *daemon_serve(const struct daemon_options *options, const struct daemon_settings *settings);

/* ---- what is asked: "VERB\nSEPARATOR\nSESSION\n", with empty lines for what isn't given; the answer is text up to the end ---- */

enum { DAEMON_REQUEST_MAX = 1024 };
/* The socket of a base. The path of a socket is short: this one leads there by the folder's descriptor. */
struct sockaddr_un;
void daemon_socket_address(int base, struct sockaddr_un *ret);
