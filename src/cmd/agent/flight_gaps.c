/* Waits that are missing in a recording (flight_internal.h). A wait that isn't there may be the one that somebody looks for, so its text
 * says how many there are. They are counted when the thread is met again, which may be after the recording's end. */
#include "cmd/agent/flight_internal.h"

#include <inttypes.h>
#include <string.h>

void flight_gaps_deinit(struct flight_gaps *gaps)
{
	vec_deinit(&gaps->rounds);
}

void flight_gaps_add(struct flight_gaps *gaps, uint64_t time, struct flight_waits missing)
{
	const struct flight_waits before = gaps->rounds.len ? vec_last(&gaps->rounds)->missing : (struct flight_waits){0};
	if (missing.missed != before.missed || missing.unseen != before.unseen)
		vec_push(&gaps->rounds, ((struct flight_gap){time, missing}));
}

/* One stays, since what comes is counted from there. */
void flight_gaps_drop(struct flight_gaps *gaps, uint64_t older_than)
{
	size_t count = 0;
	while (count + 1 < gaps->rounds.len && gaps->rounds.data[count + 1].time < older_than)
		count++;
	if (count)
		memmove(gaps->rounds.data, gaps->rounds.data + count, (gaps->rounds.len -= count) * sizeof(*gaps->rounds.data));
}

static struct flight_waits missing_before(const struct flight_gaps *gaps, uint64_t time)
{
	struct flight_waits found = {0};
	for (size_t i = 0; i < gaps->rounds.len && gaps->rounds.data[i].time < time; i++)
		found = gaps->rounds.data[i].missing;
	return found;
}

static void tell_missed(uint64_t count, struct table *table)
{
	if (count)
		vec_push(&table->header, arena_printf(&table->arena, "%" PRIu64 " wait%s missing: too many threads and stacks at once",
						      count, count == 1 ? " is" : "s are"));
}

static void tell_unseen(uint64_t count, struct table *table)
{
	bool one = count == 1;
	if (count)
		vec_push(&table->header, arena_printf(&table->arena, "%" PRIu64 " wait%s missing: the kernel did not report when %s ended",
						      count, one ? " is" : "s are", one ? "it" : "they"));
}

void flight_gaps_tell(const struct flight_gaps *gaps, uint64_t since, struct table *table)
{
	const struct flight_waits before = missing_before(gaps, since), after = missing_before(gaps, UINT64_MAX);
	tell_missed(after.missed - before.missed, table);
	tell_unseen(after.unseen - before.unseen, table);
}
