/* Whose BPF programs are at tracepoints (bpf_attached.h): PERF_EVENT_IOC_QUERY_BPF tells the programs of an event, BPF_TASK_FD_QUERY the
 * program behind a descriptor of another process (linux/perf_event.h, linux/bpf.h). */
#include "kernel/bpf/bpf_attached.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/bpf/bpf_returns.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_PROGRAMS = 64 }; /* at one tracepoint: BPF_TRACE_MAX_PROGS */

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static bool read_info(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(*info), .info = (uintptr_t)info}};

	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0;
}

/* By its instructions as the kernel's verifier has left them; a kernel that hides them leaves the question open. */
static bool may_hide(int fd, uint32_t bytes)
{
	cleanup_free struct bpf_insn *code = mem_zalloc(bytes + sizeof(*code));
	struct bpf_prog_info info = {.xlated_prog_len = bytes, .xlated_prog_insns = (uintptr_t)code};

	return !bytes || !read_info(fd, &info) || !info.xlated_prog_insns || info.xlated_prog_len != bytes ||
	       bpf_may_return_zero(code, bytes / sizeof(*code));
}

/* Looks at the program by its id. False when it can refuse no event. */
static bool look_at(struct bpf_attached *attached)
{
	struct bpf_prog_info info = {0};
	union bpf_attr by_id = {.prog_id = attached->id};
	cleanup_close int fd = (int)bpf(BPF_PROG_GET_FD_BY_ID, &by_id);

	if (fd < 0 || !read_info(fd, &info))
		return true;
	memcpy(attached->name, info.name, sizeof(attached->name) - 1);
	return may_hide(fd, info.xlated_prog_len);
}

/* The program behind one descriptor of a process, when it is at a tracepoint. */
static void ask_descriptor(pid_t pid, uint32_t fd, struct bpf_attached_list *ret)
{
	struct bpf_attached attached = {.pid = pid};
	union bpf_attr attr = {
		.task_fd_query = {.pid = (uint32_t)pid, .fd = fd, .buf_len = sizeof(attached.event), .buf = (uintptr_t)attached.event}};

	if (bpf(BPF_TASK_FD_QUERY, &attr) < 0 || attr.task_fd_query.fd_type != BPF_FD_TYPE_TRACEPOINT)
		return;
	attached.id = attr.task_fd_query.prog_id;
	for (size_t i = 0; i < ret->len; i++)
		if (ret->data[i].id == attached.id && !strcmp(ret->data[i].event, attached.event))
			return; /* the same on another CPU */
	if (!look_at(&attached))
		return;
	cleanup_free char *path = mem_printf("/proc/%d/comm", (int)pid);
	proc_read_line(path, attached.comm, sizeof(attached.comm));
	vec_push(ret, attached);
}

/* Looks at those of its descriptors that are perf events. */
static void ask_process(pid_t pid, struct bpf_attached_list *ret)
{
	cleanup_free char *path = mem_printf("/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char target[32];
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!strcmp(target, "anon_inode:[perf_event]"))
			ask_descriptor(pid, (uint32_t)strtoul(entry->d_name, NULL, 10), ret);
	}
	if (folder)
		closedir(folder);
}

void bpf_attached_everywhere(struct bpf_attached_list *ret)
{
	struct pid_list processes = {0};

	error_free(proc_processes(&processes));
	for (size_t i = 0; i < processes.len; i++)
		if (processes.data[i] != getpid())
			ask_process(processes.data[i], ret);
	vec_deinit(&processes);
}

void bpf_attached_to(int fd, struct bpf_attached_list *ret)
{
	/* struct perf_event_query_bpf: ids_len, prog_cnt, ids. */
	uint32_t query[2 + MOST_PROGRAMS] = {MOST_PROGRAMS};
	const uint32_t *ids = query + 2;
	struct bpf_attached_list owners = {0};

	if (ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, query) < 0 || !query[1])
		return;
	bpf_attached_everywhere(&owners);
	for (uint32_t i = 0; i < query[1] && i < MOST_PROGRAMS; i++) {
		struct bpf_attached attached = {.id = ids[i]};
		if (!look_at(&attached))
			continue;
		for (size_t j = 0; j < owners.len; j++)
			if (owners.data[j].id == attached.id)
				attached = owners.data[j];
		vec_push(ret, attached);
	}
	vec_deinit(&owners);
}

void bpf_attached_add_text(const struct bpf_attached *attached, struct strbuf *out)
{
	strbuf_add_char(out, '\'');
	text_add_safe(out, attached->name, strnlen(attached->name, sizeof(attached->name)));
	strbuf_add_char(out, '\'');
	if (!attached->pid)
		return;
	strbuf_add_str(out, " of ");
	text_add_safe(out, attached->comm, strnlen(attached->comm, sizeof(attached->comm)));
	strbuf_printf(out, " (%d)", (int)attached->pid);
}
