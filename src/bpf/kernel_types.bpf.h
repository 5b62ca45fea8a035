/* The parts of the kernel's structures that our BPF programs read, so that no vmlinux.h is needed to build them. Where a member really is
 * gets found when a program is loaded (CO-RE): only names and types count here, order and size don't. Names as of Linux 5.13 to 6.18. */
#pragma once

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, ax, r10, r8, r9, bx, cx, bp, orig_ax, ip, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	unsigned long long regs[31], sp, pc, orig_x0;
	int syscallno;
};
#else
#error "BPF programs are written for x86-64 and arm64: build with -Dbpf=disabled"
#endif

struct thread_info {
	unsigned int status;
	unsigned long flags;
};

struct qstr {
	unsigned long long hash_len;
	const unsigned char *name;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev, i_generation;
	unsigned long i_ino;
	long long i_size;
	struct super_block *i_sb;
};

struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	unsigned int d_flags;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

/* Since Linux 6.1. */
struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	unsigned long arg_start, arg_end, env_start, env_end;
	struct maple_tree mm_mt;
	mm_context_t context;
};

/* Linux 6.4 to 6.12. */
struct mm_struct___counted {
	int mm_lock_seq;
};

typedef struct {
	unsigned int sequence;
} seqcount_t;

/* Since Linux 6.13. */
struct mm_struct___sequenced {
	seqcount_t mm_lock_seq;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#elif defined(__TARGET_ARCH_arm64)
	struct {
		unsigned long tp_value;
	} uw;
#endif
};

struct task_struct {
	struct thread_info thread_info;
	struct thread_struct thread;
	int pid;
	int tgid;
	int exit_code;
	unsigned int flags;
	char comm[16];
	struct files_struct *files;
	struct mm_struct *mm;
	const struct cred *cred;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	void *perf_event_ctxp;
};

/* Before Linux 6.2. */
struct task_struct___contexts {
	void *perf_event_ctxp[2];
};

typedef struct {
	int64_t counter;
} atomic64_t;

struct mutex {
	atomic64_t owner;
};

struct rw_semaphore {
	atomic64_t owner;
};

/* tid_entry has no name in the kernel; where its members are is found all the same. */
struct perf_sample_data {
	unsigned long long period, time, id, ip, addr, txn, phys_addr, data_page_size, code_page_size;
	union perf_sample_weight weight;
	union perf_mem_data_src data_src;
	struct {
		unsigned int pid, tid;
	} tid_entry;
};

struct perf_event {
	unsigned long long id;
	struct perf_event *parent;
};

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
	struct perf_event *event;
};

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop
