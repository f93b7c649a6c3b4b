#include "cli/file.h"

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

static int read_stream(FILE *file, struct buf *buf, struct err *err)
{
	char bytes[65536];
	size_t size;

	while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		if (buf_add(buf, bytes, size) < 0)
			return err_set(err, ERR_LIMIT, "has more than %zu bytes",
				       buf->ceiling_bytes);
	}
	if (ferror(file))
		return err_set(err, ERR_INPUT, "cannot be read: %s", strerror(errno));
	return 0;
}

/* A regular file that is too large is not read at all. */
static int check_size(FILE *file, const struct buf *buf, struct err *err)
{
	struct stat found;

	if (fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode) &&
	    (uintmax_t)found.st_size > buf->ceiling_bytes)
		return err_set(err, ERR_LIMIT, "has more than %zu bytes", buf->ceiling_bytes);
	return 0;
}

int file_read(const char *path, struct buf *buf, struct err *err)
{
	FILE *file;
	int failed;

	if (strcmp(path, "-") == 0)
		return read_stream(stdin, buf, err);
	file = fopen(path, "re");
	if (!file)
		return err_set(err, ERR_INPUT, "cannot be opened: %s", strerror(errno));
	failed = check_size(file, buf, err) || read_stream(file, buf, err) ? -1 : 0;
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

int file_write(const char *path, const struct buf *buf, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool good;

	if (!file)
		return err_set(err, ERR_INPUT, "%s: cannot be written: %s", path, strerror(errno));
	good = fwrite(buf_string(buf), 1, buf->size, file) == buf->size;
	if (fclose(file) != 0 || !good)
		return err_set(err, ERR_INPUT, "%s: cannot be written: %s", path, strerror(errno));
	return 0;
}

int file_replace(const char *path, const struct buf *buf, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *part = arena_printf(&arena, "%s.part", path);

	(void)unlink(part);
	if (file_write(part, buf, err))
		return -1;
	if (rename(part, path) == 0)
		return 0;
	err_set(err, ERR_INPUT, "%s: cannot be replaced: %s", path, strerror(errno));
	(void)unlink(part);
	return -1;
}
