#include "cli/shared/device_file.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "cli/shared/file.h"
#include "codec/objects/device_table_json.h"
#include "codec/objects/price_table_json.h"
#include "codec/schema/one_document.h"

static int fail(const char *path, struct err *err)
{
	return err_prefix(err, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
}

int device_file_read(const char *path, struct arena *arena, const struct device_table **ret_table,
		     struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(ONE_DOCUMENT_BYTES_MAX);
	struct device_table *table;

	if (!path || *path == '\0') {
		*ret_table = device_table_builtin();
		return 0;
	}
	table = ARENA_NEW(arena, struct device_table);
	if (file_read(path, "a DeviceTable (docs/DEVICES.md)", &text, err) ||
	    device_table_read(buf_string(&text), text.size, arena, table, err))
		return fail(path, err);
	*ret_table = table;
	return 0;
}

int price_file_read(const char *path, struct arena *arena, const struct price_table **ret_table,
		    struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(ONE_DOCUMENT_BYTES_MAX);
	struct price_table *table = ARENA_NEW(arena, struct price_table);

	if (!path || *path == '\0') {
		*ret_table = NULL;
		return 0;
	}
	if (file_read(path, "a PriceTable (docs/COST.md)", &text, err) ||
	    price_table_read(buf_string(&text), text.size, arena, table, err))
		return fail(path, err);
	*ret_table = table;
	return 0;
}
