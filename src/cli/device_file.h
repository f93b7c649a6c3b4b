/* --device-table FILE, for every command that reads a device table (docs/DEVICES.md). */
#ifndef CLI_DEVICE_FILE_H
#define CLI_DEVICE_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "core/model/device.h"

#define DEVICE_FILE_HELP "  --device-table FILE  names of accelerators beside the built-in ones\n"

/* `path` NULL or "": the built-in table; "-" is standard input. The table lives in the arena.
 * ERR_INPUT or ERR_LIMIT names the file, and line and column where they are known. */
int device_file_read(const char *path, struct arena *arena, const struct device_table **ret_table,
		     struct err *err);

#endif
