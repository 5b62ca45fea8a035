/* Talks to itself over TCP on the loopback device: sends 26 bytes, then 7, then 26, and reads them. Ends with 1 when that can't be done. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int send_and_read(int from, int to, size_t size)
{
	char text[64] = "a question and its answer";

	return send(from, text, size, 0) == (ssize_t)size && recv(to, text, size, MSG_WAITALL) == (ssize_t)size;
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&address, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &len) || connect(client, (struct sockaddr *)&address, len)) {
		perror("talk");
		return 1;
	}
	int server = accept(listener, NULL, NULL);
	return !(send_and_read(client, server, 26) && send_and_read(server, client, 7) && send_and_read(client, server, 26));
}
