/* --device-table FILE (docs/DEVICES.md) and --price-table FILE (docs/COST.md), for every command that
 * reads one. */
#ifndef CLI_SHARED_DEVICE_FILE_H
#define CLI_SHARED_DEVICE_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "core/model/device.h"
#include "core/model/price.h"

#define DEVICE_FILE_HELP "  --device-table FILE  names of accelerators beside the built-in ones\n"

/* `path` NULL or "": the built-in table; "-" is standard input. The table lives in the arena.
 * ERR_INPUT or ERR_LIMIT names the file, and line and column where they are known. */
int device_file_read(const char *path, struct arena *arena, const struct device_table **ret_table,
		     struct err *err);
/* The same; *ret_table is NULL without a path: there are no prices. */
int price_file_read(const char *path, struct arena *arena, const struct price_table **ret_table,
		    struct err *err);

#endif
