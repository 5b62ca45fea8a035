/* The language of -e: text → events.
 *
 *	list      = item { ("," | space) item }
 *	item      = event | [NAME] "{" event { "," event } "}" [":" modifiers]
 *	event     = name [ "/" [term { "," term }] "/" ] [ [":"] modifiers ]
 *	name      = hardware or software event  (cycles, cs, cpu-clock)
 *	          | hardware cache event        (L1-dcache-load-misses, LLC-loads)
 *	          | "r" HEX                     (raw config of the CPU's PMU)
 *	          | TYPE ":" CONFIG             (two numbers)
 *	          | "mem:" ADDR ["/" LEN] [":" [r][w][x]]   (terms may follow)
 *	          | SYSTEM ":" EVENT            (tracepoint; both may have * ? [])
 *	          | PMU                         (with terms; may have * ? []; "uncore_imc" means uncore_imc_0, uncore_imc_1 …;
 *	                                         "cpu" where there are several kinds of cores: each of them)
 *	          | name of a PMU's event       (any PMU that has it)
 *	term      = NAME ["=" VALUE]            (config, config1..3, the PMU's formats and events, and those of event.h)
 *	          | "@" SINK                    (where a CoreSight tracer sends its stream)
 *	modifiers = { u k h G H p P S D W e I b }
 *
 * Each event gets an attr with what the text says and nothing else, except what its kind cannot do without: tracepoints and bpf-output
 * sample raw data, time, CPU and period with a period of 1; breakpoints have a period of 1. Without modifiers, exclude_guest is set.
 * Where several PMUs are meant, those that don't know the terms are left out, and event.part_of says which events belong together. A group
 * lies on one PMU: what is written as one group becomes one for each PMU, with software events and tracepoints in the first.
 * The name of an event is the text that asked for it, as the kernel's perf has it; of a tracepoint "system:event".
 */
#pragma once

#include "event/catalog.h"
#include "event/event.h"

/* Adds the events of `text` to `list`. An error (ERROR_USAGE; ERROR_PERMISSION when tracefs is closed to this user) shows the place in the
 * text and names what was expected or is near; `list` is then as before. */
struct error *event_parse(struct event_list *list, struct event_catalog *catalog, const char *text);
