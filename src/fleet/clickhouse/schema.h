/* The tables in which windows of a fleet are kept.
 *
 *	windows ── id, host, when, what was taken and lost
 *	samples ── time, host, service, event, labels ─┐ stack ─┐ value, count
 *	labels ◄── id, names and values ───────────────┘        │
 *	stacks ◄── id, event, comm, frames ─┐ ──────────────────┘
 *	frames ◄── id, build-id, address, function … ┘
 *
 * Ids of labels, stacks and frames are made of what they stand for, so that whoever inserts them again changes nothing. Of a cluster each
 * table is two: NAME_local on each server, and NAME, which asks and fills all of them. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>

enum {
	CLICKHOUSE_18_16 = 18016,  /* the oldest that is tried */
	CLICKHOUSE_CODECS = 20003, /* compression of columns, TTL, LowCardinality: 20.3, the first long-term version that has all */
	CLICKHOUSE_ASYNC = 22008,  /* async inserts and insert_deduplication_token */
	CLICKHOUSE_NEWEST = 24008,
};

struct clickhouse_schema {
	unsigned int version; /* 24008 is 24.8 */
	const char *database;
	const char *cluster; /* as <remote_servers> names it; or NULL: one server */
	unsigned int days;   /* that samples are kept; 0 = for ever */
};

/* Names of the tables, ended by NULL. */
extern const char *const clickhouse_tables[];
/* All statements, each ended by ";\n", with remarks. */
void clickhouse_add_schema(struct strbuf *out, const struct clickhouse_schema *schema);
/* The same one by one, without remarks: false behind the last. */
bool clickhouse_add_statement(struct strbuf *out, const struct clickhouse_schema *schema, unsigned int number);
