/* Labels: whose a thread is. Its control group comes with each sample, since it may be gone when we look; what the group tells is in its
 * path (fleet/cgroup_path.h). Where samples don't say (off the CPU, and hierarchies that perf events don't know), and for variables of its
 * environment, /proc is asked when the window's first sample of a thread or process comes. */
#include "cmd/agent/agent.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cgroup_path.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 1024 };

/* ---- while samples come ---- */

/* Of a value as much as any engine takes for a label's: one that is too long would have it refuse the whole window. */
static size_t value_length(const char *value)
{
	size_t length = strnlen(value, VALUE_MAX + 1);
	if (length > VALUE_MAX)
		for (length = VALUE_MAX; length && ((unsigned char)value[length] & 0xc0) == 0x80;) /* within a character */
			length--;
	return length;
}

/* The variables are separated by NUL. */
static void take_variables(const struct strbuf *text, const agent_labels *wanted, agent_labels *ret)
{
	for (size_t i = 0; i < wanted->len; i++) {
		const char *variable = wanted->data[i].value, *end = text->data + text->len;
		size_t length = strlen(variable);
		for (const char *at = text->data; at < end; at += strlen(at) + 1)
			if (!strncmp(at, variable, length) && at[length] == '=') {
				const char *value = at + length + 1;
				vec_push(ret,
					 (struct agent_label){mem_strdup(wanted->data[i].name), mem_strndup(value, value_length(value))});
				break;
			}
	}
}

/* What is known stays where it can't be read any more. */
static void read_environment(const agent_labels *wanted, uint32_t pid, agent_labels *ret)
{
	char path[32];
	struct strbuf text = {0};
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	if (!proc_read_file(AT_FDCWD, path, &text) && text.len) {
		agent_labels_deinit(ret);
		take_variables(&text, wanted, ret);
	}
	strbuf_deinit(&text);
}

static void note_environment(struct agent_labelling *labelling, const agent_labels *wanted, uint32_t pid)
{
	bool is_new;
	if (!wanted->len || (int32_t)pid <= 0)
		return;
	uint64_t *at = map64_insert(&labelling->environments, pid, &is_new);
	if (!is_new)
		return;
	vec_push(&labelling->environment, (agent_labels){0});
	*at = labelling->environment.len;
	read_environment(wanted, pid, &labelling->environment.data[*at - 1]);
}

/* Processes that have executed another program since their first sample have its environment now. */
static void renew_environments(struct agent_labelling *labelling, const agent_labels *wanted)
{
	for (const struct map64_slot *slot = NULL; (slot = map64_next(&labelling->environments, slot));)
		read_environment(wanted, (uint32_t)slot->key, &labelling->environment.data[slot->value - 1]);
}

void agent_labelling_note(struct agent_labelling *labelling, const struct agent_settings *settings, const struct sample *sample)
{
	bool is_new;
	uint64_t *at = map64_insert(&labelling->threads, sample->tid, &is_new);
	if (is_new) {
		vec_push(&labelling->who, (struct agent_who){.pid = sample->pid});
		*at = labelling->who.len;
	}
	struct agent_who *who = &labelling->who.data[*at - 1];
	if (sample->cgroup)
		who->cgroup = sample->cgroup;
	note_environment(labelling, &settings->environment, sample->pid);
}

/* ---- groups ---- */

struct group {
	char *path;
	struct cgroup_owner owner;
};

static void take_better(struct group *group, const char *path, size_t length)
{
	cleanup_free char *text = mem_strndup(path, length);
	struct cgroup_owner owner;
	cgroup_path_read(text, &owner);
	bool tells_more = (*owner.container && !*group->owner.container) ||
			  (cgroup_owner_known(&owner) && !cgroup_owner_known(&group->owner)) ||
			  (!cgroup_owner_known(&group->owner) && length > strlen(group->path ? group->path : ""));
	if (!tells_more)
		return;
	free(group->path);
	group->path = take_pointer(text);
	group->owner = owner;
}

/* A line for each hierarchy, "4:memory:/docker/ID"; what tells most counts. */
static void ask_proc(uint32_t pid, struct group *group)
{
	char path[32];
	struct strbuf text = {0};
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if ((int32_t)pid > 0 && !proc_read_file(AT_FDCWD, path, &text)) {
		const char *line = strbuf_str(&text);
		while (*line) {
			size_t length = strcspn(line, "\n");
			const char *colon = memchr(line, ':', length);
			colon = colon ? memchr(colon + 1, ':', length - (size_t)(colon + 1 - line)) : NULL;
			if (colon)
				take_better(group, colon + 1, length - (size_t)(colon + 1 - line));
			line += length + (line[length] == '\n');
		}
	}
	strbuf_deinit(&text);
}

static void find_group(const struct machine *machine, const struct agent_who *who, struct group *ret)
{
	const struct untrusted *name = who->cgroup ? machine_cgroup(machine, who->cgroup) : NULL;
	*ret = (struct group){0};
	if (name)
		take_better(ret, untrusted_raw(name), strlen(untrusted_raw(name)));
	if (!cgroup_owner_known(&ret->owner))
		ask_proc(who->pid, ret);
}

/* ---- sets ---- */

/* Kernel threads are children of kthreadd, which is process 2. */
static bool is_kernel(const struct machine *machine, const struct samples_thread *thread)
{
	const struct thread *found = machine_thread(machine, thread->pid, UINT64_MAX);
	return thread->pid == 2 || thread->pid == 0 || (found && found->ppid == 2);
}

/* What a process serves where nobody says: its unit, its container, else its name. Sessions of users and their managers say nothing. */
static void choose_service(const struct machine *machine, const struct samples_thread *thread, const struct group *group,
			   struct strbuf *ret)
{
	const char *unit = group->owner.unit;
	static const char service[] = ".service";
	bool speaks = str_ends_with(unit, service) && !str_starts_with(unit, "user@");
	strbuf_clear(ret);
	if (is_kernel(machine, thread))
		strbuf_add_str(ret, "kernel");
	else if (speaks)
		strbuf_add(ret, unit, strlen(unit) - strlen(service));
	else if (*group->owner.container)
		strbuf_add(ret, group->owner.container, strnlen(group->owner.container, 12));
	else if (*thread->process != ':') /* what is called by its number has no name that we know */
		strbuf_add_str(ret, thread->process);
}

/* In the order of names, each once: a later one takes an earlier one's place. */
static void put(struct window *window, struct window_labels *set, const char *name, const char *value)
{
	size_t at = 0;
	if (!value || !*value)
		return;
	while (at < set->list.len && strcmp(set->list.data[at].name, name) < 0)
		at++;
	struct arena *arena = &window->samples->arena;
	const struct window_label label = {arena_strdup(arena, name), arena_strndup(arena, value, value_length(value))};
	if (at < set->list.len && !strcmp(set->list.data[at].name, name)) {
		set->list.data[at] = label;
		return;
	}
	vec_push(&set->list, label);
	memmove(set->list.data + at + 1, set->list.data + at, (set->list.len - 1 - at) * sizeof(*set->list.data));
	set->list.data[at] = label;
}

struct applying {
	const struct agent_labelling *labelling;
	const struct agent_settings *settings;
	const struct machine *machine;
	struct window *window;
	struct intern texts; /* of sets */
	struct map64 sets;   /* by text: number */
};

static bool is_said(const struct agent_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->labels.len; i++)
		if (!strcmp(settings->labels.data[i].name, name))
			return true;
	return false;
}

static void fill_set(struct applying *applying, const struct samples_thread *thread, struct window_labels *set)
{
	struct window *window = applying->window;
	const uint64_t *at = map64_find(&applying->labelling->threads, thread->tid);
	const struct agent_who unknown = {.pid = thread->pid}, *who = at ? &applying->labelling->who.data[*at - 1] : &unknown;
	struct strbuf service = {0};
	struct group group;
	find_group(applying->machine, who, &group);
	put(window, set, "cgroup", group.path);
	put(window, set, "unit", group.owner.unit);
	put(window, set, "container", group.owner.container);
	put(window, set, "container_runtime", group.owner.runtime);
	put(window, set, "pod_uid", group.owner.pod_uid);
	choose_service(applying->machine, thread, &group, &service);
	if (!is_said(applying->settings, "service"))
		put(window, set, "service", strbuf_str(&service));
	at = map64_find(&applying->labelling->environments, thread->pid);
	const agent_labels *variables = at ? &applying->labelling->environment.data[*at - 1] : NULL;
	for (size_t i = 0; variables && i < variables->len; i++)
		put(window, set, variables->data[i].name, variables->data[i].value);
	strbuf_deinit(&service);
	free(group.path);
}

/* Threads that are alike share a set. */
static uint32_t number_of_set(struct applying *applying, struct window_labels *set)
{
	struct window *window = applying->window;
	struct strbuf text = {0};
	bool is_new;
	for (size_t i = 0; i < set->list.len; i++)
		strbuf_printf(&text, "%s=%zu:%s,", set->list.data[i].name, strlen(set->list.data[i].value), set->list.data[i].value);
	const char *key = intern_string(&applying->texts, strbuf_str(&text));
	uint64_t *number = map64_insert(&applying->sets, (uintptr_t)key, &is_new);
	strbuf_deinit(&text);
	if (is_new && set->list.len) {
		*number = window->sets.len;
		vec_push(&window->sets, *set);
	} else {
		vec_deinit(&set->list);
	}
	return (uint32_t)*number;
}

void agent_labelling_apply(struct agent_labelling *labelling, const struct agent_settings *settings, const struct machine *machine,
			   struct window *window)
{
	struct applying applying = {.labelling = labelling, .settings = settings, .machine = machine, .window = window};
	const struct samples *samples = window->samples;
	renew_environments(labelling, &settings->environment);
	for (size_t i = 0; i < settings->labels.len; i++)
		put(window, &window->labels, settings->labels.data[i].name, settings->labels.data[i].value);
	for (size_t i = 0; i < samples->threads.len; i++) {
		struct window_labels set = {0};
		fill_set(&applying, &samples->threads.data[i], &set);
		vec_push(&window->thread_sets, number_of_set(&applying, &set));
	}
	intern_deinit(&applying.texts);
	map64_deinit(&applying.sets);
	agent_labelling_deinit(labelling);
}

void agent_labelling_deinit(struct agent_labelling *labelling)
{
	for (size_t i = 0; i < labelling->environment.len; i++)
		agent_labels_deinit(&labelling->environment.data[i]);
	vec_deinit(&labelling->environment);
	map64_deinit(&labelling->environments);
	map64_deinit(&labelling->threads);
	vec_deinit(&labelling->who);
}
