/* --from: a question to a fleet's database becomes a recording, which the command then reads as any other. */
#pragma once

#include "app/config.h"
#include "app/groups.h"
#include "fleet/http.h"

/* Opens the configuration, and how the engine at `url` is asked by it: [fleet] password-file, token-file, ca-file, certificate-file,
 * key-file. The strings are those of `config`, which the caller closes in any case. Where `url` is NULL the error asks for --from. */
struct error *fleet_access_open(const char *url, struct config *config, struct http_options *ret);

/* Without --from nothing, but that --where and --label are errors. Else the engine is asked, what comes back is a file without a name,
 * which becomes the input, and *time, which was the question's, is NULL. To be called before the sandbox. `slices`: how many different
 * times samples have, for who compares slices of time; 0 = none. The file stays open until the program ends. */
struct error *from_apply(struct input_options *input, const char **time, unsigned int slices);
