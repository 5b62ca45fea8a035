/* The texts of remedies. Sources: Documentation/admin-guide/sysctl/kernel.rst, Documentation/trace/ftrace.rst, prlimit(1), docker-run(1),
 * groupadd(8), usermod(8), newgrp(1), mount(8), and the manuals of the hypervisors. */
#include "kernel/fix.h"

#include "kernel/limits.h"

#include <string.h>

void fix_paranoid(struct strbuf *out, int level)
{
	strbuf_printf(out, "sudo sysctl kernel.perf_event_paranoid=%d", level);
}

void fix_tracefs_rights(struct strbuf *out, const char *tracefs)
{
	strbuf_printf(out,
		      "sudo groupadd -f -r tracing && sudo usermod -a -G tracing $(id -un) && "
		      "sudo mount -o remount,mode=750,gid=tracing %s && newgrp tracing",
		      tracefs);
}

/* Both settings may hide them: the sysctl, and for users without capabilities the level of perf_event_paranoid. */
void fix_kernel_addresses(struct strbuf *out)
{
	/* kallsyms_show_value(): level 0 of kptr_restrict shows them to those who may profile the kernel. */
	bool restricted = limits_kptr_restrict() > 0, paranoid = limits_paranoid() > 1;

	strbuf_add_str(out, "sudo sysctl");
	if (restricted || !paranoid)
		strbuf_add_str(out, " kernel.kptr_restrict=0");
	if (paranoid)
		strbuf_add_str(out, " kernel.perf_event_paranoid=1");
}

struct error *fix_error_of_hidden_addresses(void)
{
	struct strbuf remedy = {0};

	fix_kernel_addresses(&remedy);
	struct error *error = error_new_kind(ERROR_PERMISSION, "kernel addresses are hidden. To show them:  %s", strbuf_str(&remedy));
	strbuf_deinit(&remedy);
	return error;
}

void fix_mlock(struct strbuf *out, size_t kb)
{
	strbuf_printf(out, "sudo sysctl kernel.perf_event_mlock_kb=%zu", kb);
}

void fix_sample_rate(struct strbuf *out, uint64_t rate)
{
	strbuf_printf(out, "sudo sysctl kernel.perf_event_max_sample_rate=%llu", (unsigned long long)rate);
}

void fix_files(struct strbuf *out, size_t count)
{
	strbuf_printf(out, "sudo prlimit --pid $$ --nofile=%zu", count);
}

void fix_pmu(struct strbuf *out, const char *hypervisor)
{
	static const struct {
		const char *name, *command;
	} ways[] = {
		{"KVM", "on the host: start the guest with -cpu host,pmu=on (QEMU), <cpu mode='host-passthrough'/> (libvirt)"},
		{"VMware", "on the host: vpmc.enable = \"TRUE\" in the guest's .vmx file"},
		{"Hyper-V", "on the host: Set-VMProcessor GUEST -Perfmon @(\"pmu\")"},
		{"Xen", "on the host: vpmu=1 on the command line of the hypervisor"},
	};

	for (size_t i = 0; hypervisor && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, hypervisor))
			strbuf_add_str(out, ways[i].command);
}
