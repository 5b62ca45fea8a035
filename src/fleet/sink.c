/* Sinks: which kind a URL means, and its functions. */
#include "fleet/sink.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct fleet_sink {
	struct fleet_sink_options options;
	const struct sink_kind *kind;
	void *state;
};

/* Whether the URL begins with one of the kind's schemes and "://". */
static bool is_of_kind(const struct sink_kind *kind, const char *url)
{
	for (const char *const *scheme = kind->schemes; *scheme; scheme++)
		if (str_starts_with(url, *scheme) && str_starts_with(url + strlen(*scheme), "://"))
			return true;
	return false;
}

static struct error *unknown(const char *url)
{
	struct strbuf names = {0}, safe = {0};
	for (const struct sink_kind *const *kind = sink_kind_list; *kind; kind++)
		for (const char *const *scheme = (*kind)->schemes; *scheme; scheme++)
			strbuf_printf(&names, "%s%s://", names.len ? ", " : "", *scheme);
	text_add_safe(&safe, url, strcspn(url, ":/"));
	struct error *error = error_new_kind(ERROR_USAGE, "there is no kind of sink '%s': its URL begins with one of %s", strbuf_str(&safe),
					     strbuf_str(&names));
	strbuf_deinit(&names);
	strbuf_deinit(&safe);
	return error;
}

struct error *fleet_sink_open(const struct fleet_sink_options *options, struct fleet_sink **ret)
{
	const struct sink_kind *const *kind = sink_kind_list;
	void *state = NULL;
	while (*kind && !is_of_kind(*kind, options->url))
		kind++;
	struct error *error = *kind ? (*kind)->open(options, &state) : unknown(options->url);
	if (error)
		return error;
	*ret = mem_zalloc(sizeof(**ret));
	**ret = (struct fleet_sink){*options, *kind, state};
	return NULL;
}

void fleet_sink_close(struct fleet_sink *sink)
{
	if (!sink)
		return;
	sink->kind->close(sink->state);
	free(sink);
}

const struct fleet_sink_options *fleet_sink_options(const struct fleet_sink *sink)
{
	return &sink->options;
}

struct error *fleet_sink_encode(struct fleet_sink *sink, const struct window *window, struct strbuf *ret)
{
	return sink->kind->encode(sink->state, window, ret);
}

enum sink_outcome fleet_sink_send(struct fleet_sink *sink, const uint8_t *id, const void *batch, size_t size, struct error **ret_why)
{
	return sink->kind->send(sink->state, id, batch, size, ret_why);
}

unsigned int fleet_sink_wait_s(const struct fleet_sink *sink)
{
	return sink->kind->wait_s ? sink->kind->wait_s(sink->state) : 0;
}

void fleet_sink_stop(struct fleet_sink *sink)
{
	if (sink->kind->stop)
		sink->kind->stop(sink->state);
}

struct error *fleet_sink_check(struct fleet_sink *sink)
{
	return sink->kind->check(sink->state);
}
