/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files written whole or not at all. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/output.h"

static struct arena *arena;
static struct diags *diags;
static char *folder;

static void
set_up(void)
{
	arena = arena_new(NULL, NULL);
	diags = diags_new(arena);
	folder = arena_strdup(arena, "/tmp/moeplan-test-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

static int
count_files(void)
{
	DIR *dir = opendir(folder);
	int count = -2; /* . and .. */

	cr_assert_not_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static const char *
in_folder(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static void
tear_down(void)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlink(in_folder(entry->d_name));
	if (dir)
		closedir(dir);
	rmdir(folder);
	arena_free(arena);
}

TestSuite(output, .init = set_up, .fini = tear_down);

static int
write_text(const char *path, const char *text)
{
	return output_write_file(diags, path, text, strlen(text));
}

static void
assert_holds(const char *path, const char *text)
{
	size_t length = 0;
	const char *found = doc_read_file(arena, diags, path, &length);

	cr_assert_not_null(found);
	cr_assert_str_eq(found, text);
}

static mode_t
mode_of(const char *path)
{
	struct stat state;

	cr_assert_eq(stat(path, &state), 0);
	return state.st_mode & 0777;
}

Test(output, a_new_file_follows_the_umask)
{
	const char *path = in_folder("plan.json");

	umask(027);
	cr_assert_eq(write_text(path, "hello\n"), 0);
	assert_holds(path, "hello\n");
	cr_assert_eq(mode_of(path), 0640);
	cr_assert_eq(umask(022), 027);
	cr_assert_eq(count_files(), 1);
	cr_assert_null(diags->first);
}

Test(output, an_old_file_is_replaced_and_keeps_its_mode)
{
	const char *path = in_folder("plan.json");

	cr_assert_eq(write_text(path, "a longer text before\n"), 0);
	cr_assert_eq(chmod(path, 0604), 0);
	cr_assert_eq(write_text(path, "new"), 0);
	assert_holds(path, "new");
	cr_assert_eq(mode_of(path), 0604);
	cr_assert_eq(write_text(path, ""), 0);
	assert_holds(path, "");
	cr_assert_eq(count_files(), 1);
}

Test(output, a_link_stays_a_link)
{
	const char *target = in_folder("target");
	const char *path = in_folder("link");
	struct stat state;

	cr_assert_eq(write_text(target, "old"), 0);
	cr_assert_eq(symlink("target", path), 0);
	cr_assert_eq(write_text(path, "new"), 0);
	assert_holds(target, "new");
	cr_assert_eq(lstat(path, &state), 0);
	cr_assert(S_ISLNK(state.st_mode));
	cr_assert_eq(count_files(), 2);
}

Test(output, a_relative_path_without_folder)
{
	cr_assert_eq(chdir(folder), 0);
	cr_assert_eq(write_text("here.json", "x"), 0);
	assert_holds("here.json", "x");
	cr_assert_eq(count_files(), 1);
}

Test(output, a_folder_that_is_not_there)
{
	const char *path = in_folder("none/plan.json");

	cr_assert_eq(write_text(path, "x"), -1);
	cr_assert_eq(diags->errors, 1);
	cr_assert_not_null(strstr(diags->last->message, path));
	cr_assert_not_null(strstr(diags->last->message, "cannot write"));
}

Test(output, a_folder_is_no_file)
{
	cr_assert_eq(write_text(folder, "x"), -1);
	cr_assert_eq(diags->errors, 1);
	cr_assert_eq(count_files(), 0);
}

/* A limit on file sizes makes write() fail half-way. */
Test(output, a_failure_leaves_the_old_file_and_nothing_else)
{
	const char *path = in_folder("plan.json");
	struct rlimit limit = {1000, 1000};
	char *large = arena_alloc(arena, 100001);

	memset(large, 'x', 100000);
	cr_assert_eq(write_text(path, "old"), 0);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(write_text(path, large), -1);
	cr_assert_eq(write_text(in_folder("other"), large), -1);
	assert_holds(path, "old");
	cr_assert_eq(count_files(), 1);
	cr_assert_eq(diags->errors, 2);
}

Test(output, pipes_and_devices_are_written_directly)
{
	const char *path = in_folder("pipe");
	char text[8] = "";
	int fd;

	cr_assert_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write_text(path, "hello"), 0);
	cr_assert_eq(read(fd, text, sizeof(text)), 5);
	cr_assert_str_eq(text, "hello");
	close(fd);
	cr_assert_eq(count_files(), 1);
	cr_assert_eq(write_text("/dev/null", "x"), 0);
	cr_assert_eq(write_text("/dev/full", "x"), -1);
	cr_assert_not_null(strstr(diags->last->message, "/dev/full"));
}

/* `moeplan … --output /dev/stdout >>file` must neither replace nor cut the file. */
Test(output, standard_output_may_be_a_file)
{
	const char *path = in_folder("log");
	int fd;

	cr_assert_eq(write_text(path, "before\n"), 0);
	fd = open(path, O_WRONLY | O_APPEND);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write_text(arena_printf(arena, "/dev/fd/%d", fd), "more\n"), 0);
	close(fd);
	assert_holds(path, "before\nmore\n");
	cr_assert_eq(count_files(), 1);
}
