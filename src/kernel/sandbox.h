/* A reader of foreign files gives up the rights that it does not need: what a hostile recording or ELF file might make of it can then read
 * files, and no more.
 *
 * From sandbox_enter() on the calling thread, and each that it starts, can write to no file but those below `writable`, terminals,
 * /dev/null and its like (Landlock, Linux 5.13), start no program, open no socket (but with `network`), signal or trace no other process,
 * and change no right, mount, module or file's owner (seccomp). What is refused gives EPERM or EACCES; nothing is killed. Files that are
 * open stay usable; any file may be read. There is no way back. */
#pragma once

#include <stdbool.h>

struct sandbox_options {
	bool network;
	bool new_files;		     /* what is written gets rights of its own (fchmod) */
	bool bpf;		     /* maps of BPF programs that run are read and written (bpf) */
	const char *const *writable; /* folders and files, NULL-terminated; those that don't exist say nothing */
	const char *links;	     /* a writable folder where symbolic links may be made, too; NULL = nowhere */
};

/* What took effect. */
struct sandbox_state {
	bool files; /* Landlock */
	bool calls; /* seccomp */
};

/* Does what this kernel can: whoever wants to insist on it looks at the result. Options are needed during the call only. */
struct sandbox_state sandbox_enter(const struct sandbox_options *options);
/* The version of Landlock that the kernel has; 0 = none. */
int sandbox_landlock_version(void);
/* Whether the kernel and this build have filters of system calls. */
bool sandbox_has_filters(void);
