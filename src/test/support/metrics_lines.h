/* Whole lines of an exposition. */
#ifndef TEST_SUPPORT_METRICS_LINES_H
#define TEST_SUPPORT_METRICS_LINES_H

#include <stdbool.h>

#include "base/buf.h"

bool metrics_has_line(const struct buf *text, const char *line);
/* Fails the test, with the text, when the line is not there. */
void metrics_expect_line(const struct buf *text, const char *line);
/* Fails the test when the family has no sample. */
void metrics_expect_sample(const struct buf *text, const char *name);

#endif
