#include "net/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int read_all(int file, const char *path, struct buf *ret_bytes, struct err *err)
{
	char piece[4096];
	ssize_t size;
	bool fits = true;

	do {
		size = read(file, piece, sizeof(piece));
		fits = size <= 0 || buf_add(ret_bytes, piece, (size_t)size) == 0;
	} while (fits && (size > 0 || (size < 0 && errno == EINTR)));
	explicit_bzero(piece, sizeof(piece));
	if (!fits)
		return err_set(err, ERR_FATAL, "%s is too large: it has more than %zu bytes", path,
			       ret_bytes->ceiling_bytes);
	if (size < 0)
		return err_set(err, ERR_FATAL, "cannot read %s: %s", path, strerror(errno));
	return 0;
}

int read_file(const char *path, struct buf *ret_bytes, struct err *err)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return err_set(err, ERR_FATAL, "cannot open %s: %s", path, strerror(errno));
	int status = read_all(file, path, ret_bytes, err);
	(void)close(file);
	return status;
}
