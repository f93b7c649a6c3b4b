#include "test/support/metrics_lines.h"

#include <stdio.h>
#include <string.h>

#include "test/support/support.h"

bool metrics_has_line(const struct buf *text, const char *line)
{
	char wanted[512];

	(void)snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	return strstr(buf_string(text), wanted) != NULL;
}

void metrics_expect_line(const struct buf *text, const char *line)
{
	if (!metrics_has_line(text, line))
		fail_msg("no line \"%s\" in\n%s", line, buf_string(text));
}

void metrics_expect_sample(const struct buf *text, const char *name)
{
	char head[256];

	(void)snprintf(head, sizeof(head), "# TYPE %s ", name);
	if (!strstr(buf_string(text), head)) /* written before the first sample */
		fail_msg("%s has no sample in\n%s", name, buf_string(text));
}
