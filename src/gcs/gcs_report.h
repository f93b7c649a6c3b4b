/* A plan as the bytes of ReportAutoscalingStateRequest: what gcs_client_report_state sends.
 * Pure. The caller owns the buffer. Ceilings: GCS_REPORT_MAX_ENTRIES, GCS_REPORT_MAX_BYTES. */
#ifndef GCS_GCS_REPORT_H
#define GCS_GCS_REPORT_H

#include "base/buf.h"
#include "base/time.h"
#include "core/model/plan.h"
#include "core/model/ray_state.h"

/* A GCS drops a report whose version is below the last one it took. A counter alone would start
 * again when we do, the clock alone may be set back: above both the clock (ms), what the GCS says
 * it has seen (0 in Ray 2.60, which does not fill it), and what this client sent last. */
int64_t gcs_report_version(time_ms now, const struct ray_state *state, int64_t last_sent);

/* Appends the bytes to `bytes`; -1 when they pass its ceiling (at 2 × GCS_REPORT_MAX_BYTES they do
 * not). state: the reply that the plan answers. */
int gcs_report_write(int64_t version, time_ms now, const struct ray_state *state,
		     const struct plan *plan, struct buf *bytes);

#endif
