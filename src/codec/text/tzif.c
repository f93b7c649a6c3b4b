#include "codec/text/tzif.h"

#include <string.h>

#include "codec/text/posix_tz.h"

#define HEADER_SIZE 44
#define COUNTS_AT 20
#define TYPE_SIZE 6
#define FOOTER_SIZE_MAX 100
#define YEAR_MIN 1
#define YEAR_MAX 9998

static const char problem_form[] = "is not a time zone file (TZif, RFC 8536)";
static const char problem_version[] = "is a time zone file of version 1, without 64-bit times";
static const char problem_leap[] = "counts leap seconds, as the zones in right/ do";
static const char problem_footer[] = "has an unknown rule for future changes at its end";

/* The counts of a header, in its order. */
struct header {
	uint32_t utc_count, standard_count, leap_count, time_count, type_count, char_count;
};

struct data {
	struct header header;
	const unsigned char *times, *indices, *types, *end;
};

static uint32_t read_32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_64(const unsigned char *at)
{
	return (int64_t)((uint64_t)read_32(at) << 32 | read_32(at + 4));
}

static int read_header(const unsigned char *data, size_t size, struct header *ret_header)
{
	uint32_t counts[6];

	if (size < HEADER_SIZE || memcmp(data, "TZif", 4) != 0)
		return -1;
	for (size_t i = 0; i < 6; i++)
		counts[i] = read_32(data + COUNTS_AT + 4 * i);
	*ret_header =
		(struct header){ counts[0], counts[1], counts[2], counts[3], counts[4], counts[5] };
	return 0;
}

/* Bytes of a block whose times have `width` bytes. The counts have 32 bits: no overflow. */
static uint64_t block_size(const struct header *header, uint64_t width)
{
	return header->time_count * (width + 1) + header->type_count * (uint64_t)TYPE_SIZE +
	       header->char_count + header->leap_count * (width + 4) +
	       (uint64_t)header->standard_count + header->utc_count;
}

/* The second block, with 64-bit times. */
static int find_data(const unsigned char *bytes, size_t size, struct data *ret_data,
		     const char **ret_problem)
{
	struct data data;
	uint64_t skipped;

	*ret_problem = problem_form;
	if (size > TZIF_BYTES_MAX || read_header(bytes, size, &data.header))
		return -1;
	skipped = HEADER_SIZE + block_size(&data.header, 4);
	if (bytes[4] < '2') {
		*ret_problem = problem_version;
		return -1;
	}
	if (skipped > size || read_header(bytes + skipped, size - skipped, &data.header) ||
	    block_size(&data.header, 8) > size - skipped - HEADER_SIZE ||
	    data.header.type_count == 0)
		return -1;
	if (data.header.leap_count > 0) {
		*ret_problem = problem_leap;
		return -1;
	}
	data.times = bytes + skipped + HEADER_SIZE;
	data.indices = data.times + (size_t)data.header.time_count * 8;
	data.types = data.indices + data.header.time_count;
	data.end = bytes + skipped + HEADER_SIZE + block_size(&data.header, 8);
	*ret_data = data;
	return 0;
}

/* The rule between two line ends; *ret_has false: there is none. */
static int read_footer(const struct data *data, const unsigned char *end, struct posix_tz *ret_rule,
		       bool *ret_has)
{
	size_t size = (size_t)(end - data->end);
	char text[FOOTER_SIZE_MAX];

	*ret_has = false;
	if (size < 2 || size > sizeof(text) || data->end[0] != '\n' || end[-1] != '\n')
		return -1;
	memcpy(text, data->end + 1, size - 2);
	text[size - 2] = '\0';
	if (strlen(text) != size - 2)
		return -1;
	*ret_has = size > 2;
	return size > 2 ? posix_tz_parse(text, ret_rule) : 0;
}

struct maker {
	struct arena *arena;
	time_ms from, until;
	int64_t offset_seconds; /* of the latest change */
	VEC(struct time_zone_change) changes;
	struct time_zone *zone;
};

/* A change before `from` sets the first offset; one that changes nothing is left out. Of two changes
 * at the same moment the later one counts: daylight saving time that lasts all year ends when it
 * begins again. */
static void add_change(struct maker *maker, time_ms at, int64_t offset_seconds)
{
	size_t *count = &maker->changes.count;

	if (at > maker->until || offset_seconds == maker->offset_seconds)
		return;
	maker->offset_seconds = offset_seconds;
	if (at <= maker->from) {
		maker->zone->offset_seconds = offset_seconds;
		return;
	}
	if (*count > 0 && at <= maker->changes.at[*count - 1].at) {
		at = maker->changes.at[--*count].at;
		if (offset_seconds == (*count > 0 ? maker->changes.at[*count - 1].offset_seconds :
						    maker->zone->offset_seconds))
			return;
	}
	VEC_PUSH(maker->arena, &maker->changes, ((struct time_zone_change){ at, offset_seconds }));
}

static int64_t type_offset(const struct data *data, size_t type)
{
	return (int32_t)read_32(data->types + type * TYPE_SIZE);
}

static int add_listed(struct maker *maker, const struct data *data, time_ms *ret_last)
{
	*ret_last = INT64_MIN;
	for (size_t i = 0; i < data->header.time_count; i++) {
		int64_t seconds = read_64(data->times + i * 8);

		/* The first one may be "the beginning of time". */
		if (seconds > INT64_MAX / MS_PER_SECOND)
			return -1;
		seconds = seconds < INT64_MIN / MS_PER_SECOND + 1 ? INT64_MIN / MS_PER_SECOND + 1 :
								    seconds;
		if (seconds * MS_PER_SECOND <= *ret_last ||
		    data->indices[i] >= data->header.type_count)
			return -1;
		*ret_last = seconds * MS_PER_SECOND;
		add_change(maker, *ret_last, type_offset(data, data->indices[i]));
	}
	return 0;
}

static int64_t year_of(time_ms time)
{
	struct civil_time civil;

	time_to_civil(time, &civil);
	return civil.year;
}

/* The changes of the rule after the last one of the list. */
static void add_ruled(struct maker *maker, const struct posix_tz *rule, time_ms last)
{
	if (!rule->has_daylight) {
		add_change(maker, last == INT64_MIN ? maker->from : last, rule->standard_seconds);
		return;
	}
	for (int64_t year = year_of(maker->from) - 1; year <= year_of(maker->until) + 1; year++) {
		struct time_zone_change pair[2];
		size_t first;

		posix_tz_changes(rule, year, pair);
		first = pair[0].at <= pair[1].at ? 0 : 1;
		if (pair[first].at > last)
			add_change(maker, pair[first].at, pair[first].offset_seconds);
		if (pair[1 - first].at > last)
			add_change(maker, pair[1 - first].at, pair[1 - first].offset_seconds);
	}
}

static int check_offsets(const struct data *data)
{
	for (size_t i = 0; i < data->header.type_count; i++)
		if (type_offset(data, i) < TIME_ZONE_OFFSET_MIN ||
		    type_offset(data, i) > TIME_ZONE_OFFSET_MAX)
			return -1;
	return 0;
}

int tzif_read(const unsigned char *bytes, size_t size, time_ms from, time_ms until,
	      struct arena *arena, struct time_zone *ret_zone, const char **ret_problem)
{
	struct time_zone zone = { .name = "" };
	struct maker maker = { .arena = arena, .from = from, .until = until, .zone = &zone };
	struct posix_tz rule;
	struct data data;
	bool has_rule;
	time_ms last;

	if (find_data(bytes, size, &data, ret_problem))
		return -1;
	*ret_problem = problem_footer;
	if (read_footer(&data, bytes + size, &rule, &has_rule))
		return -1;
	*ret_problem = problem_form;
	if (check_offsets(&data) || year_of(from) <= YEAR_MIN || year_of(until) >= YEAR_MAX)
		return -1;
	zone.offset_seconds = maker.offset_seconds = type_offset(&data, 0);
	if (add_listed(&maker, &data, &last))
		return -1;
	if (has_rule)
		add_ruled(&maker, &rule, last);
	if (maker.changes.count > TIME_ZONE_CHANGES_MAX)
		return -1;
	zone.changes = maker.changes.at;
	zone.change_count = maker.changes.count;
	*ret_zone = zone;
	*ret_problem = NULL;
	return 0;
}
