/* A plan as the bytes of ReportAutoscalingStateRequest, for gcs_client_report_state. Pure. The
 * caller owns the buffer. Limits: GCS_REPORT_MAX_ENTRIES, GCS_REPORT_MAX_BYTES. */
#ifndef GCS_GCS_REPORT_H
#define GCS_GCS_REPORT_H

#include "base/buf.h"
#include "base/time.h"
#include "core/model/plan.h"
#include "core/model/ray_state.h"

#define GCS_REPORT_MAX_ENTRIES 1000
#define GCS_REPORT_MAX_BYTES (4u << 20)

/* A GCS drops a report whose version is below the last one it accepted. A counter alone would
 * restart with this process, the clock alone may be set back: so the version is above the clock
 * (ms), the version that the GCS has seen (0 in Ray 2.60, which does not set it), and the last one
 * of this client. */
int64_t gcs_report_version(time_ms now, const struct ray_state *state, int64_t last_sent);

/* Appends the bytes to `bytes`; -1 above its ceiling (never at 2 × GCS_REPORT_MAX_BYTES). state:
 * the reply that the plan was made from. */
int gcs_report_write(int64_t version, time_ms now, const struct ray_state *state,
		     const struct plan *plan, struct buf *bytes);

#endif
