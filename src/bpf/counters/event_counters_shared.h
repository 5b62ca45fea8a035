/* What event_counters.bpf.h and the loaders share. */
#pragma once

enum { EVENT_COUNTERS_MOST = 128 }; /* events; the kernel checks each as one turn of a loop */
