#include "cli/simulate_report.h"

#include <string.h>

#include "base/memory.h"
#include "cli/simulate_queue.h"
#include "cli/simulate_text.h"
#include "codec/text/json_write.h"
#include "simulate_page.h"

#define TRADE_BYTES_MAX ((size_t)1 << 20)

static void write_texts(struct json_writer *writer, const char *name, const char *const *texts,
			size_t count)
{
	json_write_array_line(writer, name);
	for (size_t i = 0; i < count; i++)
		json_write_text(writer, NULL, texts[i]);
	json_write_array_end(writer);
}

/* The rows of the text table, with their marks. */
static void write_table(struct json_writer *writer, const struct simulate_plan *plan)
{
	const struct simulate_cells *cells = simulate_cells_make(plan);
	size_t columns = simulate_column_count(plan);

	json_write_object(writer, "table");
	write_texts(writer, "columns", simulate_column_names, columns);
	json_write_array(writer, "rows");
	for (size_t i = 0; i < plan->variants.count; i++) {
		json_write_object(writer, NULL);
		write_texts(writer, "cells", cells[i].texts, columns);
		json_write_boolean(writer, "best", cells[i].best);
		json_write_boolean(writer, "same", cells[i].same);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_queues(struct json_writer *writer, const struct simulate_plan *plan)
{
	const struct simulate_queue_rows rows = simulate_queue_rows_make(plan);

	json_write_object(writer, "queues");
	write_texts(writer, "columns", simulate_queue_names, SIMULATE_QUEUE_COLUMNS);
	json_write_array(writer, "rows");
	VEC_EACH(const struct simulate_queue_cells, cells, &rows.at)
		write_texts(writer, NULL, cells->texts, SIMULATE_QUEUE_COLUMNS);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_sources(struct json_writer *writer, const struct simulate_source *sources,
			  size_t count)
{
	json_write_array(writer, "sources");
	for (size_t i = 0; i < count; i++)
		JSON_WRITE_TEXTS_LINE(writer, NULL, { "name", sources[i].name },
				      { "text", sources[i].text });
	json_write_array_end(writer);
}

static void write_data(const struct simulate_plan *plan, const char *command,
		       const struct simulate_source *sources, size_t count, struct buf *buf)
{
	AUTO(buf_done) struct buf trade = BUF_INIT(TRADE_BYTES_MAX);
	AUTO(buf_done) struct buf result = BUF_INIT(buf->ceiling_bytes);
	struct json_writer writer;

	simulate_trade_write(plan, &trade);
	simulate_json_write(plan, &result);
	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "command", command }, { "legend", simulate_legend_text(plan) },
			 { "trade", buf_string(&trade) });
	json_write_boolean(&writer, "byCost", plan->by_cost);
	write_table(&writer, plan);
	write_queues(&writer, plan);
	write_sources(&writer, sources, count);
	json_write_raw(&writer, "result", buf_string(&result));
	json_write_object_end(&writer);
}

/* In JSON "<" is only in strings, where it may be written so; no text then ends the element. */
static void add_escaped(const char *json, struct buf *buf)
{
	for (const char *end; (end = strchr(json, '<')) != NULL; json = end + 1) {
		buf_add(buf, json, (size_t)(end - json));
		buf_add_string(buf, "\\u003c");
	}
	buf_add_string(buf, json);
}

void simulate_report_write(const struct simulate_plan *plan, const char *command,
			   const struct simulate_source *sources, size_t count, struct buf *buf)
{
	static const char mark[] = "@DATA@";
	const char *place = strstr(simulate_page, mark);
	AUTO(buf_done) struct buf data = BUF_INIT(buf->ceiling_bytes);

	write_data(plan, command, sources, count, &data);
	buf_add(buf, simulate_page, (size_t)(place - simulate_page));
	add_escaped(buf_string(&data), buf);
	buf_add_string(buf, place + strlen(mark));
	buf->overflowed = buf->overflowed || data.overflowed;
}
