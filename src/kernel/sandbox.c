/* Landlock rules and a seccomp filter (sandbox.h). The filter is a list of comparisons with the call's number, so that it needs no library:
 *
 *	foreign architecture ─► EPERM     own kill() ─► allow
 *	one of the list      ─► EPERM     else       ─► allow
 *
 * Sources: linux/landlock.h, linux/seccomp.h, Documentation/userspace-api/landlock.rst. */
#include "kernel/sandbox.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock ---- */

/* Numbers of rights by the version that brought them; older headers lack the newer ones. */
enum {
	FILES = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG,
	WRITES_1 = FILES | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
		   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
	WRITES_2 = 1 << 13, /* REFER */
	WRITES_3 = 1 << 14, /* TRUNCATE */
};

int sandbox_landlock_version(void)
{
	long version = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return version > 0 ? (int)version : 0;
}

/* A path that isn't there is passed over: nothing can be written below it either. */
static void allow_below(int ruleset, const char *path, uint64_t rights)
{
	cleanup_close int place = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	if (place < 0 || fstat(place, &status))
		return;
	if (!S_ISDIR(status.st_mode)) /* other rights would be refused */
		rights &= LANDLOCK_ACCESS_FS_WRITE_FILE | WRITES_3;
	struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = place};
	syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* All writing is handled, that is forbidden, but for what the rules allow. False where Landlock is missing or off. */
static bool sandbox_files(const struct sandbox_options *options)
{
	int version = sandbox_landlock_version();
	static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/pts", "/dev/shm"};
	uint64_t newer = (version >= 2 ? WRITES_2 : 0) | (version >= 3 ? WRITES_3 : 0), rights = WRITES_1 | newer;
	struct landlock_ruleset_attr handled = {.handled_access_fs = rights};
	if (!version)
		return false;
	cleanup_close int ruleset = (int)syscall(__NR_landlock_create_ruleset, &handled, sizeof(handled.handled_access_fs), 0);
	if (ruleset < 0)
		return false;
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		allow_below(ruleset, devices[i], LANDLOCK_ACCESS_FS_WRITE_FILE | (newer & WRITES_3));
	for (const char *const *path = options->writable; path && *path; path++)
		allow_below(ruleset, *path, FILES | newer);
	if (options->links)
		allow_below(ruleset, options->links, FILES | LANDLOCK_ACCESS_FS_MAKE_SYM | newer);
	return !syscall(__NR_landlock_restrict_self, ruleset, 0);
}

/* ---- seccomp ---- */

/* Newer than the headers may be; the same number on all architectures. */
enum { MOUNT_SETATTR = 442, FCHMODAT2 = 452 };

static const int refused[] = {
	SYS_execve,
	SYS_execveat,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_open,
	SYS_pidfd_send_signal,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks by it */
	SYS_ptrace,
#endif
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_open_by_handle_at,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_move_mount,
	SYS_fsopen,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_sethostname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_acct,
	SYS_quotactl,
	SYS_kexec_file_load,
	MOUNT_SETATTR,
	FCHMODAT2,
	SYS_fchown,
	SYS_fchownat,
	SYS_fchmodat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	SYS_truncate,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_capset,
#ifdef SYS_ioperm
	SYS_ioperm,
	SYS_iopl,
#endif
#ifdef SYS_chmod
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
#endif
};

static const int network[] = {SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen};

typedef VEC(struct sock_filter) steps;

enum { REFUSE = SECCOMP_RET_ERRNO | EPERM };

/* The call fails with EPERM. The accumulator holds the call's number, before and behind. */
static void refuse(steps *steps, int number)
{
	vec_push(steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
}

/* The call passes with our own process id as its first argument only. */
static void refuse_others(steps *steps, int number)
{
	vec_push(steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
	vec_push(steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
}

/* The call doesn't pass with this second argument. */
static void refuse_second(steps *steps, int number, uint32_t argument)
{
	vec_push(steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])));
	vec_push(steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0, 1));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	vec_push(steps, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

/* False where this kernel or this build has no filters. */
static bool sandbox_syscalls(const struct sandbox_options *options)
{
	const struct arch *own = arch_own();
	steps steps = {0};
	if (!sandbox_has_filters())
		return false;
	vec_push(&steps, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
	vec_push(&steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own->audit, 1, 0));
	vec_push(&steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	vec_push(&steps, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	if (own->foreign_calls) {
		vec_push(&steps, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, own->foreign_calls, 0, 1));
		vec_push(&steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		refuse(&steps, refused[i]);
	for (size_t i = 0; !options->network && i < sizeof(network) / sizeof(*network); i++)
		refuse(&steps, network[i]);
	if (!options->new_files)
		refuse(&steps, SYS_fchmod);
	if (!options->bpf)
		refuse(&steps, SYS_bpf);
	refuse_second(&steps, SYS_ioctl, TIOCSTI);
	refuse_second(&steps, SYS_ioctl, TIOCLINUX);
	refuse_others(&steps, SYS_kill);
	refuse_others(&steps, SYS_tgkill);
	refuse(&steps, SYS_tkill);
	vec_push(&steps, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	struct sock_fprog program = {.len = (unsigned short)steps.len, .filter = steps.data};
	bool done = !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	vec_deinit(&steps);
	return done;
}

bool sandbox_has_filters(void)
{
	const struct arch *own = arch_own();
	return own && own->audit && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

struct sandbox_state sandbox_enter(const struct sandbox_options *options)
{
	struct sandbox_state state = {0};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return state;
	state.files = sandbox_files(options);
	state.calls = sandbox_syscalls(options);
	return state;
}
