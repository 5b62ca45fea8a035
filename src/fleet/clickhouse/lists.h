/* What a fleet's database has: machines, services, programs, labels, as tables. */
#pragma once

#include "base/error.h"
#include "fleet/clickhouse/query.h"
#include "result/table.h"

/* Names of the lists, ended by NULL. */
extern const char *const fleet_lists[];
/* The table is the caller's. Only samples and windows of the question's time; of machines and programs no other condition can be asked. */
struct error *fleet_list(const struct fleet_question *question, const char *list, struct table **ret);
