/* What a file descriptor of a process is. */
#pragma once

#include "base/strbuf.h"

#include <sys/types.h>

/* Adds "/var/log/syslog", "pipe", "TCP 10.0.0.1:5432", "UDP port 53", "UNIX socket /run/x.sock", or nothing when that can't be told. Of a
 * connection it is the other end, of what listens its own. Names of files are whatever somebody called them: not safe to print. */
void descriptor_add_name(pid_t pid, int descriptor, struct strbuf *out);
