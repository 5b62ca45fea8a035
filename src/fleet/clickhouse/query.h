/* Asking a fleet's engine for a profile: the sum of samples by event and stack is made there, by one query, and only that travels. Names of
 * the stacks that are in it are asked for afterwards. What comes back is taken as foreign bytes. */
#pragma once

#include "analysis/import/imported.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "fleet/clickhouse/connection.h"
#include "fleet/clickhouse/period.h"

#include <stddef.h>
#include <stdint.h>

struct fleet_question {
	const char *url; /* clickhouse://… */
	const struct http_options *http;
	const char *time;	   /* fleet_period_parse(), or NULL */
	const char *where;	   /* fleet_where_add(), or NULL */
	const char *const *labels; /* NAME=VALUE, ended by NULL; or NULL */
	unsigned int slices;	   /* pieces of the period, of which samples say in which they are; 0 = they don't */
};

struct fleet_profile {
	struct fleet_period period;
	uint64_t samples;     /* that the kernels took */
	uint64_t stacks;      /* different ones */
	uint64_t scale;	      /* each sample of `imported` stands for so many; 1 = all are there */
	uint64_t undescribed; /* stacks that the engine has samples of, but not what they are */
};

/* " WHERE …" of samples in the period that the question asks for. */
struct error *fleet_question_add_where(const struct fleet_question *question, struct strbuf *sql, struct fleet_period *ret_period);
/* `imported` (all zero before) is to be freed also after an error. */
struct error *fleet_ask_profile(const struct fleet_question *question, struct imported *imported, struct fleet_profile *ret);
