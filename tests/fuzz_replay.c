/* fuzz-replay TARGET FILE…: runs the fuzz target of that name over files and folders: collected inputs replayed as an ordinary test. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int fuzz_target(const uint8_t *data, size_t size);

/* TARGETS is of the form "TARGET(reader) TARGET(jitdump)": each file's LLVMFuzzerTestOneInput() is compiled under another name. */
#define TARGET(name) fuzz_target fuzz_##name;
TARGETS
#undef TARGET

static const struct {
	const char *name;
	fuzz_target *run;
} targets[] = {
#define TARGET(name) {#name, fuzz_##name},
	TARGETS
#undef TARGET
};

static int replayed;

static void replay_file(fuzz_target *run, const char *path)
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
	run(data, size);
	free(data);
	replayed++;
}

static void replay(fuzz_target *run, const char *path)
{
	struct stat status;
	if (stat(path, &status) || !S_ISDIR(status.st_mode)) {
		replay_file(run, path);
		return;
	}
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char child[4096];
		snprintf(child, sizeof(child), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			replay(run, child);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	fuzz_target *run = NULL;
	for (size_t i = 0; argc > 1 && i < sizeof(targets) / sizeof(*targets); i++)
		if (!strcmp(targets[i].name, argv[1]))
			run = targets[i].run;
	if (!run) {
		fprintf(stderr, "usage: fuzz-replay TARGET FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		replay(run, argv[i]);
	printf("%d inputs replayed\n", replayed);
	return 0;
}
