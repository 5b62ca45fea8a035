#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void make_file(const char *root, tree_file file)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", root, file[0]);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *out = fopen(path, "w");
	if (!out) {
		perror(path);
		exit(1);
	}
	fprintf(out, "%s\n", file[1]);
	fclose(out);
}

void tree_make(char *root, tree_file *files, size_t count)
{
	if (!mkdtemp(root)) {
		perror(root);
		exit(1);
	}
	for (size_t i = 0; i < count; i++)
		make_file(root, files[i]);
}

int tree_remove(const char *root)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}
