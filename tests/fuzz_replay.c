/* Runs a fuzz target over the files and folders on its command line: the collected inputs replayed as an ordinary test. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	if (!file || fstat(fileno(file), &status)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	/* As large as the input, so that a sanitizer sees a read behind its end. */
	uint8_t *data = malloc(status.st_size ? (size_t)status.st_size : 1);
	size_t size = data ? fread(data, 1, (size_t)status.st_size, file) : 0;
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
}

static void replay(const char *path)
{
	struct stat status;
	if (stat(path, &status) || !S_ISDIR(status.st_mode)) {
		replay_file(path);
		return;
	}
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char child[4096];
		snprintf(child, sizeof(child), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			replay(child);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%d inputs replayed\n", replayed);
	return 0;
}
