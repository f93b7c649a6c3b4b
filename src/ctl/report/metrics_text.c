#include "ctl/report/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "codec/text/utf8.h"
#include "core/model/resources.h"

const struct metrics_row metrics_rows[METRICS_COUNT] = {
#define X(kind, identifier, name, labels, help) { METRICS_##kind, name, labels, help },
	METRICS_TABLE(X)
#undef X
};

static const char *const kind_names[] = { "gauge", "counter", "histogram" };

/* Upper ends in seconds; 0 ends the list. */
static const double pass_ends[] = { .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 0 };
static const double demand_ends[] = { .01, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 300, 0 };
static const double pod_ends[] = { .1, .25, .5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 0 };
static const double ray_ends[] = { .01, .1, 1, 10, 100, 1000, 0 }; /* Ray's own */

static const double *bucket_ends(enum metrics_id id)
{
	switch (id) {
	case METRICS_RECONCILE_DURATION:
		return pass_ends;
	case METRICS_DEMAND_TO_PATCH:
		return demand_ends;
	case METRICS_PATCH_TO_POD:
		return pod_ends;
	case METRICS_RAY_UPDATE_TIME:
		return ray_ends;
	default:
		CHECK(!"a histogram without buckets");
	}
}

void metrics_histogram_add(enum metrics_id id, struct metrics_histogram *histogram, double seconds)
{
	const double *ends = bucket_ends(id);
	size_t i = 0;

	while (ends[i] > 0 && seconds > ends[i])
		i++;
	histogram->buckets[i]++;
	histogram->count++;
	histogram->sum += seconds;
}

/* ---- samples ---- */

/* Length of the prefix that needs no escape: nearly always the whole text. */
static size_t plain_size(const char *text)
{
	const char *end = text;

	while (*end >= ' ' && *end < 0x7f && *end != '"' && *end != '\\')
		end++;
	return (size_t)(end - text);
}

/* A name chosen by a user may hold any character. Prometheus has escapes for three characters;
 * others that must not reach a terminal raw are written as text: \u001b. */
static void add_escaped(struct buf *buf, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t plain = plain_size(text);
		size_t size = plain > 0 ? plain : utf8_length(text, left);

		if (plain > 0)
			(void)buf_add(buf, text, plain);
		else if (size == 0)
			(void)buf_add_string(buf, "\xEF\xBF\xBD");
		else if (*text == '\n')
			(void)buf_add_string(buf, "\\n");
		else if (*text == '"' || *text == '\\')
			(void)buf_printf(buf, "\\%c", *text);
		else if (!utf8_is_visible(utf8_code_point(text, size)))
			(void)buf_printf(buf, "\\\\u%04x", utf8_code_point(text, size));
		else
			(void)buf_add(buf, text, size);
		size += size == 0;
		text += size;
		left -= size;
	}
}

static void begin(struct metrics_family *family)
{
	const struct metrics_row *row = family->row;

	if (family->begun)
		return;
	family->begun = true;
	(void)buf_printf(family->buf, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
			 row->name, kind_names[row->kind]);
}

/* name suffix {labels} and a space; `end`: the bucket's upper end, NULL for none. */
static void add_name(struct metrics_family *family, const char *suffix, const char *const *values,
		     const char *end)
{
	const char *label = family->row->labels;
	const char *before = "{";

	begin(family);
	(void)buf_add_string(family->buf, family->row->name);
	(void)buf_add_string(family->buf, suffix);
	for (size_t i = 0; *label; i++) {
		size_t size = strcspn(label, ",");

		(void)buf_add_string(family->buf, before);
		(void)buf_add(family->buf, label, size);
		(void)buf_add_string(family->buf, "=\"");
		add_escaped(family->buf, values[i]);
		(void)buf_add_char(family->buf, '"');
		before = ",";
		label += size + (label[size] == ',');
	}
	if (end)
		(void)buf_printf(family->buf, "%sle=\"%s\"", before, end);
	if (end || family->row->labels[0])
		(void)buf_add_char(family->buf, '}');
	(void)buf_add_char(family->buf, ' ');
}

void metrics_text_integer(struct metrics_family *family, const char *const *values, int64_t value)
{
	add_name(family, "", values, NULL);
	(void)buf_printf(family->buf, "%" PRId64 "\n", value);
}

void metrics_text_amount(struct metrics_family *family, const char *const *values, int64_t amount)
{
	add_name(family, "", values, NULL);
	if (amount % RESOURCE_UNIT == 0)
		(void)buf_printf(family->buf, "%" PRId64 "\n", amount / RESOURCE_UNIT);
	else
		(void)buf_printf(family->buf, "%" PRId64 ".%04d\n", amount / RESOURCE_UNIT,
				 (int)(amount % RESOURCE_UNIT));
}

void metrics_text_double(struct metrics_family *family, const char *const *values, double value)
{
	add_name(family, "", values, NULL);
	(void)buf_printf(family->buf, "%.15g\n", value);
}

void metrics_text_histogram(struct metrics_family *family, const char *const *values,
			    const struct metrics_histogram *histogram)
{
	const double *ends = bucket_ends((enum metrics_id)(family->row - metrics_rows));
	uint64_t sum = 0;
	char end[32];

	for (size_t i = 0; ends[i] > 0; i++) {
		sum += histogram->buckets[i];
		(void)snprintf(end, sizeof(end), "%g", ends[i]);
		add_name(family, "_bucket", values, end);
		(void)buf_printf(family->buf, "%" PRIu64 "\n", sum);
	}
	add_name(family, "_bucket", values, "+Inf");
	(void)buf_printf(family->buf, "%" PRIu64 "\n", histogram->count);
	add_name(family, "_sum", values, NULL);
	(void)buf_printf(family->buf, "%.15g\n", histogram->sum);
	add_name(family, "_count", values, NULL);
	(void)buf_printf(family->buf, "%" PRIu64 "\n", histogram->count);
}
