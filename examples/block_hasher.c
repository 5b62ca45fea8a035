/* Reads blocks of a device or file from several threads, past the page cache, and hashes what it reads: work for perf where.
 *
 *	gcc -O2 -g -pthread -o block_hasher block_hasher.c
 *	./block_hasher -d /dev/md0 -b 1048576 -t 10 -n 1000
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *device;
static size_t block_size = 1048576;
static long threads = 4, blocks = 100;
static off_t device_size;

struct worker {
	pthread_t thread;
	unsigned int number;
	uint64_t hash;
	int error;
};

/* FNV-1a (draft-eastlake-fnv), by words. */
static uint64_t hash_block(uint64_t hash, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ words[i]) * 0x100000001b3u;
	return hash;
}

static void *hash_blocks(void *argument)
{
	struct worker *worker = argument;
	void *block = NULL;
	int fd = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	worker->error = fd < 0 ? errno : posix_memalign(&block, 4096, block_size);
	off_t places = device_size / (off_t)block_size;
	for (long i = 0; i < blocks && !worker->error; i++) {
		off_t place = ((off_t)worker->number * blocks + i) % places;
		ssize_t got = pread(fd, block, block_size, place * (off_t)block_size);
		if (got < 0)
			worker->error = errno;
		else
			worker->hash = hash_block(worker->hash, block, (size_t)got / sizeof(uint64_t));
	}
	free(block);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int read_options(int argc, char **argv)
{
	int option;
	while ((option = getopt(argc, argv, "d:b:t:n:")) != -1) {
		switch (option) {
		case 'd':
			device = optarg;
			break;
		case 'b':
			block_size = strtoul(optarg, NULL, 0);
			break;
		case 't':
			threads = strtol(optarg, NULL, 0);
			break;
		case 'n':
			blocks = strtol(optarg, NULL, 0);
			break;
		default:
			return 0;
		}
	}
	return device && block_size && block_size % 4096 == 0 && threads > 0 && blocks > 0;
}

int main(int argc, char **argv)
{
	if (!read_options(argc, argv)) {
		fprintf(stderr, "usage: block_hasher -d DEVICE|FILE [-b BYTES] [-t THREADS] [-n BLOCKS]   (BYTES: a multiple of 4096)\n");
		return 2;
	}
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	device_size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (device_size < (off_t)block_size) {
		fprintf(stderr, "%s: %s\n", device, device_size < 0 ? strerror(errno) : "smaller than a block");
		return 1;
	}
	struct worker *workers = calloc((size_t)threads, sizeof(*workers));
	uint64_t hash = 0;
	int error = 0;
	for (long i = 0; i < threads; i++) {
		workers[i].number = (unsigned int)i;
		error |= pthread_create(&workers[i].thread, NULL, hash_blocks, &workers[i]);
	}
	for (long i = 0; i < threads && !error; i++) {
		pthread_join(workers[i].thread, NULL);
		hash ^= workers[i].hash;
		if (workers[i].error)
			fprintf(stderr, "%s: %s\n", device, strerror(workers[i].error));
	}
	printf("%016llx\n", (unsigned long long)hash);
	return error != 0;
}
