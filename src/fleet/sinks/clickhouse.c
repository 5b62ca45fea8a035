/* The sink that is a ClickHouse server or cluster.
 *
 *	clickhouse://user@db.example:8123/perf?also=db2.example:8123      clickhouses:// with TLS
 *
 * A batch is up to five INSERTs. Descriptions (frames, stacks, labels) may come any number of times. The samples of a window are one INSERT
 * into one partition, which the server takes whole or not at all; the row of the window is the last INSERT, and says that all is there.
 *
 *	an answer is lost, somebody is killed ──► at the next attempt, and for batches of an earlier process, it is asked first:
 *	        is the window there?        ──► taken
 *	        are its samples there?      ──► only the window's row is missing
 *
 * Replicated tables know the samples by themselves, as the same block of rows: that covers a replica that doesn't have yet what another one
 * has taken. In a cluster, samples therefore always go to the same shard, that of their host: into the server's own table where it is of
 * that shard, else through the Distributed table, at once and not by way of the server's queue. All else goes to whichever shard the
 * server is of, so that no other one is needed. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/connection.h"
#include "fleet/clickhouse/schema.h"
#include "fleet/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_SIZE = 16, FRESH_MAX = 1 << 16 };

struct clickhouse_sink {
	struct clickhouse *clickhouse;
	struct clickhouse_known known;
	pthread_mutex_t lock; /* of `fresh` */
	struct map64 fresh;   /* ids of windows of this process that were never sent: nobody has them */
	bool local_known;
	const char *local; /* suffix of a server's own tables: "_local" in a cluster */
	/* Whether the server asked last is of the shard of the host asked for last. */
	bool shard_known, shard_own;
	uint64_t shard_key;
};

static const char *const columns[CLICKHOUSE_PARTS] = {
	"frames%s (id, day, version, build_id, address, file, function, source, line, kind, inlined)",
	"stacks%s (id, day, event, unit, comm, frames)",
	"labels%s (id, day, names, values)",
	"samples%s (time, host, service, event, unit, labels, stack, value, count)",
	"windows%s (id, host, host_id, begin, begin_ns, end_ns, rows, taken, stored, lost, dropped)",
};

static void close_sink(void *state)
{
	struct clickhouse_sink *sink = state;
	clickhouse_close(sink->clickhouse);
	clickhouse_known_deinit(&sink->known);
	map64_deinit(&sink->fresh);
	pthread_mutex_destroy(&sink->lock);
	free(sink);
}

static struct error *open_sink(const struct fleet_sink_options *options, void **ret_state)
{
	struct clickhouse_sink *sink = mem_zalloc(sizeof(*sink));
	clickhouse_known_init(&sink->known);
	pthread_mutex_init(&sink->lock, NULL);
	struct error *error = clickhouse_open(options->url, &options->http, &sink->clickhouse);
	if (error)
		close_sink(sink);
	else
		*ret_state = sink;
	return error;
}

static uint64_t key_of(const uint8_t *id)
{
	uint64_t words[2];
	memcpy(words, id, sizeof(words));
	return hash_combine(words[0], words[1]);
}

static struct error *encode(void *state, const struct window *window, struct strbuf *ret)
{
	struct clickhouse_sink *sink = state;
	clickhouse_encode(window, &sink->known, ret);
	pthread_mutex_lock(&sink->lock);
	if (sink->fresh.count < FRESH_MAX) /* more are asked for, which is only slower */
		map64_insert(&sink->fresh, key_of(window->id), NULL);
	pthread_mutex_unlock(&sink->lock);
	return NULL;
}

/* True only once. */
static bool take_fresh(struct clickhouse_sink *sink, const uint8_t *id)
{
	pthread_mutex_lock(&sink->lock);
	bool fresh = map64_remove(&sink->fresh, key_of(id));
	pthread_mutex_unlock(&sink->lock);
	return fresh;
}

/* ---- what is there already ---- */

struct sending {
	struct clickhouse_sink *sink;
	const struct clickhouse_batch *batch;
	char id[2 * ID_SIZE + 1]; /* hexadecimal */
	enum clickhouse_failure failure;
};

static struct error *ask_number(const struct sending *sending, const struct strbuf *question, uint64_t *ret)
{
	/* Of a shard that is away only its own hosts could have something, and those can't be stored either. */
	return clickhouse_ask_number(sending->sink->clickhouse, strbuf_str(question), "&skip_unavailable_shards=1", ret);
}

static struct error *has_window(const struct sending *sending, bool *ret)
{
	struct strbuf question = {0};
	uint64_t count = 0;
	strbuf_printf(&question, "SELECT count() FROM windows WHERE id = unhex('%s') AND begin = toDateTime(%u)", sending->id,
		      sending->batch->second);
	struct error *error = ask_number(sending, &question, &count);
	strbuf_deinit(&question);
	*ret = count > 0;
	return error;
}

/* " WHERE host = … AND …": of the machine, at the time of the window. */
static void add_place(const struct sending *sending, const char *time_column, struct strbuf *sql)
{
	const struct clickhouse_batch *batch = sending->batch;
	strbuf_printf(sql, " WHERE %s = toDateTime(%u) AND host = ", time_column, batch->second);
	clickhouse_add_literal(sql, batch->host, batch->host_length);
}

/* Rows of samples that no other window of the host at that time accounts for, nor one of another machine of its name: ours, or none. */
static struct error *has_samples(const struct sending *sending, bool *ret)
{
	const struct clickhouse_batch *batch = sending->batch;
	struct strbuf question = {0};
	uint64_t found = 0, others = 0;
	strbuf_add_str(&question, "SELECT count() FROM samples");
	add_place(sending, "time", &question);
	struct error *error = ask_number(sending, &question, &found);
	if (!error && found) {
		strbuf_clear(&question);
		strbuf_add_str(&question, "SELECT sum(n) FROM (SELECT id, toUInt64(any(rows)) AS n FROM windows");
		add_place(sending, "begin", &question);
		strbuf_add_str(&question, " GROUP BY id)");
		error = ask_number(sending, &question, &others);
	}
	strbuf_deinit(&question);
	*ret = found && found - others == batch->rows;
	return error;
}

/* ---- sending ---- */

/* In a cluster there is a table NAME_local beside NAME. */
static struct error *find_local(struct clickhouse_sink *sink)
{
	uint64_t count = 0;
	struct strbuf question = {0};
	if (sink->local_known)
		return NULL;
	strbuf_printf(&question, "SELECT count() FROM system.tables WHERE database = '%s' AND name = 'stacks_local'",
		      clickhouse_database(sink->clickhouse));
	struct error *error = clickhouse_ask_number(sink->clickhouse, strbuf_str(&question), "", &count);
	strbuf_deinit(&question);
	sink->local = count ? "_local" : "";
	sink->local_known = !error;
	return error;
}

/* As the Distributed table chooses a shard; all of them weigh the same. */
static struct error *find_shard(const struct sending *sending)
{
	static const char cluster[] =
		"(SELECT extract(engine_full, 'Distributed\\\\(\\'?(\\\\w+)') FROM system.tables WHERE database = '%s' AND "
		"name = 'samples')";
	struct clickhouse_sink *sink = sending->sink;
	const struct clickhouse_batch *batch = sending->batch;
	uint64_t key = hash_combine(hash_bytes(batch->host, batch->host_length), clickhouse_server(sink->clickhouse)), count = 0;
	if (!*sink->local || (sink->shard_known && sink->shard_key == key))
		return NULL;
	cleanup_free char *name = mem_printf(cluster, clickhouse_database(sink->clickhouse));
	struct strbuf question = {0};
	strbuf_printf(&question, "SELECT count() FROM system.clusters WHERE is_local AND cluster = %s AND shard_num = 1 + cityHash64(",
		      name);
	clickhouse_add_literal(&question, batch->host, batch->host_length);
	strbuf_printf(&question, ") %% (SELECT max(shard_num) FROM system.clusters WHERE cluster = %s)", name);
	struct error *error = clickhouse_ask_number(sink->clickhouse, strbuf_str(&question), "", &count);
	strbuf_deinit(&question);
	sink->shard_known = !error;
	sink->shard_own = count > 0;
	sink->shard_key = hash_combine(hash_bytes(batch->host, batch->host_length), clickhouse_server(sink->clickhouse));
	return error;
}

static struct error *insert(struct sending *sending, enum clickhouse_part part)
{
	struct clickhouse_sink *sink = sending->sink;
	bool own = part != PART_SAMPLES || sink->shard_own;
	unsigned int version;
	struct strbuf statement = {0}, settings = {0};
	if (!sending->batch->parts[part].rows)
		return NULL;
	strbuf_add_str(&statement, "INSERT INTO ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	strbuf_printf(&statement, columns[part], own ? sink->local : "");
#pragma GCC diagnostic pop
	strbuf_add_str(&statement, " FORMAT RowBinary");
	if (*sink->local && !own)
		strbuf_add_str(&settings, "&insert_distributed_sync=1");
	if (clickhouse_known_version(sink->clickhouse, &version) && version >= CLICKHOUSE_ASYNC)
		strbuf_printf(&settings, "&async_insert=1&wait_for_async_insert=1&async_insert_deduplicate=1&insert_deduplication_token=%s",
			      sending->id);
	struct error *error = clickhouse_insert(sink->clickhouse, strbuf_str(&statement), strbuf_str(&settings),
						sending->batch->parts[part].data, sending->batch->parts[part].size, &sending->failure);
	strbuf_deinit(&statement);
	strbuf_deinit(&settings);
	return error;
}

static struct error *insert_all(struct sending *sending, bool fresh)
{
	bool there = false;
	unsigned int version;
	sending->failure = CLICKHOUSE_AWAY;
	struct error *error = clickhouse_version(sending->sink->clickhouse, &version);
	error = error ? error : find_local(sending->sink);
	error = error ? error : find_shard(sending);
	if (!error && !fresh)
		error = has_window(sending, &there);
	if (error || there)
		return error;
	for (enum clickhouse_part part = 0; part <= PART_LABELS && !error; part++)
		error = insert(sending, part);
	if (!error && !fresh)
		error = has_samples(sending, &there);
	if (!error && !there)
		error = insert(sending, PART_SAMPLES);
	return error ? error : insert(sending, PART_WINDOWS);
}

static enum sink_outcome send_batch(void *state, const uint8_t *id, const void *data, size_t size, struct error **ret_why)
{
	struct clickhouse_sink *sink = state;
	struct clickhouse_batch batch;
	struct sending sending = {.sink = sink, .batch = &batch};
	*ret_why = clickhouse_batch_open(data, size, &batch);
	if (*ret_why)
		return SINK_REFUSED;
	for (size_t i = 0; i < ID_SIZE; i++)
		snprintf(sending.id + 2 * i, 3, "%02x", id[i]);
	*ret_why = insert_all(&sending, take_fresh(sink, id));
	if (*ret_why)
		return sending.failure == CLICKHOUSE_BAD_DATA ? SINK_REFUSED : SINK_LATER;
	clickhouse_batch_known(&batch, &sink->known);
	return SINK_TAKEN;
}

static unsigned int wait_s(const void *state)
{
	const struct clickhouse_sink *sink = state;
	return clickhouse_wait_s(sink->clickhouse);
}

static void stop(void *state)
{
	struct clickhouse_sink *sink = state;
	clickhouse_stop(sink->clickhouse);
}

/* ---- perf agent check ---- */

static struct error *check(void *state)
{
	struct clickhouse_sink *sink = state;
	const char *database = clickhouse_database(sink->clickhouse);
	unsigned int version;
	struct error *error = clickhouse_version(sink->clickhouse, &version);
	if (error)
		return error;
	if (version < CLICKHOUSE_18_16)
		return error_new("ClickHouse %u.%u is too old: 18.16 is the oldest that is supported", version / 1000, version % 1000);
	for (const char *const *table = clickhouse_tables; *table && !error; table++) {
		struct strbuf question = {0};
		uint64_t count = 0;
		strbuf_printf(&question, "SELECT count() FROM system.tables WHERE database = '%s' AND name = '%s'", database, *table);
		error = clickhouse_ask_number(sink->clickhouse, strbuf_str(&question), "", &count);
		if (!error && !count)
			error = error_new(
				"the database '%s' has no table '%s', or the user may not see it: 'perf agent schema clickhouse' prints "
				"what makes them",
				database, *table);
		strbuf_deinit(&question);
	}
	return error;
}

static const char *const schemes[] = {"clickhouse", "clickhouses", NULL};
const struct sink_kind sink_clickhouse = {
	.schemes = schemes,
	.summary = "a ClickHouse server or cluster: perf report --from reads it again",
	.open = open_sink,
	.close = close_sink,
	.encode = encode,
	.send = send_batch,
	.wait_s = wait_s,
	.stop = stop,
	.check = check,
};
