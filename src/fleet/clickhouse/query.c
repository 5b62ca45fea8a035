/* One aggregation, then the descriptions of its stacks and of their frames, some thousands at a time.
 *
 *	samples ──engine──► (stack, value, count)… ──► stacks, of events ──► frames ──► struct imported
 */
#include "fleet/clickhouse/query.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "fleet/clickhouse/hours.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/clickhouse/where.h"
#include "result/calltree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	ANSWER_MAX = 1 << 30,
	AT_A_TIME = 10000, /* ids in a question */
	FRAMES_MAX = 8000, /* of a stack */
	SAMPLES_MAX = 250000,
};

#define SECOND_NS UINT64_C(1000000000)

struct sum {
	uint64_t stack, value, count, time;
};

struct stack_read {
	uint32_t event; /* number in `imported` */
	const char *comm;
	const uint64_t *frames; /* outermost first */
	size_t count;
};

struct asking {
	struct clickhouse *clickhouse;
	struct imported *imported;
	struct arena arena;
	VEC(struct sum) sums;
	VEC(struct stack_read) stacks;
	VEC(uint32_t) frames; /* numbers in `imported` */
	VEC(uint32_t) frame_versions;
	struct map64 stack_numbers; /* id → number + 1 */
	struct map64 frame_numbers;
	struct map64 threads;  /* interned comm → number + 1 */
	uint64_t slice_length; /* seconds; 0 = no slices */
};

/* ---- the question ---- */

/* " AND …" for each condition. */
static struct error *add_conditions(const struct fleet_question *question, struct strbuf *sql, bool *ret_by_host)
{
	struct error *error = NULL;
	*ret_by_host = question->labels && *question->labels;
	if (question->where) {
		strbuf_add_str(sql, " AND ");
		error = fleet_where_add(question->where, sql, ret_by_host);
	}
	for (const char *const *label = question->labels; label && *label && !error; label++) {
		strbuf_add_str(sql, " AND ");
		error = fleet_label_add(*label, sql);
	}
	return error;
}

struct error *fleet_question_add_where(const struct fleet_question *question, struct strbuf *sql, struct fleet_period *ret_period)
{
	bool by_host;
	struct error *error = fleet_period_parse(question->time, clock_now_ns(CLOCK_REALTIME) / 1000000000, ret_period);
	if (error)
		return error;
	fleet_period_add_where(ret_period, sql);
	return add_conditions(question, sql, &by_host);
}

static const char *text_of(struct asking *asking, struct cursor *cursor)
{
	size_t length;
	const char *text = row_text(cursor, &length);
	return intern_bytes(&asking->imported->texts, text, length);
}

static struct error *damaged(const char *what)
{
	return error_new_kind(ERROR_FORMAT, "the engine's answer (%s) is not as it should be", what);
}

static struct error *read_sums(struct asking *asking, const struct strbuf *answer)
{
	struct cursor cursor = cursor_init(strbuf_str(answer), answer->len, false);
	while (cursor_left(&cursor) && !cursor.failed) {
		struct sum sum = {0};
		sum.time = asking->slice_length ? (cursor_u32(&cursor) * asking->slice_length + 1) * SECOND_NS : 0;
		sum.stack = cursor_u64(&cursor);
		sum.value = cursor_u64(&cursor);
		sum.count = cursor_u64(&cursor);
		if (cursor.failed)
			return damaged("sums");
		vec_push(&asking->sums, sum);
	}
	return NULL;
}

static void add_from_samples(struct asking *asking, const struct fleet_question *question, const struct fleet_period *period,
			     const char *condition, struct strbuf *sql)
{
	const uint64_t seconds = period->to - period->from;
	asking->slice_length = question->slices ? seconds / question->slices + 1 : 0;
	strbuf_add_str(sql, "SELECT ");
	if (asking->slice_length)
		strbuf_printf(sql, "toUInt32(intDiv(toUInt32(time) - %" PRIu64 ", %" PRIu64 ")) AS slice, ", period->from,
			      asking->slice_length);
	strbuf_add_str(sql, "stack, sum(value), sum(count) FROM samples");
	fleet_period_add_where(period, sql);
	strbuf_printf(sql, "%s GROUP BY %sstack FORMAT RowBinary", condition, asking->slice_length ? "slice, " : "");
}

/* Sums of hours are asked where there are some. That there are none, or no tables of them, is no error. */
static bool add_from_hours(struct asking *asking, const struct fleet_period *period, const char *condition, struct strbuf *sql)
{
	fleet_hour_list hours = {0};
	bool some = false;
	struct error *error = fleet_hours_ask(asking->clickhouse, period, &hours);
	for (size_t i = 0; i < hours.len && !error; i++)
		some |= hours.data[i].version != 0;
	if (some) {
		strbuf_add_str(sql, "SELECT stack, sum(v), sum(c)");
		fleet_hours_add_from(&hours, period, condition, sql);
		strbuf_add_str(sql, " GROUP BY stack FORMAT RowBinary");
	}
	error_free(error);
	vec_deinit(&hours);
	return some;
}

static struct error *ask_sums(struct asking *asking, const struct fleet_question *question, struct fleet_profile *ret)
{
	struct strbuf sql = {0}, condition = {0}, answer = {0};
	bool by_host;
	struct error *error = fleet_period_parse(question->time, clock_now_ns(CLOCK_REALTIME) / SECOND_NS, &ret->period);
	if (!error)
		error = add_conditions(question, &condition, &by_host);
	if (!error && (by_host || question->slices || !add_from_hours(asking, &ret->period, strbuf_str(&condition), &sql)))
		add_from_samples(asking, question, &ret->period, strbuf_str(&condition), &sql);
	if (!error)
		error = clickhouse_ask(asking->clickhouse, strbuf_str(&sql), "&skip_unavailable_shards=1", ANSWER_MAX, &answer);
	if (!error)
		error = read_sums(asking, &answer);
	strbuf_deinit(&sql);
	strbuf_deinit(&condition);
	strbuf_deinit(&answer);
	return error;
}

/* ---- descriptions ---- */

/* Asks for what belongs to the ids, whose rows `read` takes. */
static struct error *ask_described(struct asking *asking, const char *select, const uint64_t *ids, size_t count,
				   struct error *(*read)(struct asking *asking, struct cursor *cursor))
{
	struct error *error = NULL;
	struct strbuf sql = {0}, answer = {0};
	for (size_t i = 0; i < count && !error; i += AT_A_TIME) {
		strbuf_clear(&sql);
		strbuf_printf(&sql, "%s WHERE id IN (", select);
		for (size_t k = i; k < count && k < i + AT_A_TIME; k++)
			strbuf_printf(&sql, "%s%" PRIu64, k == i ? "" : ",", ids[k]);
		strbuf_add_str(&sql, ") FORMAT RowBinary");
		error = clickhouse_ask(asking->clickhouse, strbuf_str(&sql), "&max_query_size=10000000&skip_unavailable_shards=1",
				       ANSWER_MAX, &answer);
		struct cursor cursor = cursor_init(strbuf_str(&answer), answer.len, false);
		while (!error && cursor_left(&cursor))
			error = read(asking, &cursor);
	}
	strbuf_deinit(&sql);
	strbuf_deinit(&answer);
	return error;
}

/* The same stack may come from several servers, or twice from one: the first one counts. */
static struct error *read_stack(struct asking *asking, struct cursor *cursor)
{
	uint64_t id = cursor_u64(cursor);
	size_t unit_length;
	const char *event = text_of(asking, cursor), *unit = row_text(cursor, &unit_length), *comm = text_of(asking, cursor);
	uint64_t count = row_length(cursor);
	const void *frames = count <= FRAMES_MAX ? cursor_bytes(cursor, count * sizeof(uint64_t)) : NULL;
	if (cursor->failed || !frames)
		return damaged("stacks");
	uint64_t *number = map64_insert(&asking->stack_numbers, id, NULL);
	if (*number)
		return NULL;
	uint64_t *copy = arena_copy(&asking->arena, frames, (size_t)count * sizeof(*copy));
	uint32_t number_of_event = imported_event(asking->imported, event, unit_length == 2 && !memcmp(unit, "ns", 2));
	vec_push(&asking->stacks, (struct stack_read){number_of_event, comm, copy, (size_t)count});
	*number = asking->stacks.len;
	return NULL;
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

/* A frame that somebody has named goes before one that nobody has. */
static struct error *read_frame(struct asking *asking, struct cursor *cursor)
{
	struct intern *texts = &asking->imported->texts;
	uint64_t id = cursor_u64(cursor);
	uint32_t version = cursor_u32(cursor);
	uint64_t address = cursor_u64(cursor);
	const char *file = text_of(asking, cursor), *function = text_of(asking, cursor), *source = text_of(asking, cursor);
	uint32_t line = cursor_u32(cursor);
	uint8_t kind = cursor_u8(cursor), inlined = cursor_u8(cursor);
	char text[40];
	if (cursor->failed)
		return damaged("frames");
	uint64_t *number = map64_insert(&asking->frame_numbers, id, NULL);
	if (*number && asking->frame_versions.data[*number - 1] >= version)
		return NULL;
	snprintf(text, sizeof(text), "0x%016" PRIx64, address);
	const struct imported_frame frame = {
		.function = *function ? function : intern_string(texts, text),
		.mapping = or_null(file),
		.file = or_null(source),
		.line = line,
		.kernel = kind == FRAME_KERNEL,
		.inlined = inlined,
	};
	if (!*number) {
		vec_push(&asking->frames, 0);
		vec_push(&asking->frame_versions, 0);
		*number = asking->frames.len;
	}
	asking->frames.data[*number - 1] = imported_frame(asking->imported, &frame);
	asking->frame_versions.data[*number - 1] = version;
	return NULL;
}

static struct error *ask_stacks(struct asking *asking)
{
	VEC(uint64_t) ids = {0};
	struct map64 seen = {0};
	bool fresh;
	for (size_t i = 0; i < asking->sums.len; i++) {
		map64_insert(&seen, asking->sums.data[i].stack, &fresh);
		if (fresh)
			vec_push(&ids, asking->sums.data[i].stack);
	}
	struct error *error = ask_described(asking, "SELECT id, event, unit, comm, frames FROM stacks", ids.data, ids.len, read_stack);
	map64_deinit(&seen);
	vec_deinit(&ids);
	return error;
}

static struct error *ask_frames(struct asking *asking)
{
	VEC(uint64_t) ids = {0};
	struct map64 seen = {0};
	bool fresh;
	for (size_t i = 0; i < asking->stacks.len; i++)
		for (size_t k = 0; k < asking->stacks.data[i].count; k++) {
			map64_insert(&seen, asking->stacks.data[i].frames[k], &fresh);
			if (fresh)
				vec_push(&ids, asking->stacks.data[i].frames[k]);
		}
	struct error *error = ask_described(asking, "SELECT id, version, address, file, function, source, line, kind, inlined FROM frames",
					    ids.data, ids.len, read_frame);
	map64_deinit(&seen);
	vec_deinit(&ids);
	return error;
}

/* ---- the profile ---- */

static uint32_t frame_of(struct asking *asking, uint64_t id)
{
	const uint64_t *number = map64_find(&asking->frame_numbers, id);
	const struct imported_frame unknown = {.function = intern_string(&asking->imported->texts, "[frame not stored]")};
	return number ? asking->frames.data[*number - 1] : imported_frame(asking->imported, &unknown);
}

/* A thread for each name: which threads they were isn't kept. */
static uint32_t thread_of(struct asking *asking, const char *comm)
{
	uint64_t *number = map64_insert(&asking->threads, (uintptr_t)comm, NULL);
	if (!*number)
		*number = asking->threads.count;
	return imported_thread(asking->imported, (uint32_t)*number, (uint32_t)*number, comm);
}

/* At least 1 of each stack; by how much a sum of many is divided is the same for all. */
static uint32_t count_of(uint64_t count, uint64_t scale)
{
	uint64_t scaled = (count + scale / 2) / scale;
	return scaled < 1 ? 1 : scaled > UINT32_MAX ? UINT32_MAX : (uint32_t)scaled;
}

static void add_sum(struct asking *asking, const struct sum *sum, struct fleet_profile *profile)
{
	const uint64_t *number = map64_find(&asking->stack_numbers, sum->stack);
	const char *unknown = intern_string(&asking->imported->texts, "[unknown]");
	const struct stack_read none = {.comm = unknown, .event = number ? 0 : imported_event(asking->imported, unknown, false)};
	const struct stack_read *stack = number ? &asking->stacks.data[*number - 1] : &none;
	uint32_t place = IMPORTED_NO_STACK;
	for (size_t i = 0; i < stack->count; i++)
		place = imported_stack(asking->imported, place, frame_of(asking, stack->frames[i]));
	if (!number) {
		const struct imported_frame unknown = {.function = intern_string(&asking->imported->texts, "[stack not stored]")};
		place = imported_stack(asking->imported, place, imported_frame(asking->imported, &unknown));
		profile->undescribed++;
	}
	const struct imported_sample sample = {
		.event = stack->event,
		.stack = place,
		.thread = thread_of(asking, stack->comm),
		.count = count_of(sum->count, profile->scale),
		.period = sum->value,
		.time = sum->time,
	};
	vec_push(&asking->imported->samples, sample);
}

static void make_profile(struct asking *asking, struct fleet_profile *profile)
{
	profile->stacks = asking->sums.len;
	for (size_t i = 0; i < asking->sums.len; i++)
		profile->samples += asking->sums.data[i].count;
	profile->scale = profile->samples > SAMPLES_MAX ? profile->samples / SAMPLES_MAX + 1 : 1;
	for (size_t i = 0; i < asking->sums.len; i++)
		add_sum(asking, &asking->sums.data[i], profile);
}

static void end(struct asking *asking)
{
	clickhouse_close(asking->clickhouse);
	arena_deinit(&asking->arena);
	vec_deinit(&asking->sums);
	vec_deinit(&asking->stacks);
	vec_deinit(&asking->frames);
	vec_deinit(&asking->frame_versions);
	map64_deinit(&asking->stack_numbers);
	map64_deinit(&asking->frame_numbers);
	map64_deinit(&asking->threads);
}

struct error *fleet_ask_profile(const struct fleet_question *question, struct imported *imported, struct fleet_profile *ret)
{
	struct asking asking = {.imported = imported};
	struct fleet_profile profile = {0};
	struct error *error = clickhouse_open(question->url, question->http, &asking.clickhouse);
	error = error ? error : ask_sums(&asking, question, &profile);
	error = error ? error : ask_stacks(&asking);
	error = error ? error : ask_frames(&asking);
	if (!error)
		make_profile(&asking, &profile);
	end(&asking);
	if (!error)
		*ret = profile;
	return error_wrap(error, "--from");
}
