/* Probes of BPF: the smallest program of each kind that perf has a use for is loaded (and, for tracing, attached: some architectures load
 * what they cannot attach). */
#include "base/cleanup.h"
#include "base/formats/btf.h"
#include "base/text.h"
#include "kernel/bpf/bpf_attached.h"
#include "kernel/capability/capability_internal.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char btf_path[] = "/sys/kernel/btf/vmlinux";

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	long status = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return status < 0 ? -errno : (int)status;
}

/* LINUX_VERSION_CODE of the running kernel, which kernels before 5.0 want to see in kprobe programs. */
static uint32_t kernel_version(void)
{
	struct utsname names;
	unsigned int major = 0, minor = 0, patch = 0;

	uname(&names);
	sscanf(names.release, "%u.%u.%u", &major, &minor, &patch);
	return major << 16 | minor << 8 | (patch > 255 ? 255 : patch);
}

/* Loads "return 0". A descriptor or -errno. */
static int load_program(enum bpf_prog_type type, enum bpf_attach_type attach, uint32_t btf_id)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = type,
			       .insn_cnt = sizeof(code) / sizeof(code[0]),
			       .insns = (uintptr_t)code,
			       .license = (uintptr_t) "GPL",
			       .kern_version = kernel_version(),
			       .expected_attach_type = attach,
			       .attach_btf_id = btf_id};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* Loads and attaches a program at the entry of a function that nobody calls but tests. */
static int try_tracing(void)
{
	static const char *const functions[] = {"bpf_fentry_test1", "do_nanosleep"};
	struct strbuf types = {0};
	struct btf btf;
	uint32_t id = 0;
	int status = proc_read_file(AT_FDCWD, btf_path, &types);

	btf_init(&btf, types.data, types.len, false);
	for (size_t i = 0; !id && i < sizeof(functions) / sizeof(functions[0]); i++)
		id = btf_find(&btf, BTF_FUNCTION, functions[i]);
	btf_deinit(&btf);
	strbuf_deinit(&types);
	if (status < 0)
		return status;
	if (!id)
		return -ENOENT;
	cleanup_close int program = load_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, id);
	if (program < 0)
		return program;
	union bpf_attr attr = {.raw_tracepoint.prog_fd = (uint32_t)program};
	cleanup_close int link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	return link < 0 ? link : 0;
}

#ifdef HAVE_BPF
enum { BUILT_IN = true };
#else
enum { BUILT_IN = false };
#endif

/* Loads a program of each kind that does nothing. The one for entries of functions is attached as well, to a function that nobody calls
 * but tests. */
void probe_bpf(struct capability_context *context, struct capability_result *ret)
{
	static const struct {
		const char *name;
		enum bpf_prog_type type;
	} kinds[] = {
		{"tracepoint", BPF_PROG_TYPE_TRACEPOINT}, {"raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT},
		{"kprobe", BPF_PROG_TYPE_KPROBE},	  {"perf_event", BPF_PROG_TYPE_PERF_EVENT},
		{"tracing", BPF_PROG_TYPE_TRACING},
	};
	struct strbuf can = {0}, cannot = {0};
	int first = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool tracing = kinds[i].type == BPF_PROG_TYPE_TRACING;
		int status = tracing ? try_tracing() : load_program(kinds[i].type, 0, 0);
		if (!tracing && status >= 0)
			close(status);
		struct strbuf *list = status < 0 ? &cannot : &can;
		strbuf_printf(list, "%s%s", list->len ? ", " : "", kinds[i].name);
		first = status < 0 && !first ? status : first;
		capability_fact_status(ret, kinds[i].name, status < 0 ? status : 0);
	}
	capability_fact(ret, "built_in", "%s", BUILT_IN ? "true" : "false");
	if (!cannot.len && !BUILT_IN) {
		capability_found(ret, CAPABILITY_LIMITED, "%s can be loaded, but this perf was built without any (clang, bpftool, libbpf)",
				 strbuf_str(&can));
	} else if (!cannot.len) {
		capability_found(ret, CAPABILITY_OK, "%s", strbuf_str(&can));
	} else if (can.len) {
		capability_found(ret, CAPABILITY_LIMITED, "%s; not %s", strbuf_str(&can), strbuf_str(&cannot));
		capability_cost(ret, "what needs these kinds; recording every event does instead, at more cost");
	} else if (first == -EPERM || first == -EACCES) {
		capability_found(ret, CAPABILITY_MISSING, "only for root and CAP_BPF with CAP_PERFMON");
		capability_remedy(ret, "sudo perf …");
	} else {
		capability_found(ret, CAPABILITY_MISSING, "this kernel loads none: %s", strerror(-first));
	}
	strbuf_deinit(&can);
	strbuf_deinit(&cannot);
}

void probe_btf(struct capability_context *context, struct capability_result *ret)
{
	struct strbuf types = {0};
	struct btf btf;
	int status = proc_read_file(AT_FDCWD, btf_path, &types);

	btf_init(&btf, types.data, types.len, false);
	size_t count = btf.names.len;
	btf_deinit(&btf);

	capability_fact(ret, "types", "%zu", count);
	if (status == -ENOENT)
		capability_found(ret, CAPABILITY_MISSING,
				 "this kernel has no type information (CONFIG_DEBUG_INFO_BTF), or /sys is not "
				 "mounted");
	else if (status < 0)
		capability_found(ret, CAPABILITY_MISSING, "%s: %s", btf_path, strerror(-status));
	else if (!count)
		capability_found(ret, CAPABILITY_MISSING, "%s is damaged", btf_path);
	else
		capability_found(ret, CAPABILITY_OK, "%s, %zu types", btf_path, count);
	strbuf_deinit(&types);
}

/* Programs of others at tracepoints, which may drop events before anyone sees them. */
/* The program that walks stacks looks up what is mapped as kernels do since 6.1. */
void probe_stack_auto(struct capability_context *context, struct capability_result *ret)
{
	enum { FIRST_KERNEL = 6 << 16 | 1 << 8 };
	bool possible = BUILT_IN && kernel_version() >= FIRST_KERNEL && !context->bpf_absent && !context->bpf_blocked;
	cleanup_close int program = possible ? load_program(BPF_PROG_TYPE_PERF_EVENT, 0, 0) : -ENOSYS;

	capability_fact(ret, "bpf", "%s", program >= 0 ? "true" : "false");
	if (program >= 0) {
		capability_found(ret, CAPABILITY_OK, "unwound in the kernel, by a BPF program");
		return;
	}
	probe_stack_dwarf(context, ret);
	if (ret->state != CAPABILITY_OK)
		return;
	capability_found(ret, CAPABILITY_LIMITED, "copied by the kernel and unwound by the recorder");
	capability_cost(ret, "more CPU time and larger buffers than a BPF program needs");
}

void probe_bpf_attached(struct capability_context *context, struct capability_result *ret)
{
	struct bpf_attached_list programs = {0};

	bpf_attached_everywhere(&programs);
	capability_fact(ret, "programs", "%zu", programs.len);
	if (!programs.len) {
		capability_found(ret, CAPABILITY_OK, "no process whose descriptors this user may see has one at a tracepoint");
		return;
	}
	struct strbuf text = {0};
	for (size_t i = 0; i < programs.len; i++) {
		strbuf_add_str(&text, i ? ", " : "");
		bpf_attached_add_text(&programs.data[i], &text);
		strbuf_add_str(&text, " at ");
		text_add_safe(&text, programs.data[i].event, strnlen(programs.data[i].event, sizeof(programs.data[i].event)));
	}
	capability_found(ret, CAPABILITY_LIMITED, "%s", strbuf_str(&text));
	strbuf_deinit(&text);
	vec_deinit(&programs);
}
