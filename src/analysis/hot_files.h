/* Debug files from servers, those first that have most samples: there may not be time for all. */
#pragma once

#include "session/session.h"
#include "symbol/resolve.h"

/* Asks options->debug_server for what sampled files lack. They are found later where such files are kept. Before a resolver is made: it
 * would ask in the order in which samples come by. The input must be stable. Nothing without a server. */
void hot_files_fetch(struct session *session, const struct symbol_options *options);
