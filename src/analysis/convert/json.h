/* A recording as JSON in the form of the kernel's perf ("linux-perf-json-version": 1):
 *
 *	{
 *		"linux-perf-json-version": 1,
 *		"headers": {
 *			"header-version": 1,
 *			"captured-on": "2026-01-31T12:00:00Z",
 *			"data-offset": 424,
 *			…
 *			"cmdline": [
 *				"perf",
 *				…
 *			]
 *		},
 *		"samples": [
 *			{
 *				"timestamp": 30094009037961,
 *				"pid": 1, "tid": 1, "cpu": 0, "comm": "sh",        a line each
 *				"callchain": [
 *					{
 *						"ip": "0x7f803d404c1a",
 *						"symbol": "strcmp",
 *						"dso": "libc.so.6"
 *					},
 *					…
 *				],
 *				"prev_comm": "sh", …                               fields of a tracepoint, as text
 *			},
 *			…
 *		]
 *	}
 */
#pragma once

#include "session/session.h"
#include "symbol/resolve.h"

struct json_export {
	struct session *session;
	struct resolver *resolver;
	bool has_samples;
};

/* The head; what a recording doesn't tell has no member. When the first record has come, all of a pipe's head is known. */
void json_export_begin(const struct json_export *export, struct strbuf *out);
void json_export_sample(struct json_export *export, const struct record *record, const struct sample *sample, struct strbuf *out);
void json_export_end(struct strbuf *out);
