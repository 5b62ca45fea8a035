/* What stands between us and BPF programs (support.h). The kernel's own answer is a bare EPERM or EINVAL, so what is commonly missing is
 * looked for first. */
#include "bpf/support.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kernel/limits.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The kernel's own number (include/linux/errno.h), which bpf() hands out. */
enum { KERNEL_ENOTSUPP = 524 };

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

static struct error *check_rights(void)
{
#ifndef HAVE_BPF
	return error_new_kind(ERROR_UNSUPPORTED, "this perf was built without BPF support; building it requires clang, bpftool and libbpf");
#endif
	if (!limits_has_bpf())
		return error_new_kind(ERROR_PERMISSION, "loading BPF programs requires root, or the capabilities CAP_BPF and CAP_PERFMON");
	return NULL;
}

struct error *bpf_support_check(void)
{
	struct error *error = check_rights();

	if (!error && access(KERNEL_TYPES, R_OK) < 0)
		error = error_new_kind(ERROR_UNSUPPORTED, "this kernel has no type information (no " KERNEL_TYPES
							  "): BPF programs require CONFIG_DEBUG_INFO_BTF");
	return error;
}

/* How far the kernel is locked down ("integrity"), or "" where it is not, or doesn't tell. */
static void read_lockdown(struct strbuf *out)
{
	struct strbuf text = {0};

	if (proc_read_file(AT_FDCWD, "/sys/kernel/security/lockdown", &text) >= 0) {
		const char *chosen = strchr(strbuf_str(&text), '[');
		size_t length = chosen ? strcspn(chosen + 1, "]\n") : 0;
		if (length && strncmp(chosen, "[none]", 6) != 0)
			strbuf_add(out, chosen + 1, length);
	}
	strbuf_deinit(&text);
}

/* The rights are there: bpf_support_check() was asked before. */
static struct error *explain_refusal(const char *what)
{
	struct strbuf lockdown = {0};

	read_lockdown(&lockdown);
	struct error *error =
		lockdown.len ? error_new_kind(ERROR_UNSUPPORTED, "the kernel refuses %s, even to root: it is locked down (%s)", what,
					      strbuf_str(&lockdown))
			     : error_new_kind(ERROR_UNSUPPORTED,
					      "this kernel refuses %s to all users: its configuration or a security module forbids it; "
					      "'perf doctor bpf' lists the types that it supports",
					      what);
	strbuf_deinit(&lockdown);
	return error;
}

struct error *bpf_support_explain(int error, const char *what)
{
	int number = error < 0 ? -error : error;

	if (number == EPERM || number == EACCES)
		return explain_refusal(what);
	if (number == KERNEL_ENOTSUPP)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "this kernel does not support %s: BPF programs on functions require "
				      "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
				      what);
	return error_system(number, "the kernel rejected %s (-vv shows why; requires Linux 5.13)", what);
}

#ifdef HAVE_BPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int log_line(enum libbpf_print_level level, const char *format, va_list args)
{
	struct strbuf text = {0};

	if (log_level() < LOG_DEBUG)
		return 0;
	strbuf_vprintf(&text, format, args);
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	log_debug("%s", strbuf_str(&text));
	strbuf_deinit(&text);
	return 0;
}

struct error *bpf_support_begin(void)
{
	struct error *error = bpf_support_check();

	if (!error)
		libbpf_set_print(log_line);
	return error;
}

struct error *bpf_support_begin_at_tracepoints(void)
{
	struct error *error = check_rights();

	if (!error)
		libbpf_set_print(log_line);
	return error;
}

struct error *bpf_support_add_target(struct bpf_map *targets, int tid, const char *what)
{
	uint32_t key = (uint32_t)tid;
	uint8_t one = 1;
	int failure = bpf_map__update_elem(targets, &key, sizeof(key), &one, sizeof(one), BPF_ANY);
	return failure ? error_system(-failure, "%s of thread %d cannot be measured", what, tid) : NULL;
}

/* An element is removed when the next one is known: behind one that is gone the table would begin anew, at places that are empty by now. */
void bpf_support_empty(const struct bpf_map *map)
{
	size_t size = bpf_map__key_size(map);
	uint8_t *keys = mem_alloc(2 * size), *key = keys, *next = keys + size;
	bool more = !bpf_map__get_next_key(map, NULL, key, size);

	for (uint32_t left = 2 * bpf_map__max_entries(map); more && left; left--) {
		more = !bpf_map__get_next_key(map, key, next, size);
		bpf_map__delete_elem(map, key, size, 0);
		uint8_t *last = key;
		key = next;
		next = last;
	}
	free(keys);
}
#else
struct error *bpf_support_begin(void)
{
	return bpf_support_check();
}

struct error *bpf_support_begin_at_tracepoints(void)
{
	return check_rights();
}
#endif
