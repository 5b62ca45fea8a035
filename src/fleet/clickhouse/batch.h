/* A window as what ClickHouse takes: rows of its tables (schema.h) in the format RowBinary, compressed by gzip.
 *
 *	head: host, second of the beginning, how many rows of samples, numbers of what is described
 *	frames, stacks, labels, samples, windows: in this order they are inserted
 *
 * A batch may leave out descriptions that the engine has already had today (struct clickhouse_known). */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "result/window.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids of frames, stacks and label sets that the engine has. Bounded. Thread-safe. */
struct clickhouse_known {
	pthread_mutex_t lock;
	struct map64 ids; /* → the day of the last time */
};
void clickhouse_known_init(struct clickhouse_known *known);
void clickhouse_known_deinit(struct clickhouse_known *known);
void clickhouse_known_add(struct clickhouse_known *known, uint64_t id, uint16_t day);

enum clickhouse_part { PART_FRAMES, PART_STACKS, PART_LABELS, PART_SAMPLES, PART_WINDOWS, CLICKHOUSE_PARTS };

/* `known` may be NULL: all is described. */
void clickhouse_encode(const struct window *window, struct clickhouse_known *known, struct strbuf *ret);

/* The batch, opened; all points into its bytes. */
struct clickhouse_batch {
	const char *host, *host_id;
	size_t host_length, host_id_length;
	uint32_t second, rows;
	uint16_t day;
	const uint8_t *ids; /* id_count × 8 bytes */
	size_t id_count;
	struct {
		uint32_t rows;
		const void *data;
		size_t size;
	} parts[CLICKHOUSE_PARTS];
};
struct error *clickhouse_batch_open(const void *data, size_t size, struct clickhouse_batch *ret);
/* What all of it describes is known from now on. */
void clickhouse_batch_known(const struct clickhouse_batch *batch, struct clickhouse_known *known);
