/* The summary of one decision as JSON: the answer of /status/NAMESPACE/NAME and the clusters of
 * `status -o json`, written and read by one table of fields; docs/COMMANDS.md describes it. A value
 * that is unknown because Ray was not reached is null, never 0. */
#ifndef CODEC_OBJECTS_SUMMARY_JSON_H
#define CODEC_OBJECTS_SUMMARY_JSON_H

#include "codec/schema/field.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "core/report/summary.h"

/* A condition's message that is NULL is left out. */
extern const struct field summary_condition_fields[];
/* The members into the object that is open. */
void summary_write(struct json_writer *writer, const struct summary *summary);
/* The whole answer of /status/NAMESPACE/NAME: the summary as `status`, the text of `explain`, the
 * plan, and why Ray was not reached, which is not a part of a snapshot because no decision depends
 * on it. */
void summary_write_answer(const struct snapshot *snapshot, const struct plan *plan,
			  const struct summary *summary, struct buf *buf);
/* Reads these members of `at`; results live in the reader's arena. Other members of the summary are
 * zero. -1 with the path in the reader's error. */
int summary_decode(const struct json_at *at, struct summary *ret_summary);

#endif
