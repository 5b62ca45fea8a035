/* A recording is read once more, with all that this machine knows of its addresses. */
#include "cmd/record/self_contained.h"

#include "analysis/carry/carry.h"
#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <string.h>

/* Build-ids that the header will have: they go by name, the last one counts. `files`: of files too, not only of what is in none. */
static void take_build_ids(struct machine *machine, const struct features *features, bool files)
{
	for (size_t i = 0; i < machine->dsos.len; i++) {
		struct dso *dso = machine->dsos.data[i];
		bool known = dso->build_id.size || (dso->name[0] == '/' && !files);
		for (size_t k = 0; k < features->build_ids.len && !known; k++)
			if (!strcmp(features->build_ids.data[k].filename, dso->name))
				dso->build_id = features->build_ids.data[k].id;
	}
}

static struct error *gather(struct session *session, struct features *features)
{
	cleanup_free char *buildid_dir = config_buildid_dir();
	const struct symbol_options symbols = {
		.buildid_dir = buildid_dir,
		.force = true,
		.demangle = true,
		.demangle_kernel = true,
		.same_machine = session_is_of_this_machine(session),
	};
	const struct carry_options options = carry_options_for(session->reader->data_end - session->reader->data_offset);
	struct resolver *resolver = resolver_create(session->machine, &symbols);
	struct strbuf table = {0};
	struct carry_counts counts;
	struct error *error = carry_gather(session, resolver, &options, &table, &counts);
	if (!error) {
		features->carried = arena_copy(&features->arena, table.data, table.len);
		features->carried_size = table.len;
		features_set(features, FEATURE_SELF_CONTAINED);
		log_info("Self-contained: %zu files, %zu symbols, the code of %zu functions, that of %zu left out for want of room",
			 counts.files, counts.symbols, counts.functions, counts.left_out);
	}
	strbuf_deinit(&table);
	resolver_destroy(resolver);
	return error;
}

struct error *self_contained_gather(const char *path, bool afterwards, struct features *features)
{
	const struct session_options options = {.input = {.path = path, .force = true}};
	struct session *session;
	struct error *error = session_open(&options, &session);
	if (error)
		return error;
	take_build_ids(session->machine, features, afterwards);
	error = gather(session, features);
	session_close(session);
	return error;
}
