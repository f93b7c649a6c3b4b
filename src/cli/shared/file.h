/* Whole files for commands: read with a ceiling, "-" is standard input.
 * Blocking; not for anything that runs on the loop. */
#ifndef CLI_SHARED_FILE_H
#define CLI_SHARED_FILE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the file's bytes. ERR_INPUT when it cannot be read or is empty, ERR_LIMIT when it is
 * larger than the buffer's ceiling; the text does not name the file. `wanted`: the content, for the
 * fix, as "a PriceTable (docs/COST.md)". */
int file_read(const char *path, const char *wanted, struct buf *buf, struct err *err);

/* All bytes to standard output; ERR_FATAL when that fails (a full disk, a closed pipe). */
int file_print(const struct buf *buf, struct err *err);
#define FILE_PRIVATE 0600 /* it describes a cluster */
#define FILE_SHARED 0666  /* less the umask: a page that is to be shown */
/* All bytes to a file of this name, which is created with the mode or replaced. ERR_INPUT names the
 * file; it may then be incomplete. */
int file_write(const char *path, mode_t mode, const struct buf *buf, struct err *err);

#endif
