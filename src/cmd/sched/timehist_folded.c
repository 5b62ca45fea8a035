/* perf sched timehist --folded: how long tasks were blocked, by the stack with which they left the CPU, as folded stacks.
 *
 * The lines are those of the public script stackcollapse-perf-sched.awk: microseconds, added up in nanoseconds before; what is below one
 * isn't shown; only waits for something, not for the CPU alone. It needs the kernel's statistics of the scheduler, this does not. */
#include "cmd/sched/timehist.h"

#include "analysis/sched/off_cpu_fold.h"
#include "base/log.h"
#include "view/view.h"

#include <linux/perf_event.h>
#include <string.h>

enum { NS_PER_US = 1000, MOST_FRAMES = 1 << 16 };

static bool is_wanted(void *context, const struct fold_sample *sample)
{
	return sched_timehist_wants(context, sample->thread);
}

bool timehist_has_stacks(const struct timehist_command *command)
{
	const struct session *session = command->opening.session;
	bool has = false;
	for (size_t i = 0; i < session->reader->events.events.len; i++) {
		const struct event *event = session->reader->events.events.data[i];
		has |= !strcmp(event->name, "sched:sched_switch") && event->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
	}
	return has;
}

static void make_us(struct calltree_node *node)
{
	for (; node; node = node->sibling) {
		node->self /= NS_PER_US;
		make_us(node->children);
	}
}

static struct error *print_stacks(struct fold *fold)
{
	struct calltree *tree = fold_calltree(fold, &(struct fold_calltree_options){.event = -1, .by_comm = true});
	struct sink out = sink_to_file(stdout);
	make_us(tree->root.children);
	struct error *error =
		view_write_one(view_find("folded"), (struct result){RESULT_CALLTREE, .calltree = tree}, &(struct view_options){0}, &out);
	calltree_destroy(tree);
	return error;
}

struct error *timehist_print_folded(struct timehist_command *command, const struct sched_timehist_options *tracking)
{
	uint64_t most = command->max_stack;
	const struct off_cpu_options waits = {
		.min_ns = 1, .max_ns = UINT64_MAX, .by_state = true, .states = OFF_CPU_ASLEEP, .scope = tracking->scope};
	const struct fold_options options = {
		.chains = command->stacks && most,
		.inlines = STACK_INLINES_ALL,
		.by_file = true,
		.max_stack = most < MOST_FRAMES ? (unsigned int)most : 0,
		.records = FOLD_RECORDS_DROPPED,
		.accept = is_wanted,
		.context = (void *)tracking,
	};
	struct session *session = command->opening.session;
	struct fold *fold = fold_create(session, command->opening.resolver, &options);
	struct off_cpu_sums sums;
	struct error *error = off_cpu_fold(&waits, fold, &sums);
	if (!error && command->stacks && !timehist_has_stacks(command))
		log_warning("The recording has no call chains: record them with perf sched record -g.");
	if (!error && !fold->entry_count)
		log_warning("No task was blocked and woken up again%s.", sums.waits ? " of those that -p and -t choose" : "");
	if (!error)
		error = print_stacks(fold);
	fold_destroy(fold);
	if (!error)
		opening_warn(&command->opening);
	return error;
}
