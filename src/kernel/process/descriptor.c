/* By the link in /proc/PID/fd. A socket's has but an inode, by which it stands in one of the tables of the process's network namespace
 * (Documentation/networking/proc_net_tcp.rst):
 *
 *	  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
 *	   0: 0100007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21837 …
 *
 * Addresses are words of 32 bits in the machine's byte order, of which each has four bytes in the network's. */
#include "kernel/process/descriptor.h"

#include "kernel/proc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct end {
	uint32_t address[4];
	unsigned int words, port;
};

/* "0100007F:0035" */
static bool read_end(const char *text, unsigned int words, struct end *ret)
{
	*ret = (struct end){.words = words};
	for (unsigned int i = 0; i < words; i++, text += 8)
		if (sscanf(text, "%8x", &ret->address[i]) != 1)
			return false;
	return sscanf(text, ":%x", &ret->port) == 1;
}

static void add_end(const char *protocol, const struct end *end, struct strbuf *out)
{
	char text[INET6_ADDRSTRLEN];
	inet_ntop(end->words > 1 ? AF_INET6 : AF_INET, end->address, text, sizeof(text));
	strbuf_printf(out, end->words > 1 ? "%s [%s]:%u" : "%s %s:%u", protocol, text, end->port);
}

/* One line of a table; whether it is of the inode. */
static bool add_socket(const char *line, const char *protocol, unsigned int words, unsigned long inode, struct strbuf *out)
{
	enum { FIELD = 80 };
	char local[FIELD], remote[FIELD];
	unsigned long found;
	struct end near, far;
	if (sscanf(line, "%*s %79s %79s %*s %*s %*s %*s %*s %*s %lu", local, remote, &found) != 3 || found != inode)
		return false;
	if (strlen(local) < words * 8 || strlen(remote) < words * 8 || !read_end(local, words, &near) || !read_end(remote, words, &far))
		return false;
	if (far.port)
		add_end(protocol, &far, out);
	else
		strbuf_printf(out, "%s port %u", protocol, near.port);
	return true;
}

static bool add_from_table(pid_t pid, const char *table, const char *protocol, unsigned int words, unsigned long inode, struct strbuf *out)
{
	char path[PATH_MAX];
	struct strbuf text = {0};
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, table);
	if (proc_read_file(AT_FDCWD, path, &text) == 0 && text.len)
		for (char *rest = text.data, *line; !found && (line = strsep(&rest, "\n"));)
			found = add_socket(line, protocol, words, inode, out);
	strbuf_deinit(&text);
	return found;
}

/* "Num RefCount Protocol Flags Type St Inode Path", the path only of what is bound to one. */
static bool add_from_unix(pid_t pid, unsigned long inode, struct strbuf *out)
{
	char path[PATH_MAX];
	struct strbuf text = {0};
	bool is_found = false;
	snprintf(path, sizeof(path), "/proc/%d/net/unix", (int)pid);
	if (proc_read_file(AT_FDCWD, path, &text) == 0 && text.len)
		for (char *rest = text.data, *line; !is_found && (line = strsep(&rest, "\n"));) {
			unsigned long found;
			int end = 0;
			is_found = sscanf(line, "%*s %*s %*s %*s %*s %*s %lu%n", &found, &end) == 1 && found == inode;
			if (is_found)
				strbuf_printf(out, "UNIX socket%s", line + end);
		}
	strbuf_deinit(&text);
	return is_found;
}

static void add_socket_name(pid_t pid, unsigned long inode, struct strbuf *out)
{
	static const struct {
		const char *table, *protocol;
		unsigned int words;
	} tables[] = {{"tcp", "TCP", 1}, {"tcp6", "TCP", 4}, {"udp", "UDP", 1}, {"udp6", "UDP", 4}};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (add_from_table(pid, tables[i].table, tables[i].protocol, tables[i].words, inode, out))
			return;
	add_from_unix(pid, inode, out);
}

void descriptor_add_name(pid_t pid, int descriptor, struct strbuf *out)
{
	char link[64], target[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, descriptor);
	ssize_t length = readlink(link, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	if (!strncmp(target, "pipe:", 5))
		strbuf_add_str(out, "pipe");
	else if (!strncmp(target, "socket:[", 8))
		add_socket_name(pid, strtoul(target + 8, NULL, 10), out);
	else if (*target == '/')
		strbuf_add_str(out, target);
}
