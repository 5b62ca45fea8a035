/* x86: CPUID leaf 1, ECX bit 31, says that there is a hypervisor; leaf 0x40000000 has its signature in EBX, ECX, EDX. Elsewhere: Xen's
 * /sys/hypervisor, the device tree's node for a hypervisor, the device tree and the firmware's tables of QEMU's machines. */
#include "kernel/hardware/hypervisor.h"

#include "base/text.h"
#include "kernel/proc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* What the processor says; a signature that nobody knows is shown as it is, without control characters, in `buffer`. */
static const char *by_cpu(char *buffer, size_t size)
{
	static const char *const names[][2] = {
		{"KVMKVMKVM", "KVM"},		{"Linux KVM Hv", "KVM"},   {"VMwareVMware", "VMware"},
		{"Microsoft Hv", "Hyper-V"},	{"XenVMMXenVMM", "Xen"},   {"TCGTCGTCGTCG", "QEMU (TCG)"},
		{"VBoxVBoxVBox", "VirtualBox"}, {"bhyve bhyve ", "bhyve"}, {"ACRNACRNACRN", "ACRN"},
	};
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 31)))
		return NULL;
	char signature[13] = "";
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(signature, names[i][0]))
			return names[i][1];
	struct strbuf safe = {0};
	text_add_safe(&safe, signature, strlen(signature));
	snprintf(buffer, size, "%s", *signature ? strbuf_str(&safe) : "unknown");
	strbuf_deinit(&safe);
	return buffer;
}
#else
static const char *by_cpu(char *buffer, size_t size)
{
	return NULL;
}
#endif

/* What files of the machine say. The first sign that fits counts. */
static const char *by_file(char *buffer, size_t size)
{
	static const struct {
		const char *path, *text, *name;
	} signs[] = {
		{"/sys/hypervisor/type", "xen", "Xen"},
		{"/sys/firmware/devicetree/base/hypervisor/compatible", "linux,kvm", "KVM"},
		{"/sys/firmware/devicetree/base/hypervisor/compatible", "xen,xen", "Xen"},
		{"/sys/class/dmi/id/sys_vendor", "QEMU", "QEMU"},
		{"/sys/class/dmi/id/sys_vendor", "VMware", "VMware"},
		{"/sys/class/dmi/id/product_name", "KVM", "KVM"},
		{"/sys/firmware/devicetree/base/compatible", "linux,dummy-virt", "QEMU"},
	};
	char line[128];

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (proc_read_line(signs[i].path, line, sizeof(line)) && str_starts_with(line, signs[i].text))
			return signs[i].name;
	return NULL;
}

const char *hypervisor_name(char *buffer, size_t size)
{
	const char *name = by_cpu(buffer, size);

	return name ? name : by_file(buffer, size);
}
