/* A whole small file, with the caller's limit. Blocks: not for files that may be slow. */
#ifndef NET_READ_FILE_H
#define NET_READ_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends its bytes. -1 with ERR_FATAL, which names the path: it cannot be opened or read, or the
 * buffer's ceiling is reached. No copy of the bytes, which may be secret, stays elsewhere. */
int read_file(const char *path, struct buf *ret_bytes, struct err *err);

#endif
