#include "cli/shared/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/nearest.h"

/* Entries of a directory that are compared with a misspelt name. */
#define ENTRIES_MAX 10000

static int refuse_size(const struct buf *buf, const char *wanted, struct err *err)
{
	return err_set(err, ERR_LIMIT, "has more than %zu bytes; name a file with %s",
		       buf->ceiling_bytes, wanted);
}

static int read_stream(FILE *file, const char *wanted, struct buf *buf, struct err *err)
{
	char bytes[65536];
	size_t size, before = buf->size;

	while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		if (buf_add(buf, bytes, size) < 0)
			return refuse_size(buf, wanted, err);
	}
	if (ferror(file))
		return err_set(err, ERR_INPUT, "cannot be read: %s; name a file with %s",
			       strerror(errno), wanted);
	if (buf->size == before)
		return err_set(err, ERR_INPUT, "is empty; it must have %s", wanted);
	return 0;
}

/* Before it is read: a directory, and a regular file that is too large. */
static int check_file(FILE *file, const char *wanted, const struct buf *buf, struct err *err)
{
	struct stat found;

	if (fstat(fileno(file), &found) != 0)
		return 0;
	if (S_ISDIR(found.st_mode))
		return err_set(err, ERR_INPUT, "is a directory; name a file with %s", wanted);
	if (S_ISREG(found.st_mode) && (uintmax_t)found.st_size > buf->ceiling_bytes)
		return refuse_size(buf, wanted, err);
	return 0;
}

/* The name of a file in the same directory that was most likely meant; "": there is none. */
static const char *similar_name(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *found = NULL;
	const char *folder = slash ? arena_strndup(arena, path, (size_t)(name - path)) : "./";
	struct nearest nearest = nearest_start(name);
	DIR *directory = opendir(folder);
	const struct dirent *entry;

	if (!directory)
		return "";
	for (int i = 0; i < ENTRIES_MAX && (entry = readdir(directory)); i++) {
		nearest_offer(&nearest, entry->d_name);
		if (nearest.word && nearest.word != found)
			nearest.word = found = arena_strdup(arena, nearest.word);
	}
	closedir(directory);
	return found ? arena_printf(arena, "%s%s", slash ? folder : "", found) : "";
}

static int refuse_path(const char *path, const char *wanted, int problem, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *similar = problem == ENOENT ? similar_name(path, &arena) : "";

	if (*similar != '\0')
		return err_set(err, ERR_INPUT, "does not exist; did you mean %s?", similar);
	return err_set(err, ERR_INPUT, "%s%s; name a file with %s",
		       problem == ENOENT ? "does not exist" : "cannot be opened: ",
		       problem == ENOENT ? "" : strerror(problem), wanted);
}

int file_read(const char *path, const char *wanted, struct buf *buf, struct err *err)
{
	FILE *file;
	int failed;

	if (strcmp(path, "-") == 0)
		return read_stream(stdin, wanted, buf, err);
	file = fopen(path, "re");
	if (!file)
		return refuse_path(path, wanted, errno, err);
	failed = check_file(file, wanted, buf, err) || read_stream(file, wanted, buf, err) ? -1 : 0;
	fclose(file);
	return failed;
}

int file_print(const struct buf *buf, struct err *err)
{
	if (fwrite(buf_string(buf), 1, buf->size, stdout) != buf->size || fflush(stdout) != 0)
		return err_set(err, ERR_FATAL, "cannot write to standard output: %s",
			       strerror(errno));
	return 0;
}

static int refuse_write(const char *path, struct err *err)
{
	return err_set(
		err, ERR_INPUT,
		"%s: cannot be written: %s; name a file in a directory that you may write to", path,
		strerror(errno));
}

int file_write(const char *path, mode_t mode, const struct buf *buf, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool good;

	if (!file)
		return refuse_write(path, err);
	good = fwrite(buf_string(buf), 1, buf->size, file) == buf->size;
	if (fclose(file) != 0 || !good)
		return refuse_write(path, err);
	return 0;
}
