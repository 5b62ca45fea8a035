/* The files behind descriptors: an id for each, and once what it means. */
#pragma once

#include "bpf/syscalls/syscalls_state.bpf.h"

struct file_scratch {
	struct file_record record;
	char names[4096 + SYSCALLS_NAME];
};

/* Files that were told, by id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, uint8_t);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct file_scratch);
} file_scratches SEC(".maps");

static __always_inline struct file_scratch *get_file_scratch(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&file_scratches, &zero);
}

/* Adds the name of a dentry at `at`; returns where the next one goes. A function that the verifier looks at by itself, so that the loop
 * around it stays simple: so are the others that take no pointers. */
__noinline uint32_t add_name(uint32_t at, uint64_t address)
{
	struct file_scratch *scratch = get_file_scratch();
	struct dentry *dentry = (struct dentry *)address;
	long length;

	if (!scratch || at > sizeof(scratch->names) - SYSCALLS_NAME)
		return at;
	length = bpf_probe_read_kernel_str(scratch->names + at, SYSCALLS_NAME, BPF_CORE_READ(dentry, d_name.name));
	return length > 0 ? at + (uint32_t)length : at;
}

/* The names from a file up to the root, over mounts; returns how many bytes. */
__noinline uint32_t add_path(uint64_t dentry_address, uint64_t mount_address)
{
	struct dentry *dentry = (struct dentry *)dentry_address;
	struct vfsmount *mounted = (struct vfsmount *)mount_address;
	uint32_t at = 0;

	for (int i = 0; i < SYSCALLS_PATH_NAMES; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent), *root = BPF_CORE_READ(mounted, mnt_root);
		if (dentry != root) {
			at = add_name(at, (uint64_t)dentry);
			if (parent == dentry)
				break;
			dentry = parent;
			continue;
		}
		struct mount *mount = (void *)mounted - bpf_core_field_offset(struct mount, mnt);
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);
		if (above == mount)
			break;
		dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		mounted = (void *)above + bpf_core_field_offset(struct mount, mnt);
	}
	return at;
}

__noinline int tell_file(uint64_t id, uint64_t address)
{
	struct file_scratch *scratch = get_file_scratch();
	struct file *file = (struct file *)address;
	struct path path;
	struct inode *inode;
	uint32_t names;

	if (!scratch)
		return 0;
	bpf_core_read(&path, sizeof(path), &file->f_path);
	inode = BPF_CORE_READ(path.dentry, d_inode);
	scratch->record.header.type = SYSCALLS_RECORD_FILE;
	scratch->record.id = id;
	scratch->record.inode = BPF_CORE_READ(inode, i_ino);
	scratch->record.mode = BPF_CORE_READ(inode, i_mode);
	scratch->record.device = BPF_CORE_READ(inode, i_rdev);
	scratch->record.magic = BPF_CORE_READ(inode, i_sb, s_magic);
	scratch->record.deleted = !BPF_CORE_READ(path.dentry, d_hash.pprev);
	names = add_path((uint64_t)path.dentry, (uint64_t)path.mnt);
	if (names > sizeof(scratch->names))
		return 0;
	scratch->record.names = names;
	names = (names + 7) & ~7u;
	if (names > sizeof(scratch->names))
		return 0;
	scratch->record.header.size = sizeof(scratch->record) + names;
	send(scratch, sizeof(scratch->record) + names);
	return 0;
}

/* The id of a file: what it is called and where, so that it stays the same for all who have it open. Files without a place (anonymous
 * inodes) differ in the beginning of their names only. 0 when there is no such descriptor. */
static __always_inline uint64_t file_id(struct thread *thread, struct task_struct *task, uint64_t descriptor)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;
	struct path path = {};
	struct qstr name = {};
	uint64_t begin = 0, id;
	struct inode *inode = NULL;
	void *hashed = NULL;
	uint32_t number = descriptor;
	uint8_t one = 1;

	if (number >= table->max_fds || bpf_probe_read_kernel(&file, sizeof(file), table->fd + number) || !file)
		return 0;
	bpf_core_read(&path, sizeof(path), &file->f_path);
	bpf_core_read(&name, sizeof(name), &path.dentry->d_name);
	bpf_core_read(&inode, sizeof(inode), &path.dentry->d_inode);
	bpf_core_read(&hashed, sizeof(hashed), &path.dentry->d_hash.pprev);
	bpf_probe_read_kernel(&begin, sizeof(begin), name.name);
	id = (uint64_t)path.dentry * 0x9e3779b97f4a7c15u ^ (uint64_t)path.mnt;
	id = (id ^ id >> 32) * 0xd6e8feb86659fd93u ^ name.hash_len ^ begin;
	id = ((id ^ id >> 32) * 0xd6e8feb86659fd93u ^ (uint64_t)inode ^ (uint64_t)!hashed << 63) | 1;
	if (id == thread->seen[0] || id == thread->seen[1] || id == thread->seen[2] || id == thread->seen[3])
		return id;
	thread->seen[thread->next_seen++ & (SEEN_FILES - 1)] = id;
	if (bpf_map_lookup_elem(&files, &id))
		return id;
	bpf_map_update_elem(&files, &id, &one, BPF_ANY);
	tell_file(id, (uint64_t)file);
	return id;
}
