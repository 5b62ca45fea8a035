/* A BPF program whose every run is one event bpf_trace:bpf_trace_printk, for who measures BPF programs.
 *
 *	bpftarget COMMAND…    loads it, and runs COMMAND with its number in place of the word @; its descriptor is 9
 *	bpftarget N           in that command: runs it N times
 *	bpftarget plain N     runs another one of the same code N times */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTOR = 9, PRINTK = 6 };

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* int work(void *c) */
static int load_types(void)
{
	static const char names[] = "\0int\0c\0work";
	static struct {
		struct btf_header head;
		struct btf_type integer;
		uint32_t encoding;
		struct btf_type pointer, prototype;
		struct btf_param parameter;
		struct btf_type function;
		char names[sizeof(names)];
	} __attribute__((packed)) all = {
		.head = {.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(struct btf_header), .str_len = sizeof(names)},
		.integer = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
		.encoding = BTF_INT_SIGNED << 24 | 32,
		.pointer = {.info = BTF_KIND_PTR << 24},
		.prototype = {.info = BTF_KIND_FUNC_PROTO << 24 | 1, .type = 1},
		.parameter = {.name_off = 5, .type = 2},
		.function = {.name_off = 7, .info = BTF_KIND_FUNC << 24, .type = 3},
	};
	memcpy(all.names, names, sizeof(names));
	all.head.type_len = all.head.str_off = offsetof(__typeof__(all), names) - sizeof(all.head);
	union bpf_attr attr = {.btf = (uintptr_t)&all, .btf_size = sizeof(all)};
	return (int)bpf(BPF_BTF_LOAD, &attr);
}

static int load(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8, .imm = 'x'},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 2},
		{.code = BPF_JMP | BPF_CALL, .imm = PRINTK},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 2},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct bpf_func_info function = {.type_id = 4};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_XDP,
			       .insns = (uintptr_t)code,
			       .insn_cnt = sizeof(code) / sizeof(code[0]),
			       .license = (uintptr_t) "GPL",
			       .prog_name = "work",
			       .prog_btf_fd = load_types(),
			       .func_info_rec_size = sizeof(function),
			       .func_info = (uintptr_t)&function,
			       .func_info_cnt = 1};
	int fd = (int)bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0) {
		perror("bpftarget: BPF_PROG_LOAD");
		exit(77);
	}
	return fd;
}

static int run(int fd, int times)
{
	static char data[64];
	for (int i = 0; i < times; i++) {
		union bpf_attr attr = {.test = {.prog_fd = fd, .data_in = (uintptr_t)data, .data_size_in = sizeof(data), .repeat = 1}};
		if (bpf(BPF_PROG_TEST_RUN, &attr)) {
			perror("bpftarget: BPF_PROG_TEST_RUN");
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	char number[16];
	if (argc == 2 && atoi(argv[1]))
		return run(DESCRIPTOR, atoi(argv[1]));
	if (argc == 3 && !strcmp(argv[1], "plain"))
		return run(load(), atoi(argv[2]));
	int fd = load();
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info}};
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) || dup2(fd, DESCRIPTOR) < 0)
		return 1;
	snprintf(number, sizeof(number), "%u", info.id);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "@"))
			argv[i] = number;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
