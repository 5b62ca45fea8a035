/* A ClickHouse server, or several of one cluster, asked by HTTP (its "HTTP interface": /?query=…).
 *
 *	clickhouse://[USER@]HOST[:PORT][/DATABASE][?also=HOST:PORT,HOST:PORT]     clickhouses:// with TLS
 *
 * Servers that are named by `also` are asked when the one before doesn't answer. Without a user that of the options is taken, with its
 * password file. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "fleet/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLICKHOUSE_DATABASE "perf"

struct clickhouse;

/* Connects to nothing. */
struct error *clickhouse_open(const char *url, const struct http_options *options, struct clickhouse **ret);
void clickhouse_close(struct clickhouse *clickhouse);
/* What is under way ends soon, with an error, and all that follows at once. From any thread. */
void clickhouse_stop(struct clickhouse *clickhouse);
const char *clickhouse_database(const struct clickhouse *clickhouse);
/* The number of the server that is asked next. */
size_t clickhouse_server(const struct clickhouse *clickhouse);

/* A literal of SQL: in quotes, with what could end it escaped. */
void clickhouse_add_literal(struct strbuf *sql, const char *text, size_t length);

/* What went wrong, beyond the error's words. */
enum clickhouse_failure {
	CLICKHOUSE_AWAY,     /* no answer: nobody knows whether it was done */
	CLICKHOUSE_FAILED,   /* it says no: overload, no such table, no rights; which may change */
	CLICKHOUSE_BAD_DATA, /* it can't read what it got */
};

/* Numbers of the server's version, such as 24008; asked for once. */
struct error *clickhouse_version(struct clickhouse *clickhouse, unsigned int *ret);
/* Whether its version is known, which is then *ret. */
bool clickhouse_known_version(const struct clickhouse *clickhouse, unsigned int *ret);

/* A statement without an answer, which names its database, such as CREATE. */
struct error *clickhouse_run(struct clickhouse *clickhouse, const char *statement);
/* A question whose answer is bytes in the format that it names, whole: no more than `limit` (else an error). `settings`: "&NAME=VALUE…". A
 * server that gives no answer is followed by the next one. */
struct error *clickhouse_ask(struct clickhouse *clickhouse, const char *question, const char *settings, size_t limit, struct strbuf *ret);
/* The same question, but its answer is one number. */
struct error *clickhouse_ask_number(struct clickhouse *clickhouse, const char *question, const char *settings, uint64_t *ret);
/* Rows, compressed by gzip, as the statement says ("INSERT INTO … FORMAT RowBinary"). After a failure the next call tries the next
 * server. */
struct error *clickhouse_insert(struct clickhouse *clickhouse, const char *statement, const char *settings, const void *rows, size_t size,
				enum clickhouse_failure *ret_failure);
/* For how many seconds the server that was asked last wants to be left alone. */
unsigned int clickhouse_wait_s(const struct clickhouse *clickhouse);
