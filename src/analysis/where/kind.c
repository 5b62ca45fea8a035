/* Which functions of the kernel are about what. Names of several kernels stand side by side (6.1 and newer were looked at; older ones share
 * most): one that a kernel lacks is never met. What compilers append (".isra.0", ".constprop.0") doesn't count. */
#include "analysis/where/kind.h"

#include <string.h>

struct kind_row {
	const char *id, *title;
	bool has_cause, may_be_idle;
};

static const struct kind_row kinds[WHERE_KINDS] = {
	[WHERE_CPU] = {"cpu", "CPU"},
	[WHERE_QUEUE] = {"queue", "Waiting for a CPU"},
	[WHERE_DISK] = {"disk", "Disk"},
	[WHERE_FAULT] = {"fault", "Page fault"},
	[WHERE_NETWORK] = {"network", "Network", .has_cause = true, .may_be_idle = true},
	[WHERE_LOCK] = {"lock", "Lock", .has_cause = true, .may_be_idle = true},
	[WHERE_KERNEL_LOCK] = {"kernel_lock", "Kernel lock", .has_cause = true},
	[WHERE_PIPE] = {"pipe", "Pipe", .has_cause = true, .may_be_idle = true},
	[WHERE_TIMER] = {"timer", "Sleep", .may_be_idle = true},
	[WHERE_CHILD] = {"child", "Child", .has_cause = true, .may_be_idle = true},
	[WHERE_POLL] = {"poll", "Poll", .has_cause = true, .may_be_idle = true},
	[WHERE_SIGNAL] = {"signal", "Signal", .has_cause = true, .may_be_idle = true},
	[WHERE_STOPPED] = {"stopped", "Stopped", .has_cause = true, .may_be_idle = true},
	[WHERE_OTHER] = {"other", "Other", .has_cause = true, .may_be_idle = true},
	[WHERE_UNKNOWN] = {"unknown", "Unknown", .has_cause = true, .may_be_idle = true},
};

const char *where_kind_id(enum where_kind kind)
{
	return kinds[kind].id;
}

const char *where_kind_title(enum where_kind kind)
{
	return kinds[kind].title;
}

bool where_kind_has_cause(enum where_kind kind)
{
	return kinds[kind].has_cause;
}

bool where_kind_may_be_idle(enum where_kind kind)
{
	return kinds[kind].may_be_idle;
}

/* A name that ends with * stands for all that begin so. What is asked first wins where a stack has several at one depth: none has. */
static const struct {
	const char *names[32]; /* end with NULL */
	enum where_kind kind;
} tellers[] = {
	{{"futex_wait_queue", "futex_wait_queue_me", "futex_do_wait", "futex_wait_multiple", "rt_mutex_slowlock*", "__rt_mutex_slowlock*",
	  "rt_mutex_wait_proxy_lock", "futex_lock_pi", "do_semtimedop", "__do_semtimedop", "locks_lock_inode_wait", "flock_lock_inode_wait",
	  "posix_lock_inode_wait", "fcntl_setlk"},
	 WHERE_LOCK},
	{{"pipe_read",
	  "pipe_write",
	  "anon_pipe_read",
	  "anon_pipe_write",
	  "pipe_wait_readable",
	  "pipe_wait_writable",
	  "wait_for_partner",
	  "fifo_open",
	  "unix_stream_data_wait",
	  "unix_stream_read_generic",
	  "unix_wait_for_peer",
	  "unix_accept",
	  "unix_stream_connect",
	  "unix_dgram_recvmsg",
	  "__unix_dgram_recvmsg",
	  "do_msgrcv",
	  "do_msgsnd",
	  "wq_sleep",
	  "eventfd_read",
	  "n_tty_read",
	  "n_tty_write",
	  "tty_write",
	  "fuse_dev_do_read",
	  "request_wait_answer"},
	 WHERE_PIPE},
	{{"sk_wait_data",    "tcp_recvmsg*",	      "tcp_sendmsg*",	       "sk_stream_wait_memory", "sk_stream_wait_connect",
	  "inet_csk_accept", "inet_stream_connect",   "__inet_stream_connect", "inet_wait_for_connect", "__skb_wait_for_more_packets",
	  "__skb_recv_udp",  "skb_recv_datagram",     "netlink_recvmsg",       "packet_recvmsg",	"sock_alloc_send_pskb",
	  "tls_sw_recvmsg",  "rpc_wait_bit_killable", "__rpc_execute",	       "nfs_wait_bit_killable", "vsock_connectible_recvmsg",
	  "cifs_*"},
	 WHERE_NETWORK},
	{{"do_nanosleep", "hrtimer_nanosleep", "msleep*", "usleep_range*"}, WHERE_TIMER},
	{{"do_epoll_wait", "ep_poll", "do_sys_poll", "do_poll*", "do_select", "core_sys_select", "poll_schedule_timeout"}, WHERE_POLL},
	{{"do_wait", "kernel_wait4", "kernel_waitid", "wait_for_vfork_done", "kernel_clone"}, WHERE_CHILD},
	{{"do_sigtimedwait", "sigsuspend", "do_pause", "__x64_sys_pause", "signalfd_dequeue"}, WHERE_SIGNAL},
	{{"ptrace_stop", "do_signal_stop", "ptrace_do_notify", "do_freezer_trap", "get_signal"}, WHERE_STOPPED},
	{{"io_schedule",	  "io_schedule_timeout",     "blk_io_schedule",	 "submit_bio_wait",
	  "folio_wait_bit*",	  "wait_on_page_bit*",	     "__wait_on_buffer", "out_of_line_wait_on_bit*",
	  "jbd2_log_wait_commit", "wait_transaction_locked", "rq_qos_wait",	 "blk_mq_get_tag",
	  "blk_execute_rq",	  "io_cqring_wait",	     "read_events",	 "xlog_wait*",
	  "xfs_buf_iowait",	  "balance_dirty_pages*",    "md_flush_request", "raid*",
	  "wait_barrier",	  "dio_await_completion",    "bio_await*"},
	 WHERE_DISK},
	{{"__mutex_lock*", "mutex_lock*", "rwsem_down_*", "down_read*", "down_write*", "__down*", "percpu_rwsem_wait", "percpu_down_write",
	  "__lock_page*", "__folio_lock*", "wait_on_inode", "synchronize_rcu*", "__wait_rcu_gp", "synchronize_srcu*", "__synchronize_srcu"},
	 WHERE_KERNEL_LOCK},
};

/* Frames that are on the way out whatever is waited for. */
static const char *const neutral[] = {"__schedule",
				      "schedule",
				      "__traceiter_*",
				      "perf_trace_*",
				      "trace_*",
				      "__perf_event_*",
				      "perf_*",
				      "schedule_timeout*",
				      "schedule_hrtimeout*", /* poll() and its kin are in it also without a timeout */
				      "wait_for_completion*",
				      "__wait_for_common",
				      "preempt_schedule*",
				      "__cond_resched",
				      "prepare_to_wait*",
				      "wait_woken",
				      NULL};
/* Entries: nothing behind them tells. */
static const char *const entries[] = {"do_syscall_64",
				      "entry_SYSCALL*",
				      "x64_sys_call",
				      "el0_svc*",
				      "do_el0_svc",
				      "invoke_syscall*",
				      "ret_from_fork*",
				      "kthread",
				      "exit_to_user_mode*",
				      "irqentry_exit*",
				      "syscall_exit_to_user_mode*",
				      NULL};
static const char *const faults[] = {"handle_mm_fault",	   "__handle_mm_fault", "do_user_addr_fault", "exc_page_fault",
				     "asm_exc_page_fault", "do_page_fault",	"do_mem_abort",	      NULL};

static bool is_name(const char *name, const char *pattern)
{
	size_t length = strcspn(pattern, "*");
	return !strncmp(name, pattern, length) && (pattern[length] == '*' || !name[length] || name[length] == '.');
}

static bool is_one_of(const char *name, const char *const *patterns)
{
	while (*patterns && !is_name(name, *patterns))
		patterns++;
	return *patterns;
}

static bool tells(const char *name, enum where_kind *ret)
{
	for (size_t i = 0; i < sizeof(tellers) / sizeof(*tellers); i++) {
		for (const char *const *pattern = tellers[i].names; *pattern; pattern++) {
			if (!is_name(name, *pattern))
				continue;
			*ret = tellers[i].kind;
			return true;
		}
	}
	return false;
}

/* A disk, a lock of the kernel or nothing in particular, in the middle of a page fault. */
static bool may_be_of_fault(enum where_kind kind)
{
	return kind == WHERE_DISK || kind == WHERE_KERNEL_LOCK || kind == WHERE_OTHER;
}

bool where_is_of_fault(const char *const *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (functions[i] && is_one_of(functions[i], faults))
			return true;
	return false;
}

static enum where_kind of_fault(enum where_kind kind, const char *const *functions, size_t count)
{
	return may_be_of_fault(kind) && where_is_of_fault(functions, count) ? WHERE_FAULT : kind;
}

enum where_kind where_kind_of(const char *const *functions, size_t count, size_t *ret_at)
{
	enum where_kind kind;
	bool named = false;
	size_t first = count;
	for (size_t i = 0; i < count; i++) {
		if (!functions[i])
			continue;
		named = true;
		if (tells(functions[i], &kind)) {
			*ret_at = i;
			return of_fault(kind, functions, count);
		}
		if (first == count && !is_one_of(functions[i], neutral) && !is_one_of(functions[i], entries))
			first = i;
	}
	*ret_at = first;
	return named ? of_fault(WHERE_OTHER, functions, count) : WHERE_UNKNOWN;
}

const char *where_syscall_of(const char *function)
{
	static const char *const prefixes[] = {"__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_", "__do_sys_", "ksys_"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return function + strlen(prefixes[i]);
	return NULL;
}
