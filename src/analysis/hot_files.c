/* Which files have most samples, by one pass over the sampled addresses. */
#include "analysis/hot_files.h"

#include "analysis/hits.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "symbol/debugfile.h"

#include <stdlib.h>

struct hot_file {
	const struct dso *dso;
	uint64_t samples;
};

static int hottest_first(const void *a, const void *b)
{
	const struct hot_file *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->dso->index < y->dso->index ? -1 : 1;
}

void hot_files_fetch(struct session *session, const struct symbol_options *options)
{
	uint64_t *hits;
	struct error *error = options->debug_server ? hits_find(session, SIDES_UNSAID, &hits) : NULL;
	if (!options->debug_server || error) {
		error_free(error); /* who reads the recording next meets it again */
		return;
	}
	size_t count = 0;
	cleanup_free struct hot_file *files = mem_alloc_array(session->machine->dsos.len + 1, sizeof(*files));
	for (size_t i = 0; i < session->machine->dsos.len; i++)
		if (hits[i])
			files[count++] = (struct hot_file){.dso = session->machine->dsos.data[i], .samples = hits[i]};
	free(hits);
	if (count)
		qsort(files, count, sizeof(*files), hottest_first);
	for (size_t i = 0; i < count; i++)
		symbol_files_fetch(options, files[i].dso);
}
