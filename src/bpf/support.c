/* What stands between us and BPF programs (support.h). The kernel's own answer is a bare EPERM or EINVAL, so what is commonly missing is
 * looked for first. */
#include "bpf/support.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "kernel/limits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

struct error *bpf_support_check(void)
{
#ifndef HAVE_BPF
	return error_new_kind(ERROR_UNSUPPORTED,
			      "this perf was built without BPF programs: build it where clang, bpftool and libbpf are installed");
#endif
	if (!limits_has_bpf())
		return error_new_kind(ERROR_PERMISSION, "loading BPF programs needs root, or the capabilities CAP_BPF and CAP_PERFMON");
	if (access(KERNEL_TYPES, R_OK) < 0)
		return error_new_kind(ERROR_UNSUPPORTED, "this kernel doesn't describe its types (no " KERNEL_TYPES
							 "): BPF programs need one built with CONFIG_DEBUG_INFO_BTF");
	return NULL;
}

struct error *bpf_support_explain(int error, const char *what)
{
	int number = error < 0 ? -error : error;

	if (number == EPERM || number == EACCES)
		return error_new_kind(ERROR_PERMISSION,
				      "the kernel refuses %s: it may be locked down, or sysctl kernel.unprivileged_bpf_disabled and the "
				      "capabilities CAP_BPF and CAP_PERFMON forbid it; try as root",
				      what);
	return error_system(number, "the kernel cannot take %s (-vv shows what it says; Linux 5.13 or newer is needed)", what);
}

#ifdef HAVE_BPF
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

void bpf_support_redirect_log(void)
{
	libbpf_set_print(log_line);
}
#else
void bpf_support_redirect_log(void)
{
}
#endif
