/* The windows of a schedule for programs of other languages: per line of standard input a JSON
 * object {"file": a TZif file, "start": cron, "duration": "9h", "from": time, "until": time}, and
 * per line of output a list of [time, active] of every change after from and up to until, with the
 * state at from first. At each change the time zone is read again, as a controller would. */
#include <stdio.h>
#include <string.h>

#include "codec/text/duration.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "codec/text/rfc3339.h"
#include "codec/text/tzif.h"
#include "feature/schedules/codec/cron.h"
#include "feature/schedules/core/calendar.h"
#include "test/tools/json_lines.h"

#define LINE_BYTES_MAX ((size_t)16 << 20)
#define MS_PER_DAY (86400 * MS_PER_SECOND)

struct question {
	const char *file, *start, *duration;
	time_ms from, until;
	struct cron cron;
	int64_t duration_ms;
	unsigned char bytes[TZIF_BYTES_MAX];
	size_t size;
};

static int read_question(const struct json_at *root, struct question *question, struct err *err)
{
	const char *problem = NULL;
	FILE *file;

	if (json_text(root, "file", &question->file) ||
	    json_text(root, "start", &question->start) ||
	    json_text(root, "duration", &question->duration) ||
	    rfc3339_decode(root, "from", &question->from) ||
	    rfc3339_decode(root, "until", &question->until))
		return -1;
	if (cron_parse(question->start, &question->cron, &problem) ||
	    duration_parse(question->duration, &question->duration_ms, &problem))
		return err_set(err, ERR_INPUT, "%s %s: %s", question->start, question->duration,
			       problem);
	file = fopen(question->file, "re");
	if (!file)
		return err_set(err, ERR_INPUT, "%s cannot be opened", question->file);
	question->size = fread(question->bytes, 1, sizeof(question->bytes), file);
	fclose(file);
	return 0;
}

static int window_at(const struct question *question, time_ms now, struct arena *arena,
		     struct calendar_window *ret_window, struct err *err)
{
	struct time_zone zone;
	const char *problem;

	if (tzif_read(question->bytes, question->size, now - TIME_ZONE_PAST_DAYS * MS_PER_DAY,
		      now + TIME_ZONE_FUTURE_DAYS * MS_PER_DAY, arena, &zone, &problem))
		return err_set(err, ERR_INPUT, "%s %s", question->file, problem);
	*ret_window = calendar_window(&question->cron, question->duration_ms, &zone, now);
	return 0;
}

static int answer(const char *line, size_t size, struct arena *arena, struct buf *buf,
		  struct err *err)
{
	static const struct json_limits limits = { .bytes = LINE_BYTES_MAX,
						   .depth = 10,
						   .elements = 100 };
	struct json_reader reader = { .arena = arena, .err = err };
	struct question *question = ARENA_NEW(arena, struct question);
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_writer writer;
	struct json_at root;

	if (json_parse(line, size, &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	if (read_question(&root, question, err))
		return -1;
	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_array(&writer, NULL);
	for (time_ms now = question->from; now != TIME_NONE && now <= question->until;) {
		struct calendar_window window;
		char text[RFC3339_SIZE];

		if (window_at(question, now, arena, &window, err))
			return -1;
		rfc3339_print(now, text);
		json_write_array(&writer, NULL);
		json_write_text(&writer, NULL, text);
		json_write_boolean(&writer, NULL, window.active);
		json_write_array_end(&writer);
		now = window.next_change;
	}
	json_write_array_end(&writer);
	return 0;
}

int main(void)
{
	return json_lines_run(answer, LINE_BYTES_MAX);
}
