/* Creates the RayClusterAutoscaler of each managed RayCluster that has none, and writes its status
 * when it changes: after a decision, never before a patch, at most once a second for one object,
 * and for all together with at most a fifth of --kube-api-qps (20 per second at most), so that it
 * never delays scaling. It compares with the object in the cache; its own state (times of writes,
 * results of patches) may be lost at any instruction. Owned by ctl/watch/autoscaler_objects. Must
 * not read or decide anything. */
#ifndef CTL_REPORT_AUTOSCALER_WRITER_H
#define CTL_REPORT_AUTOSCALER_WRITER_H

#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"

struct autoscaler_writer;

/* The informer is that of the RayClusterAutoscalers; it must live longer. */
struct autoscaler_writer *autoscaler_writer_new(const struct control *control,
						const struct kube_informer *informer);
void autoscaler_writer_free(struct autoscaler_writer *writer); /* NULL is fine */

/* As of ctl/watch/autoscaler_objects; the informer must be synced. */
void autoscaler_writer_decided(struct autoscaler_writer *writer,
			       const struct pass_decision *decision);
/* The object has no RayCluster: its status says so with this message, unless it does already. */
void autoscaler_writer_orphan(struct autoscaler_writer *writer,
			      const struct autoscaler_object *object, const char *message);
/* As of autoscaler_objects_second. */
bool autoscaler_writer_second(struct autoscaler_writer *writer, const char *namespace_,
			      const char *name);
void autoscaler_writer_patched(struct autoscaler_writer *writer, const char *namespace_,
			       const char *name);
void autoscaler_writer_forget(struct autoscaler_writer *writer, const char *namespace_,
			      const char *name);

#endif
