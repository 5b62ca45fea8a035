/* Names of the registers that samples hold, one table an architecture. */
#include "arch/registers.h"

#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

static const char *const x86_names[REGISTER_LIMIT] = {
	"AX",
	"BX",
	"CX",
	"DX",
	"SI",
	"DI",
	"BP",
	"SP",
	"IP",
	"FLAGS",
	"CS",
	"SS",
	"DS",
	"ES",
	"FS",
	"GS",
	"R8",
	"R9",
	"R10",
	"R11",
	"R12",
	"R13",
	"R14",
	"R15",
	/* Vector registers take two numbers each, from 32 on. */
	[32] = "XMM0",
	"XMM0",
	"XMM1",
	"XMM1",
	"XMM2",
	"XMM2",
	"XMM3",
	"XMM3",
	"XMM4",
	"XMM4",
	"XMM5",
	"XMM5",
	"XMM6",
	"XMM6",
	"XMM7",
	"XMM7",
	"XMM8",
	"XMM8",
	"XMM9",
	"XMM9",
	"XMM10",
	"XMM10",
	"XMM11",
	"XMM11",
	"XMM12",
	"XMM12",
	"XMM13",
	"XMM13",
	"XMM14",
	"XMM14",
	"XMM15",
	"XMM15",
};

static const char *const arm64_names[REGISTER_LIMIT] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15", "x16",
	"x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr",  "sp",	 "pc",	[46] = "vg",
};

static const char *const arm_names[REGISTER_LIMIT] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "fp", "ip", "sp", "lr", "pc",
};

static const char *const riscv_names[REGISTER_LIMIT] = {
	"pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
	"a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

static const struct {
	const char *prefix; /* of the machine name */
	const char *const *names;
} register_tables[] = {
	{"x86", x86_names},   {"i386", x86_names},	{"i486", x86_names},	{"i586", x86_names}, {"i686", x86_names},
	{"amd64", x86_names}, {"aarch64", arm64_names}, {"arm64", arm64_names}, {"arm", arm_names},  {"riscv", riscv_names},
};

const char *register_name(const char *arch, unsigned int number)
{
	struct utsname here;
	if (!arch && uname(&here) == 0)
		arch = here.machine;
	if (!arch || number >= REGISTER_LIMIT)
		return NULL;
	for (size_t i = 0; i < sizeof(register_tables) / sizeof(*register_tables); i++)
		if (strncmp(arch, register_tables[i].prefix, strlen(register_tables[i].prefix)) == 0)
			return register_tables[i].names[number];
	return NULL;
}
