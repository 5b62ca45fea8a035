/* Which machine this is: its name, and a number that tells machines of equal names apart. The number of /etc/machine-id is a secret
 * (machine-id(5)): what is sent is a hash of it with a key of ours, by which nobody finds the number. */
#include "cmd/agent/agent.h"

#include "base/formats/sha256.h"
#include "kernel/proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char application[] = "perf-ng agent: host_id, 1";

void agent_identity_read(const char *host, struct agent_identity *ret)
{
	static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id"};
	char line[128] = "";
	uint8_t hash[SHA256_SIZE];
	*ret = (struct agent_identity){0};
	if (host)
		snprintf(ret->host, sizeof(ret->host), "%s", host);
	else if (gethostname(ret->host, sizeof(ret->host) - 1))
		snprintf(ret->host, sizeof(ret->host), "localhost");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !*line; i++)
		if (!proc_read_line(files[i], line, sizeof(line)))
			*line = '\0';
	sha256_hmac(line, strlen(line), application, strlen(application), hash);
	for (size_t i = 0; i < 16; i++)
		snprintf(ret->id + 2 * i, 3, "%02x", hash[i]);
}
