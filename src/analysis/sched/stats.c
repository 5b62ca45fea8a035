/* Differences of snapshots of /proc/schedstat (stats.h): what a row had in the first snapshot is taken off what it has in the second. */
#include "analysis/sched/stats.h"

#include "base/hash.h"
#include "base/mem.h"
#include "perfdata/records.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 6, LB_NAMES = 11 };

static const struct sched_stats_field cpu_fields[] = {{"yld_count", -1, false},	  {"array_exp", -1, false},  {"sched_count", -1, false},
						      {"sched_goidle", 2, false}, {"ttwu_count", -1, false}, {"ttwu_local", 4, false},
						      {"rq_cpu_time", -1, false}, {"run_delay", 6, false},   {"pcount", -1, false}};

/* Names are those of the kernel's documentation. */
#define BALANCING(when)                                                                                                       \
	{                                                                                                                     \
		when "_lb_count", when "_lb_balanced", when "_lb_failed", when "_lb_imbalance", when "_lb_imbalance_load",    \
			when "_lb_imbalance_util", when "_lb_imbalance_task", when "_lb_imbalance_misfit", when "_lb_gained", \
			when "_lb_hot_gained", when "_lb_nobusyq", when "_lb_nobusyg"                                         \
	}

static const char *const balancing[][LB_NAMES + 1] = {BALANCING("busy"), BALANCING("idle"), BALANCING("newidle")};
static const char *const others[] = {"alb_count",    "alb_failed",	 "alb_pushed",	     "sbe_count",
				     "sbe_balanced", "sbe_pushed",	 "sbf_count",	     "sbf_balanced",
				     "sbf_pushed",   "ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance"};

/* Version 16 put the busy CPU before the idle one; 17 has kinds of imbalance in place of one. */
size_t sched_stats_fields(uint32_t version, bool domain, struct sched_stats_field buffer[SCHED_STATS_VALUES])
{
	enum { IMBALANCE = 3, KINDS = 4 };
	size_t count = 0;
	if (!domain) {
		memcpy(buffer, cpu_fields, sizeof(cpu_fields));
		return sizeof(cpu_fields) / sizeof(*cpu_fields);
	}
	for (unsigned int when = 0; when < 3; when++) {
		const char *const *names = balancing[version < 16 && when < 2 ? !when : when];
		for (unsigned int i = 0; i <= LB_NAMES; i++) {
			bool kind = i > IMBALANCE && i <= IMBALANCE + KINDS;
			if (version >= 17 ? i != IMBALANCE : !kind)
				buffer[count++] = (struct sched_stats_field){names[i], -1, !i};
		}
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		buffer[count++] = (struct sched_stats_field){others[i], -1, i % 3 == 0 && i < 9};
	return count;
}

/* A recording may have any number of CPUs and domains. */
static struct sched_stats_row *find_row(struct sched_stats *stats, uint32_t cpu, int domain, struct map64 *places)
{
	bool is_new;
	uint64_t *place = map64_insert(places, (uint64_t)cpu << 32 | (uint32_t)domain, &is_new);
	if (is_new) {
		*place = stats->rows.len;
		vec_push(&stats->rows, (struct sched_stats_row){.cpu = cpu, .domain = domain});
	}
	return &stats->rows.data[*place];
}

/* Counters of 32 bits wrap. */
static void take(struct sched_stats *stats, const struct sched_stats_row *snapshot, struct map64 *places)
{
	struct sched_stats_row *row = find_row(stats, snapshot->cpu, snapshot->domain, places);
	const uint64_t *values = snapshot->values;
	uint64_t timestamp = snapshot->first_time;
	if (!row->seen++) {
		row->count = snapshot->count;
		row->first_time = timestamp;
		memcpy(row->values, values, sizeof(*values) * snapshot->count);
		return;
	}
	for (size_t i = 0; i < row->count && i < snapshot->count && row->seen == 2; i++) {
		bool small = row->domain >= 0 || i < SMALL;
		row->values[i] = small ? (uint32_t)(values[i] - row->values[i]) : values[i] - row->values[i];
	}
	if (timestamp - row->first_time > stats->jiffies)
		stats->jiffies = timestamp - row->first_time;
}

static void take_cpu(struct sched_stats *stats, const struct record_schedstat_cpu *record, struct map64 *places)
{
	stats->version = record->version;
	take(stats,
	     &(struct sched_stats_row){.cpu = record->cpu,
				       .domain = -1,
				       .first_time = record->timestamp,
				       .values = {record->yld_count, record->array_exp, record->sched_count, record->sched_goidle,
						  record->ttwu_count, record->ttwu_local, record->rq_cpu_time, record->run_delay,
						  record->pcount},
				       .count = sizeof(cpu_fields) / sizeof(*cpu_fields)},
	     places);
}

static void take_domain(struct sched_stats *stats, const struct record_schedstat_domain *record, struct map64 *places)
{
	struct sched_stats_row row = {.cpu = record->cpu, .domain = record->domain, .first_time = record->timestamp};
	const uint8_t *data = (const uint8_t *)(record + 1), *end = (const uint8_t *)record + record->header.size;
	uint32_t value;
	for (; (size_t)(end - data) >= sizeof(value) && row.count < SCHED_STATS_VALUES; data += sizeof(value)) {
		memcpy(&value, data, sizeof(value));
		row.values[row.count++] = value;
	}
	take(stats, &row, places);
}

static void take_record(struct sched_stats *stats, const struct record_header *header, struct map64 *places)
{
	if (header->type == RECORD_SCHEDSTAT_CPU)
		take_cpu(stats, (const void *)header, places);
	else if (header->type == RECORD_SCHEDSTAT_DOMAIN)
		take_domain(stats, (const void *)header, places);
}

/* A row without a second snapshot says nothing. */
static void drop_single(struct sched_stats *stats)
{
	size_t kept = 0;
	for (size_t i = 0; i < stats->rows.len; i++)
		if (stats->rows.data[i].seen > 1)
			stats->rows.data[kept++] = stats->rows.data[i];
	stats->rows.len = kept;
}

struct error *sched_stats_create(struct session *session, struct sched_stats **ret)
{
	struct sched_stats *stats = mem_zalloc(sizeof(*stats));
	struct error *error = NULL;
	struct record record;
	struct map64 places = {0}; /* CPU and domain → the number of their row */
	while (session_next(session, &record, &error) > 0)
		take_record(stats, record.header, &places);
	map64_deinit(&places);
	drop_single(stats);
	if (!error && !stats->rows.len)
		error = error_new("%s has no two snapshots of scheduler statistics; record them with: perf sched stats record",
				  reader_name(session->reader));
	if (error)
		sched_stats_destroy(stats);
	else
		*ret = stats;
	return error;
}

void sched_stats_destroy(struct sched_stats *stats)
{
	if (!stats)
		return;
	vec_deinit(&stats->rows);
	free(stats);
}

struct sched_stats_row sched_stats_sum(const struct sched_stats *stats, int domain)
{
	struct sched_stats_row sum = {.domain = domain};
	for (size_t i = 0; i < stats->rows.len; i++) {
		const struct sched_stats_row *row = &stats->rows.data[i];
		if (row->domain != domain)
			continue;
		sum.count = row->count > sum.count ? row->count : sum.count;
		for (size_t j = 0; j < row->count; j++)
			sum.values[j] += row->values[j];
	}
	return sum;
}
