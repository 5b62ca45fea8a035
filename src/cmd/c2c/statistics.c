/* perf c2c: the figures above its tables. */
#include "cmd/c2c/c2c.h"

#include <math.h>

typedef void visit_fn(void *context, const struct c2c_statistic *statistic);

static const struct {
	const char *id, *text;
} counts[ACCESS_COUNTS] = {
#define COUNT(name, id, text) [ACCESS_##name] = {id, text},
#include "analysis/memory/access_counts.def"
#undef COUNT
};

static void visit_misses(const struct access_counts *total, visit_fn *visit, void *context)
{
	const struct c2c_statistic misses = {"load_llc_misses", "Load LLC Misses", .count = access_llc_misses(total)};
	visit(context, &misses);
}

static void visit_shares(const struct access_counts *total, visit_fn *visit, void *context)
{
	static const struct {
		const char *id, *text;
		enum access_count count;
	} shares[] = {{"llc_misses_to_local_ram", "LLC Misses to Local DRAM", ACCESS_LOCAL_RAM},
		      {"llc_misses_to_remote_ram", "LLC Misses to Remote DRAM", ACCESS_REMOTE_RAM},
		      {"llc_misses_to_remote_hit", "LLC Misses to Remote cache (HIT)", ACCESS_REMOTE_HIT},
		      {"llc_misses_to_remote_hitm", "LLC Misses to Remote cache (HITM)", ACCESS_REMOTE_HITM}};
	uint32_t misses = access_llc_misses(total);
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		const struct c2c_statistic share = {shares[i].id, shares[i].text, .percent = true,
						    .share = misses ? 100.0 * total->of[shares[i].count] / misses : NAN};
		visit(context, &share);
	}
}

static void visit_all(const struct access_counts *total, visit_fn *visit, void *context)
{
	for (unsigned int i = 0; i < ACCESS_COUNTS; i++) {
		if (i == ACCESS_BLOCKED_DATA)
			visit_misses(total, visit, context);
		if (i == ACCESS_STORES)
			visit_shares(total, visit, context);
		uint64_t modified = i == ACCESS_LOAD_LLC ? total->of[ACCESS_LOCAL_HITM] : 0; /* answered by that cache, too */
		const struct c2c_statistic statistic = {counts[i].id, counts[i].text, .count = total->of[i] + modified};
		visit(context, &statistic);
	}
}

static void visit_shared(const struct shared_lines *sharing, visit_fn *visit, void *context)
{
	const struct access_counts *shared = &sharing->shared;
	const uint32_t *of = shared->of;
	const struct c2c_statistic statistics[] = {
		{"shared_lines", "Total Shared Cache Lines", .count = sharing->shared_lines},
		{"shared_loads", "Load HITs on shared lines", .count = of[ACCESS_LOADS]},
		{"shared_fill_buffer", "Fill Buffer Hits on shared lines", .count = of[ACCESS_LOAD_FILL_BUFFER]},
		{"shared_l1", "L1D hits on shared lines", .count = of[ACCESS_LOAD_L1]},
		{"shared_l2", "L2D hits on shared lines", .count = of[ACCESS_LOAD_L2]},
		{"shared_llc", "LLC hits on shared lines", .count = (uint64_t)of[ACCESS_LOAD_LLC] + of[ACCESS_LOCAL_HITM]},
		{"shared_peer", "Load hits on peer cache or nodes", .count = access_peers(shared)},
		{"shared_locked", "Locked Access on shared lines", .count = of[ACCESS_LOCKED]},
		{"shared_blocked", "Blocked Access on shared lines",
		 .count = (uint64_t)of[ACCESS_BLOCKED_DATA] + of[ACCESS_BLOCKED_ADDRESS]},
		{"shared_stores", "Store HITs on shared lines", .count = of[ACCESS_STORES]},
		{"shared_store_l1", "Store L1D hits on shared lines", .count = of[ACCESS_STORE_L1_HIT]},
		{"shared_store_no_level", "Store No available memory level", .count = of[ACCESS_STORE_NO_LEVEL]},
		{"shared_merged", "Total Merged records", .count = (uint64_t)access_hitms(shared) + of[ACCESS_STORES]},
	};
	for (size_t i = 0; i < sizeof(statistics) / sizeof(*statistics); i++)
		visit(context, &statistics[i]);
}

void c2c_statistics(const struct c2c *c2c, bool shared, visit_fn *visit, void *context)
{
	if (shared)
		visit_shared(&c2c->sharing, visit, context);
	else
		visit_all(&c2c->sharing.total, visit, context);
}
