/* Lets the kernel hash zeros (AF_ALG): kernelhash rmd160 8 keeps the module rmd160 busy for 8 MB. */
#include <linux/if_alg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_alg address = {.salg_family = AF_ALG, .salg_type = "hash"};
	static char block[65536];
	if (argc != 3) {
		fprintf(stderr, "usage: kernelhash ALGORITHM MEGABYTES\n");
		return 2;
	}
	strncpy((char *)address.salg_name, argv[1], sizeof(address.salg_name) - 1);
	int algorithm = socket(AF_ALG, SOCK_SEQPACKET, 0);
	if (algorithm < 0 || bind(algorithm, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror(argv[1]);
		return 1;
	}
	int hash = accept(algorithm, NULL, NULL);
	for (long i = 16 * atol(argv[2]); i > 0; i--)
		if (send(hash, block, sizeof(block), MSG_MORE) < 0) {
			perror("send");
			return 1;
		}
	unsigned char digest[64];
	ssize_t size = read(hash, digest, sizeof(digest));
	for (ssize_t i = 0; i < size; i++)
		printf("%02x", digest[i]);
	printf("\n");
	return size <= 0;
}
