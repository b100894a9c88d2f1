/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a reader survive every input that is kept? Feeds each file of the folders (or files)
 * named on the command line to LLVMFuzzerTestOneInput, without needing libFuzzer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1);
	int ok = file && data && fread(data, 1, size, file) == size;

	if (ok)
		LLVMFuzzerTestOneInput(data, size);
	else
		fprintf(stderr, "%s: cannot be read\n", path);
	free(data);
	if (file)
		fclose(file);
	return ok;
}

static int
replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	struct stat info;
	char name[4096];
	int count = 0;

	while (folder && (entry = readdir(folder))) {
		int length = snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);

		if (length < 0 || (size_t)length >= sizeof(name) || stat(name, &info) ||
		    !S_ISREG(info.st_mode))
			continue;
		count += replay_file(name, (size_t)info.st_size);
	}
	if (folder)
		closedir(folder);
	return count;
}

int
main(int argc, char **argv)
{
	struct stat info;
	int count = 0;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &info))
			fprintf(stderr, "%s: not there\n", argv[i]);
		else if (S_ISDIR(info.st_mode))
			count += replay_folder(argv[i]);
		else
			count += replay_file(argv[i], (size_t)info.st_size);
	}
	printf("%d passed, 0 failed\n", count);
	return count == 0;
}
