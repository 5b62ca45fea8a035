/* Options → configuration, plans and targets of the BPF program (program.h). */
#include "cmd/trace/program.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "kernel/hardware/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_RING = 32 << 20 };

/* A control group of version 2, by its path or below where they are mounted. */
static struct error *open_cgroup(const char *name, int *ret)
{
	static const char *const places[] = {"", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/"};
	int reason = ENOENT;

	for (size_t i = *name == '/' ? 0 : 1; i < sizeof(places) / sizeof(places[0]); i++) {
		cleanup_free char *path = mem_printf("%s%s/", places[i], name), *probe = mem_printf("%scgroup.procs", path);
		*ret = access(probe, F_OK) == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		if (*ret >= 0)
			return NULL;
		reason = errno;
	}
	return error_system(reason, "-G: no such control group '%s'", name);
}

static struct error *choose(const struct trace *trace, struct trace_program *program, struct bpf_syscalls_options *ret)
{
	const struct trace_options *options = trace->options;
	struct syscalls_config *config = &ret->config;
	struct error *error = NULL;
	uid_t uid;

	*ret = (struct bpf_syscalls_options){.ring_bytes = program->ring_bytes, .cgroup = -1};
	*config = (struct syscalls_config){
		.shortest = options->shortest,
		.string_size = (uint32_t)options->string_limit,
		.system_wide = options->system_wide,
		.inherit = !options->no_inherit,
		.calls = !options->summary,
		.sums = trace->sums && options->summary,
		.histograms = options->histograms,
		.errors = options->errno_summary,
		.by_cgroup = options->summary_mode == TRACE_BY_CGROUP,
		.failures = options->failures,
		.files = !options->summary,
		.signals = trace->signals,
	};
	if (options->user) {
		error = proc_parse_user(options->user, &uid);
		config->by_user = 1;
		config->user = error ? 0 : uid;
	}
	if (!error && options->cgroup) {
		error = open_cgroup(options->cgroup, &program->cgroup);
		config->in_cgroup = 1;
		ret->cgroup = program->cgroup;
	}
	if (!error && options->cpus) {
		error = cpus_parse(options->cpus, &program->cpus, &program->cpu_count);
		config->on_cpus = 1;
		ret->cpus = program->cpus;
		ret->cpu_count = program->cpu_count;
	}
	return error;
}

static struct error *leave_out(struct bpf_syscalls *syscalls, const struct trace *trace)
{
	struct error *error = bpf_syscalls_add_target(syscalls, getpid(), SYSCALLS_TARGET_NEVER);

	for (size_t i = 0; i < trace->left_out.len && !error; i++)
		error = bpf_syscalls_add_target(syscalls, trace->left_out.data[i], SYSCALLS_TARGET_NEVER);
	return error;
}

/* `recorder`: as of trace_program_open(). */
static struct error *add_targets(const struct trace *trace, pid_t recorder, struct bpf_syscalls *syscalls)
{
	bool only_command = !trace->targets.len && !trace->options->system_wide && !trace->options->user;
	struct error *error = leave_out(syscalls, trace);

	for (size_t i = 0; i < trace->targets.len && !error; i++)
		error = bpf_syscalls_add_target(syscalls, trace->targets.data[i],
						trace->targets_are_threads ? SYSCALLS_TARGET_THREAD : SYSCALLS_TARGET_PROCESS);
	if (!error && recorder)
		error = bpf_syscalls_add_target(syscalls, recorder, only_command ? SYSCALLS_TARGET_CHILDREN : SYSCALLS_TARGET_NEVER);
	if (!error && trace->workload.pid && only_command)
		error = bpf_syscalls_add_target(syscalls, trace->workload.pid, SYSCALLS_TARGET_COMMAND);
	return error;
}

/* It is only told what happens: durations, failures and sums are made of that where its samples are. Every command begins in its child. */
static void serve_recorder(struct syscalls_config *config)
{
	config->calls = config->files = config->commands = 1;
	config->shortest = 0;
	config->failures = config->sums = config->histograms = config->errors = config->by_cgroup = 0;
}

struct error *trace_program_open(struct trace *trace, pid_t recorder, struct trace_program *ret)
{
	const struct trace_options *options = trace->options;
	struct bpf_syscalls_options settings;

	*ret = (struct trace_program){.ring_bytes = options->ring_bytes ? options->ring_bytes : DEFAULT_RING, .cgroup = -1};
	struct error *error = choose(trace, ret, &settings);
	if (error)
		return error;
	cleanup_free struct syscall_plan *plans = trace_table_plans(&trace->table);
	settings.plans = plans;
	if (recorder)
		serve_recorder(&settings.config);
	ret->calls = trace_syscalls_create(&trace->table, (uint32_t)options->string_limit);
	error = bpf_syscalls_open(&settings, &ret->syscalls);
	return error ? error : add_targets(trace, recorder, ret->syscalls);
}

void trace_program_warn_of_losses(const struct trace_program *program)
{
	uint64_t lost = bpf_syscalls_lost(program->syscalls);

	if (lost)
		log_warning("%llu records were lost because the buffer of %llu MB was full. Use a larger buffer (-m 256M) or trace fewer "
			    "system calls (-e).",
			    (unsigned long long)lost, (unsigned long long)program->ring_bytes >> 20);
}

void trace_program_close(struct trace_program *program)
{
	bpf_syscalls_close(program->syscalls);
	trace_syscalls_destroy(program->calls);
	free(program->cpus);
	cleanup_close_fd(&program->cgroup);
	*program = (struct trace_program){.cgroup = -1};
}
