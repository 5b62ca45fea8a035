/* Of each thread the last sample's branches are kept, and the callers that it was stitched to: a list whose elements many samples share,
 * since most stacks go on alike. */
#include "analysis/stitch.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS_MAX = 1024 };

struct caller {
	uint64_t ip;
	uint32_t next;
};

struct thread_state {
	VEC(struct branch_entry) branches; /* of the last sample, newest first */
	uint64_t newest;		   /* the number of the register that has the first of them */
	uint32_t callers;		   /* beyond them */
};

struct stitcher {
	const struct session *session;
	uint64_t registers; /* 0 = not known yet */
	VEC(struct caller) callers;
	struct map64 threads; /* by address of struct thread: number in `states` */
	VEC(struct thread_state) states;
	bool prepared;
	struct map64 prepared_callers; /* by the record's offset in the file, where there are any */
	const uint8_t *records;	       /* the file, once prepared */
};

static bool has_numbers(const struct event_attr *attr)
{
	uint64_t needed = PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_HW_INDEX;
	return (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) && (attr->branch_sample_type & needed) == needed;
}

/* What the driver of the processor's PMU says: "branches=32". */
static uint64_t count_registers(const struct features *features)
{
	uint64_t most = 0;
	for (size_t i = 0; i < features->pmu_caps.len; i++) {
		const struct feature_pmu_caps *caps = &features->pmu_caps.data[i];
		for (uint32_t j = 0; j < caps->count && !strncmp(caps->pmu_name, "cpu", 3); j++)
			if (!strcmp(caps->names[j], "branches") && strtoull(caps->values[j], NULL, 10) > most)
				most = strtoull(caps->values[j], NULL, 10);
	}
	return most <= REGISTERS_MAX ? most : 0;
}

struct stitcher *stitcher_create(const struct session *session, const char **ret_why)
{
	const struct event_list *events = &session->reader->events;
	bool possible = false;
	for (size_t i = 0; i < events->events.len; i++)
		possible |= has_numbers(&events->events.data[i]->attr);
	uint64_t registers = count_registers(&session->reader->features);
	bool stream = session->reader->pipe && !session->reader->stable; /* its head comes later */
	*ret_why = stream	? NULL
		   : !possible	? "no event has call graphs from branch registers; record with --call-graph lbr"
		   : !registers ? "the recording does not contain the number of branch registers of its processor"
				: NULL;
	if (*ret_why)
		return NULL;
	struct stitcher *stitcher = mem_zalloc(sizeof(*stitcher));
	stitcher->registers = registers;
	stitcher->session = session;
	return stitcher;
}

void stitcher_destroy(struct stitcher *stitcher)
{
	if (!stitcher)
		return;
	for (size_t i = 0; i < stitcher->states.len; i++)
		vec_deinit(&stitcher->states.data[i].branches);
	vec_deinit(&stitcher->states);
	vec_deinit(&stitcher->callers);
	map64_deinit(&stitcher->threads);
	map64_deinit(&stitcher->prepared_callers);
	free(stitcher);
}

static struct thread_state *state_of(struct stitcher *stitcher, const struct thread *thread)
{
	bool is_new;
	uint64_t *at = map64_insert(&stitcher->threads, (uintptr_t)thread, &is_new);
	if (is_new) {
		*at = stitcher->states.len;
		vec_push(&stitcher->states, (struct thread_state){.callers = STITCH_NONE});
	}
	return &stitcher->states.data[*at];
}

/* Finds the branch of the sample before that lies in the register of this sample's oldest branch. False: it had none there, or another
 * one. */
static bool find_joint(const struct stitcher *stitcher, const struct thread_state *before, const struct sample *sample, size_t *ret)
{
	/* Numbers of registers count from 0 up to the newest, and go round. */
	uint64_t oldest = stitcher->registers - sample->branch_count + sample->branch_hw_index + 1;
	uint64_t distance = before->newest > oldest ? before->newest - oldest : stitcher->registers + before->newest - oldest;
	if (distance >= before->branches.len)
		return false;
	*ret = distance;
	return !memcmp(&before->branches.data[distance], &sample->branches[sample->branch_count - 1], sizeof(struct branch_entry));
}

static uint32_t add_caller(struct stitcher *stitcher, uint64_t ip, uint32_t next)
{
	vec_push(&stitcher->callers, (struct caller){ip, next});
	return (uint32_t)stitcher->callers.len - 1;
}

static uint32_t stitch(struct stitcher *stitcher, const struct thread *thread, const struct sample *sample)
{
	struct thread_state *state = state_of(stitcher, thread);
	size_t joint;
	if (!stitcher->registers)
		stitcher->registers = count_registers(&stitcher->session->reader->features);
	if (!sample->branch_count || sample->branch_count > stitcher->registers || !find_joint(stitcher, state, sample, &joint))
		state->callers = STITCH_NONE;
	else
		for (size_t i = state->branches.len; i-- > joint + 1 && stitcher->callers.len < STITCH_NONE;)
			state->callers = add_caller(stitcher, state->branches.data[i].from, state->callers);
	state->newest = sample->branch_hw_index;
	state->branches.len = 0;
	for (uint64_t i = 0; i < sample->branch_count && i < stitcher->registers; i++)
		vec_push(&state->branches, sample->branches[i]);
	return state->callers;
}

/* As stack.c looks for the part that branches take the place of. */
static bool has_user_part(const struct sample *sample)
{
	for (uint64_t i = 0; i < sample->chain_count; i++)
		if (sample->chain[i] == PERF_CONTEXT_USER)
			return true;
	return false;
}

uint32_t stitcher_callers(struct stitcher *stitcher, const struct thread *thread, const struct event_attr *attr,
			  const struct sample *sample)
{
	if (stitcher->prepared) {
		const uint64_t *found =
			map64_find(&stitcher->prepared_callers, (uint64_t)((const uint8_t *)sample->header - stitcher->records));
		return found ? (uint32_t)*found : STITCH_NONE;
	}
	return has_numbers(attr) && has_user_part(sample) ? stitch(stitcher, thread, sample) : STITCH_NONE;
}

uint64_t stitcher_caller(const struct stitcher *stitcher, uint32_t caller, uint32_t *ret_next)
{
	*ret_next = stitcher->callers.data[caller].next;
	return stitcher->callers.data[caller].ip;
}

struct error *stitcher_prepare(struct stitcher *stitcher, struct session *session)
{
	struct record record;
	struct sample sample;
	struct error *error = NULL;
	while (session_next(session, &record, &error) > 0) {
		if (record.header->type != RECORD_SAMPLE || session_decode_uncounted(session, &record, &sample))
			continue;
		const struct thread *thread = session_sample_thread(session->machine, &sample, record.model_time);
		uint32_t callers = stitcher_callers(stitcher, thread, &record.event->attr, &sample);
		if (callers != STITCH_NONE)
			*map64_insert(&stitcher->prepared_callers, record.offset, NULL) = callers;
	}
	stitcher->prepared = true;
	stitcher->records = session->reader->records;
	return error;
}
