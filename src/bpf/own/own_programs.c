/* The kernel tells of a program, as of any other file that is open, in /proc/self/fdinfo (kernel/bpf/syscall.c, bpf_prog_show_fdinfo): so
 * that nobody has to list which ones there are. */
#include "bpf/own/own_programs.h"

#include "base/strbuf.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_program(int folder, const char *name)
{
	char target[64] = "";
	return readlinkat(folder, name, target, sizeof(target) - 1) > 0 && !strcmp(target, "anon_inode:bpf-prog");
}

static bool read_number(const char *name, const char *key, uint64_t *ret)
{
	char path[300];
	struct strbuf text = {0};
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", name);
	const char *found = proc_read_file(AT_FDCWD, path, &text) ? NULL : strstr(strbuf_str(&text), key);
	if (found)
		*ret = strtoull(found + strlen(key), NULL, 10);
	strbuf_deinit(&text);
	return found;
}

void bpf_own_programs(const char *key, void (*visit)(void *context, uint64_t number), void *context)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t number;
	while (folder && (entry = readdir(folder)))
		if (is_program(dirfd(folder), entry->d_name) && read_number(entry->d_name, key, &number))
			visit(context, number);
	if (folder)
		closedir(folder);
}
