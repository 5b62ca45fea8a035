/* A word to systemd (sd_notify(3)): one datagram to the socket that the environment names. */
#include "cmd/agent/agent.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void agent_notify(const char *text)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = name ? strlen(name) : 0;
	if (!length || length >= sizeof(address.sun_path) || !strchr("/@", *name))
		return;
	cleanup_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, name, length);
	if (*name == '@') /* no file */
		address.sun_path[0] = '\0';
	if (fd >= 0)
		sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}
