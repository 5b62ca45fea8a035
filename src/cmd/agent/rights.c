/* What the agent gives up once counters, programs, rings and sockets are open.
 *
 * Kept, since what runs later has to be looked at, too:
 *	CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH    files of processes, through /proc/PID/root, for symbols and build-ids; their environment
 *	CAP_SYSLOG                             names and addresses of kernel functions
 *	CAP_BPF, CAP_PERFMON                   maps of our BPF programs: rules of files that are mapped later, sums of waits
 * Before Linux 5.8 CAP_SYS_ADMIN stands for the last two. All else goes: who is root may then write no file of others, and change no right.
 * System calls are filtered and writing is limited to the spool and folders that are sinks (kernel/sandbox.h); the network stays for sinks.
 */
#include "cmd/agent/agent.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/sink_url.h"
#include "kernel/sandbox.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

/* The folder of "file:///FOLDER?format=…", which is made, since rules are about what exists; NULL = the sink is none. To be freed. */
static char *folder_of(const char *url)
{
	if (!str_starts_with(url, "file:///"))
		return NULL;
	char *folder = sink_url_path(url);
	mkdir(folder, 0700);
	return folder;
}

static bool drop_capabilities(void)
{
	static const int kept[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_PERFMON, CAP_BPF};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uint64_t wanted = 0;
	bool new_ones = prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) >= 0;
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		wanted |= kept[i] < 38 || new_ones ? 1ull << kept[i] : 1ull << CAP_SYS_ADMIN;
	if (syscall(SYS_capget, &header, data))
		return false;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(wanted >> 32 * i);
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0;
	}
	return !syscall(SYS_capset, &header, data);
}

void agent_rights_drop(const struct agent_settings *settings)
{
	VEC(char *) folders = {0};
	if (!settings->sandbox)
		return;
	mkdir(settings->spool, 0700);
	vec_push(&folders, mem_strdup(settings->spool));
	vec_push(&folders, agent_socket_folder(settings->socket)); /* the socket is removed at the end */
	for (size_t i = 0; i < settings->sinks.len; i++) {
		char *folder = folder_of(settings->sinks.data[i].options.url);
		if (folder)
			vec_push(&folders, folder);
	}
	if (settings->flight.folder) {
		mkdir(settings->flight.folder, 0700);
		vec_push(&folders, mem_strdup(settings->flight.folder));
	}
	vec_push(&folders, NULL);
	bool dropped = drop_capabilities();
	const struct sandbox_options options = {
		.network = true, .new_files = true, .bpf = true, .writable = (const char *const *)folders.data};
	struct sandbox_state state = sandbox_enter(&options);
	log_info("rights: %s; %s; %s", dropped ? "capabilities are dropped" : "capabilities are kept",
		 state.files ? "only the spool and folders of sinks can be written (Landlock)" : "no Landlock here",
		 state.calls ? "programs cannot be started (seccomp)" : "no seccomp here");
	for (size_t i = 0; i < folders.len; i++)
		free(folders.data[i]);
	vec_deinit(&folders);
}
