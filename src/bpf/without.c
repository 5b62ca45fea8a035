/* In place of the loaders in a build without BPF programs: opening one says so, and as nothing can be open the rest is never reached. */
#include "bpf/counters/program_counters.h"
#include "bpf/counters/task_counters.h"
#include "bpf/latency/function_latency.h"
#include "bpf/latency/run_queue.h"
#include "bpf/latency/slow_calls.h"
#include "bpf/leaks.h"
#include "bpf/lock_owners.h"
#include "bpf/off_cpu/off_cpu.h"
#include "bpf/probes/probe_cost.h"
#include "bpf/sample_filter.h"
#include "bpf/support.h"
#include "bpf/switches/switches.h"
#include "bpf/syscalls/syscalls.h"
#include "bpf/types_text.h"
#include "bpf/user_stacks.h"

#include <stdlib.h>

struct error *bpf_syscalls_open(const struct bpf_syscalls_options *options, struct bpf_syscalls **ret)
{
	return bpf_support_check();
}

void bpf_syscalls_close(struct bpf_syscalls *syscalls)
{
}

struct error *bpf_syscalls_add_target(struct bpf_syscalls *syscalls, pid_t id, enum syscalls_target target)
{
	abort();
}

struct error *bpf_syscalls_start(struct bpf_syscalls *syscalls)
{
	abort();
}

void bpf_syscalls_stop(struct bpf_syscalls *syscalls)
{
}

void bpf_syscalls_pause(struct bpf_syscalls *syscalls, bool pause)
{
}

const struct syscalls_record *bpf_syscalls_next(struct bpf_syscalls *syscalls)
{
	return NULL;
}

int bpf_syscalls_fd(const struct bpf_syscalls *syscalls)
{
	return -1;
}

uint64_t bpf_syscalls_lost(const struct bpf_syscalls *syscalls)
{
	return 0;
}

uint64_t bpf_syscalls_unsummed(const struct bpf_syscalls *syscalls)
{
	return 0;
}

bool bpf_syscalls_has_map(const struct bpf_syscalls *syscalls, const char *name, struct strbuf *ret_names)
{
	return false;
}

void bpf_syscalls_dump_map(const struct bpf_syscalls *syscalls, const char *name, struct strbuf *out)
{
}

bool bpf_syscalls_next_sum(struct bpf_syscalls *syscalls, bool first, struct syscall_sum_key *key, struct syscall_sum *ret,
			   struct syscall_histogram *ret_histogram)
{
	return false;
}

bool bpf_syscalls_next_error(struct bpf_syscalls *syscalls, bool first, struct syscall_errno_key *key, uint64_t *ret_count)
{
	return false;
}

struct error *bpf_slow_calls_open(const struct bpf_slow_calls_options *options, struct bpf_slow_calls **ret)
{
	return bpf_support_check();
}

void bpf_slow_calls_close(struct bpf_slow_calls *calls)
{
}

bool bpf_slow_calls_next(struct bpf_slow_calls *calls, struct slow_call *ret)
{
	return false;
}

uint64_t bpf_slow_calls_missed(const struct bpf_slow_calls *calls)
{
	return 0;
}

struct error *bpf_task_counters_open(const struct bpf_task_counters_options *options, struct bpf_task_counters **ret)
{
	return bpf_support_check();
}

void bpf_task_counters_close(struct bpf_task_counters *counters)
{
}

struct error *bpf_task_counters_add_event(struct bpf_task_counters *counters, uint32_t event, int cpu, int fd)
{
	abort();
}

struct error *bpf_task_counters_add_target(struct bpf_task_counters *counters, pid_t tid, const struct counters_target *target)
{
	abort();
}

struct error *bpf_task_counters_start(struct bpf_task_counters *counters)
{
	abort();
}

void bpf_task_counters_set_running(struct bpf_task_counters *counters, bool running)
{
}

void bpf_task_counters_update(struct bpf_task_counters *counters)
{
}

void bpf_task_counters_read(struct bpf_task_counters *counters, uint32_t event, uint32_t cell, struct bpf_task_counters_value *ret)
{
	abort();
}

uint32_t bpf_task_counters_unfollowed(const struct bpf_task_counters *counters)
{
	return 0;
}

uint32_t bpf_task_counters_missed(const struct bpf_task_counters *counters)
{
	return 0;
}

struct error *bpf_sample_filter_pin(void)
{
	return bpf_support_check();
}

struct error *bpf_sample_filter_unpin(void)
{
	return bpf_support_check();
}

struct error *bpf_sample_filter_open(const struct sample_filter_config *config, struct bpf_sample_filter **ret)
{
	return bpf_support_check();
}

struct error *bpf_sample_filter_attach(struct bpf_sample_filter *filter, int counter)
{
	abort();
}

uint64_t bpf_sample_filter_dropped(const struct bpf_sample_filter *filter)
{
	return 0;
}

size_t bpf_sample_filter_lost(const struct bpf_sample_filter *filter)
{
	return 0;
}

void bpf_sample_filter_close(struct bpf_sample_filter *filter)
{
}

struct error *bpf_program_counters_open(const uint32_t *ids, size_t count, uint32_t events, struct bpf_program_counters **ret)
{
	return bpf_support_check();
}

void bpf_program_counters_close(struct bpf_program_counters *counters)
{
}

struct error *bpf_program_counters_add_event(struct bpf_program_counters *counters, uint32_t event, int cpu, int fd)
{
	abort();
}

struct error *bpf_program_counters_start(struct bpf_program_counters *counters)
{
	abort();
}

void bpf_program_counters_set_running(struct bpf_program_counters *counters, bool running)
{
}

void bpf_program_counters_read(struct bpf_program_counters *counters, uint32_t event, int cpu, struct bpf_task_counters_value *ret)
{
	abort();
}

struct error *bpf_function_latency_open(const char *function, const struct bpf_function_latency_options *options,
					struct bpf_function_latency **ret)
{
	return bpf_support_check();
}

void bpf_function_latency_close(struct bpf_function_latency *latency)
{
}

struct error *bpf_function_latency_add_target(struct bpf_function_latency *latency, pid_t tid)
{
	abort();
}

struct error *bpf_function_latency_start(struct bpf_function_latency *latency)
{
	abort();
}

void bpf_function_latency_switch(struct bpf_function_latency *latency, bool on)
{
}

void bpf_function_latency_read(struct bpf_function_latency *latency, struct function_latency_sums *ret)
{
	abort();
}

uint64_t bpf_function_latency_missed(const struct bpf_function_latency *latency)
{
	abort();
}

struct error *bpf_leaks_open(const struct leaks_config *config, struct bpf_leaks **ret)
{
	return bpf_support_check();
}

void bpf_leaks_close(struct bpf_leaks *leaks)
{
}

struct error *bpf_leaks_start(struct bpf_leaks *leaks, pid_t pid, const char *path, const char *name)
{
	abort();
}

void bpf_leaks_each(const struct bpf_leaks *leaks, void (*take)(void *context, const struct leaks_allocation *allocation), void *context)
{
	abort();
}

void bpf_leaks_each_stack(const struct bpf_leaks *leaks, void (*take)(void *context, int64_t stack, const struct leaks_sums *sums),
			  void *context)
{
	abort();
}

size_t bpf_leaks_stack(const struct bpf_leaks *leaks, int64_t stack, uint64_t frames[LEAKS_FRAMES])
{
	abort();
}

uint64_t bpf_leaks_missed(const struct bpf_leaks *leaks)
{
	abort();
}

struct error *bpf_lock_owners_open(const struct lock_owners_config *config, uint32_t most, struct bpf_lock_owners **ret)
{
	return bpf_support_check();
}

void bpf_lock_owners_close(struct bpf_lock_owners *owners)
{
}

struct error *bpf_lock_owners_start(struct bpf_lock_owners *owners)
{
	abort();
}

void bpf_lock_owners_switch(struct bpf_lock_owners *owners, bool on)
{
}

void bpf_lock_owners_read(struct bpf_lock_owners *owners, void (*take)(void *context, uint32_t tid, const struct lock_owner_sums *sums),
			  void *context)
{
	abort();
}

uint64_t bpf_lock_owners_missed(const struct bpf_lock_owners *owners)
{
	abort();
}

struct error *bpf_off_cpu_open(const struct bpf_off_cpu_options *options, struct bpf_off_cpu **ret)
{
	return bpf_support_check();
}

void bpf_off_cpu_close(struct bpf_off_cpu *off_cpu)
{
}

struct error *bpf_off_cpu_add_target(struct bpf_off_cpu *off_cpu, pid_t tid)
{
	abort();
}

struct error *bpf_off_cpu_start(struct bpf_off_cpu *off_cpu)
{
	abort();
}

void bpf_off_cpu_switch(struct bpf_off_cpu *off_cpu, bool on)
{
	abort();
}

void bpf_off_cpu_turn(struct bpf_off_cpu *off_cpu)
{
	abort();
}

struct error *bpf_off_cpu_take(struct bpf_off_cpu *off_cpu, const struct bpf_off_cpu_taker *taker, void *context)
{
	abort();
}

void bpf_off_cpu_stop(struct bpf_off_cpu *off_cpu)
{
	abort();
}

int bpf_off_cpu_fd(const struct bpf_off_cpu *off_cpu)
{
	abort();
}

uint64_t bpf_off_cpu_missed(const struct bpf_off_cpu *off_cpu)
{
	abort();
}

void bpf_off_cpu_forget(struct bpf_off_cpu *off_cpu, uint64_t stack)
{
	abort();
}

void bpf_off_cpu_forget_codes(struct bpf_off_cpu *off_cpu)
{
	abort();
}

void bpf_off_cpu_each_wait(struct bpf_off_cpu *off_cpu, void (*look)(void *context, const struct bpf_off_cpu_wait *wait), void *context)
{
	abort();
}

uint64_t bpf_off_cpu_unseen(const struct bpf_off_cpu *off_cpu)
{
	abort();
}

struct error *bpf_run_queue_open(const struct bpf_run_queue_options *options, struct bpf_run_queue **ret)
{
	return bpf_support_check();
}

void bpf_run_queue_close(struct bpf_run_queue *queue)
{
}

struct error *bpf_run_queue_add_target(struct bpf_run_queue *queue, pid_t tid)
{
	abort();
}

struct error *bpf_run_queue_start(struct bpf_run_queue *queue)
{
	abort();
}

void bpf_run_queue_switch(struct bpf_run_queue *queue, bool on)
{
	abort();
}

void bpf_run_queue_read(struct bpf_run_queue *queue, void (*take)(void *context, uint64_t id, const struct run_queue_sums *sums),
			void *context)
{
	abort();
}

uint64_t bpf_run_queue_missed(const struct bpf_run_queue *queue)
{
	abort();
}

uint64_t bpf_run_queue_unseen(const struct bpf_run_queue *queue)
{
	abort();
}

struct error *bpf_user_stacks_open(const struct user_stacks_options *options, struct bpf_user_stacks **ret)
{
	return bpf_support_check();
}

void bpf_user_stacks_close(struct bpf_user_stacks *stacks)
{
}

struct error *bpf_user_stacks_direct(struct bpf_user_stacks *stacks, enum user_stacks_output output, int cpu, int counter)
{
	abort();
}

void bpf_user_stacks_limit(struct bpf_user_stacks *stacks, uint64_t bytes)
{
	abort();
}

void bpf_user_stacks_note_read(struct bpf_user_stacks *stacks, int cpu, uint64_t bytes)
{
	abort();
}

struct error *bpf_user_stacks_attach(struct bpf_user_stacks *stacks, enum user_stacks_kinds kind, int counter)
{
	abort();
}

int bpf_user_stacks_share(const struct bpf_user_stacks *stacks, const struct user_stacks_maps *maps)
{
	abort();
}

enum user_stacks_added bpf_user_stacks_add(struct bpf_user_stacks *stacks, const struct user_stacks_file *file, uint64_t begin,
					   uint64_t end, const struct user_stacks_interpreter *interpreter, struct user_stacks_code *ret)
{
	abort();
}

enum user_stacks_added bpf_user_stacks_fill(struct bpf_user_stacks *stacks, const struct user_stacks_code *code,
					    const struct user_stacks_row *rows, size_t count, uint64_t begin, uint64_t end)
{
	abort();
}

void bpf_user_stacks_forget_codes(struct bpf_user_stacks *stacks)
{
	abort();
}

bool bpf_user_stacks_add_name(struct bpf_user_stacks *stacks, const struct user_stacks_file *file, const struct user_stacks_file *known)
{
	abort();
}

bool bpf_user_stacks_identify(const struct bpf_user_stacks *stacks, const void *mapped, struct user_stacks_file *ret)
{
	abort();
}

void bpf_user_stacks_reserve(struct bpf_user_stacks *stacks, uint64_t rows)
{
	abort();
}

uint64_t bpf_user_stacks_memory(const struct bpf_user_stacks *stacks)
{
	abort();
}

uint64_t bpf_user_stacks_unsent(const struct bpf_user_stacks *stacks)
{
	abort();
}

struct error *bpf_types_text_open(bool names, struct bpf_types_text **ret)
{
	return bpf_support_check();
}

void bpf_types_text_close(struct bpf_types_text *types)
{
}

bool bpf_types_text_add(struct bpf_types_text *types, const char *name, const void *data, size_t size, struct strbuf *out)
{
	abort();
}

struct error *bpf_probe_cost_open(const char *path, const char *function, pid_t pid, bool prints, bool at_return,
				  struct bpf_probe_cost **ret)
{
	return bpf_support_check();
}

void bpf_probe_cost_close(struct bpf_probe_cost *cost)
{
}

struct error *bpf_switches_open(struct bpf_switches **ret)
{
	return bpf_support_check();
}

void bpf_switches_close(struct bpf_switches *switches)
{
}

struct error *bpf_switches_direct(struct bpf_switches *switches, enum switches_output output, int cpu, int counter)
{
	abort();
}

void bpf_switches_start(struct bpf_switches *switches)
{
}

void bpf_switches_stop(struct bpf_switches *switches)
{
}

bool bpf_switches_next(struct bpf_switches *switches, uint64_t until, struct bpf_switch *ret, uint32_t *ret_cpu)
{
	return false;
}

uint64_t bpf_switches_lost(const struct bpf_switches *switches)
{
	return 0;
}
