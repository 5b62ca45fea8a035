/* Root ports of PCIe, as Intel's servers count what devices move through them: each I/O stack has a PMU uncore_iio_N, whose files dieD say
 * which bus of which die is behind it (Documentation/ABI/testing/sysfs-devices-mapping). */
#pragma once

#include "event/catalog.h"
#include "event/counter_value.h"

enum io_traffic { IO_INBOUND_READ, IO_INBOUND_WRITE, IO_OUTBOUND_READ, IO_OUTBOUND_WRITE, IO_TRAFFIC_KINDS };

struct io_port {
	const char *name; /* "0000:17": domain and bus */
	const char *pmu;  /* "uncore_iio_1" */
	unsigned int stack, die;
};

struct io_ports {
	struct arena arena;
	VEC(struct io_port) ports; /* by name */
};

/* An error says what has such ports when the machine has none. */
struct error *io_ports_find(struct event_catalog *catalog, struct io_ports *ret);
void io_ports_deinit(struct io_ports *ports);
/* Keeps those of a list "0000:17,0000:3a". */
struct error *io_ports_choose(struct io_ports *ports, const char *list);
/* Adds a group of IO_TRAFFIC_KINDS events for each port, in their order; each counts 4 bytes. */
void io_ports_add_events(const struct io_ports *ports, struct strbuf *out);
/* Megabytes (of 2^20 bytes) of a count, extended to the time that it was wanted. */
double io_ports_megabytes(const struct counter_value *count);
