/* Writing large results piece by piece. */
#include "view/export/streaming.h"

#include "base/error.h"

struct error *stream_end(struct strbuf *text, const struct sink *out, const char *what)
{
	sink_move(out, text);
	strbuf_deinit(text);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "%s", what) : NULL;
}
