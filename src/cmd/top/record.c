/* What perf top measures, as a recording: a `perf record` with the same events and targets, from one press of a key to the next. It is a
 * process of its own, so that the recording has all that one has (names, maps, build-ids of what runs already), and top loses nothing while
 * it writes. */
#include "cmd/top/top.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct words {
	VEC(char *) list; /* ends with NULL when it is run */
};

static void add(struct words *words, const char *option, const char *argument)
{
	vec_push(&words->list, mem_strdup(option));
	if (argument)
		vec_push(&words->list, mem_strdup(argument));
}

static void add_number(struct words *words, const char *option, uint64_t number)
{
	vec_push(&words->list, mem_strdup(option));
	vec_push(&words->list, mem_printf("%lu", number));
}

static void words_deinit(struct words *words)
{
	for (size_t i = 0; i < words->list.len; i++)
		free(words->list.data[i]);
	vec_deinit(&words->list);
}

/* Those of the command line, or the process or thread that a key has chosen. */
static void add_targets(struct words *words, const struct top *top)
{
	const struct targets *targets = &top->options->targets;
	if (top->tid || top->pid) {
		add_number(words, top->tid ? "-t" : "-p", top->tid ? top->tid : top->pid);
		return;
	}
	if (targets->pids)
		add(words, "-p", targets->pids);
	if (targets->tids)
		add(words, "-t", targets->tids);
	if (targets->user)
		add(words, "-u", targets->user);
	if (targets->cpus)
		add(words, "-C", targets->cpus);
	if (!targets_are_tasks(targets) && !targets->cpus)
		add(words, "-a", NULL);
}

static void add_events(struct words *words, const struct event_words *events)
{
	static const char *const options[] = {
		[WORD_EVENT] = "-e", [WORD_PFM] = "--pfm-events", [WORD_FILTER] = "--filter", [WORD_CGROUP] = "-G"};
	for (size_t i = 0; i < events->len; i++)
		add(words, options[events->data[i].kind], events->data[i].text);
}

static void add_sampling(struct words *words, const struct sampling *sampling)
{
	static const char *const modes[] = {
		[CALLCHAIN_FP] = "fp", [CALLCHAIN_DWARF] = "dwarf", [CALLCHAIN_LBR] = "lbr", [CALLCHAIN_AUTO] = "auto"};
	if (sampling->period)
		add_number(words, "-c", sampling->period);
	else if (sampling->freq_max)
		add(words, "-F", "max");
	else if (sampling->freq_given)
		add_number(words, "-F", sampling->freq);
	if (sampling->callgraph >= CALLCHAIN_FP)
		add(words, "--call-graph", modes[sampling->callgraph]);
	if (sampling->no_inherit)
		add(words, "--no-inherit", NULL);
	if (sampling->group)
		add(words, "--group", NULL);
	if (sampling->namespaces)
		add(words, "--namespaces", NULL);
	if (sampling->cgroups)
		add(words, "--all-cgroups", NULL);
	if (sampling->no_bpf_event)
		add(words, "--no-bpf-event", NULL);
}

/* The signals that end top wait in a descriptor of its own; the recorder is to get them. */
static void become_recorder(struct words *words)
{
	sigset_t none;
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	for (int fd = 0; fd <= STDERR_FILENO && nowhere >= 0; fd++)
		dup2(nowhere, fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	execv("/proc/self/exe", words->list.data);
	_exit(127);
}

static void begin(struct top *top, struct strbuf *note)
{
	struct top_recording *recording = &top->recording;
	struct words words = {0};
	unsigned int number = 0;
	if (top->options->sampling.branch_type) {
		strbuf_add_str(note, "branches (-b, -j) are recorded by perf record only");
		return;
	}
	do
		snprintf(recording->name, sizeof(recording->name), "perf.data.%u", number++);
	while (!access(recording->name, F_OK));
	add(&words, "perf", "record");
	add(&words, "-q", NULL);
	add(&words, "-o", recording->name);
	add_targets(&words, top);
	add_events(&words, &top->options->words);
	add_sampling(&words, &top->options->sampling);
	vec_push(&words.list, NULL);
	recording->process = fork();
	if (!recording->process)
		become_recorder(&words);
	if (recording->process < 0)
		strbuf_add_str(note, "no process could be started");
	words_deinit(&words);
}

static void tell_end(struct top_recording *recording, int status, struct strbuf *note)
{
	bool complete = (WIFEXITED(status) && !WEXITSTATUS(status)) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	recording->process = 0;
	if (complete && !access(recording->name, R_OK))
		strbuf_printf(note, "written to %s: perf report -i %s shows it", recording->name, recording->name);
	else
		strbuf_printf(note, "nothing was recorded: perf record -o %s says why", recording->name);
}

void top_record_end(struct top *top, struct strbuf *note)
{
	int status = 0;
	if (top->recording.process <= 0)
		return;
	kill(top->recording.process, SIGINT);
	while (waitpid(top->recording.process, &status, 0) < 0 && errno == EINTR)
		;
	tell_end(&top->recording, status, note);
}

void top_record_toggle(struct top *top, struct strbuf *note)
{
	if (top->recording.process > 0)
		top_record_end(top, note);
	else
		begin(top, note);
}

bool top_record_goes_on(struct top *top, struct strbuf *note)
{
	int status;
	if (top->recording.process <= 0)
		return false;
	if (waitpid(top->recording.process, &status, WNOHANG) == 0)
		return true;
	tell_end(&top->recording, status, note);
	return false;
}
