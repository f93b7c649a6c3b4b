/* Colours for a report of plan or explain: titles are bold, reasons (core/model/reason.h) have the
 * colour of their severity. Pure. */
#ifndef CLI_SHARED_REPORT_COLOUR_H
#define CLI_SHARED_REPORT_COLOUR_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the text, which must be clean (codec/text/text.h) but for its line feeds. Lines of more than `columns`
 * are broken between words; SIZE_MAX: none. */
void report_colour_add(struct buf *buf, const char *text, bool colours, size_t columns);

#endif
