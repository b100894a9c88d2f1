/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How is a file written so that no reader ever sees half of it?
 *
 * Into a temporary file in the same folder, synced, then renamed over the old
 * one (rename is atomic, POSIX.1-2008). A new file gets the mode that the umask
 * leaves of 0666, an old one keeps its own. A symbolic link keeps its place: the
 * file that it points to is replaced. What is not a regular file cannot be
 * renamed over and is written directly, as is all below /dev and /proc:
 * /dev/stdout may be a regular file that others are writing to.
 */

/* realpath() is in the X/Open part of POSIX.1-2008 */
#define _XOPEN_SOURCE 700

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

static int
report(struct diags *diags, const char *what, const char *path)
{
	return diag_error(
	    diags, (struct loc){0}, "cannot %s '%s': %s", what, path, strerror(errno));
}

static int
write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, text, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		text += written;
		length -= (size_t)written;
	}
	return 0;
}

/* Closes; -1 with errno of what failed first. */
static int
close_after(int fd, int status)
{
	int error = status != 0 ? errno : 0;

	if (close(fd) != 0 && error == 0)
		error = errno;
	errno = error;
	return error == 0 ? 0 : -1;
}

/* Nothing to sync or to rename. Appending is harmless for pipes and right for /dev/stdout. */
static int
write_directly(struct diags *diags, const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return report(diags, "open", path);
	if (close_after(fd, write_all(fd, text, length)) != 0)
		return report(diags, "write", path);
	return 0;
}

/* The umask can only be read by setting it; the temporary file's own mode is 0600. */
static mode_t
new_file_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Fills the temporary file and closes it; -1 with errno. */
static int
fill(int fd, mode_t mode, const char *text, size_t length)
{
	int status = 0;

	if (write_all(fd, text, length) != 0 || fchmod(fd, mode) != 0 || fsync(fd) != 0)
		status = -1;
	return close_after(fd, status);
}

/* Makes the rename last: the folder's entry is data too. A file system that cannot is no error. */
static void
sync_folder(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *folder = ".";
	int fd;

	if (slash) /* the folder of "/x" is "/" */
		folder = arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
	fd = open(folder, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static int
replace(struct diags *diags, const char *path, mode_t mode, const char *text, size_t length)
{
	char *temporary = arena_printf(diags->arena, "%s.XXXXXX", path);
	int fd = mkstemp(temporary);

	if (fd < 0)
		return report(diags, "write", path);
	if (fill(fd, mode, text, length) != 0 || rename(temporary, path) != 0) {
		int error = errno;

		unlink(temporary);
		errno = error;
		return report(diags, "write", path);
	}
	sync_folder(diags->arena, path);
	return 0;
}

int
output_write_file(struct diags *diags, const char *path, const char *text, size_t length)
{
	struct stat state;
	char *target;
	int status;

	if (stat(path, &state) != 0) {
		if (errno != ENOENT)
			return report(diags, "write", path);
		return replace(diags, path, new_file_mode(), text, length);
	}
	if (!S_ISREG(state.st_mode) || strncmp(path, "/dev/", 5) == 0 ||
	    strncmp(path, "/proc/", 6) == 0)
		return write_directly(diags, path, text, length);
	target = realpath(path, NULL);
	if (!target)
		return report(diags, "write", path);
	status = replace(diags, target, state.st_mode & 0777, text, length);
	free(target);
	return status;
}
