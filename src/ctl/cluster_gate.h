/* Whether a RayCluster is scaled, by the objects in the caches alone: before a pass, which reads Ray
 * or not. */
#ifndef CTL_CLUSTER_GATE_H
#define CTL_CLUSTER_GATE_H

struct observation;
struct options;

enum cluster_gate {
	CLUSTER_SCALED = 0,
	CLUSTER_HANDS_OFF, /* Ray is not read */
	/* This program has suspended it. Its Ray is read as long as it answers: work may have arrived
	 * since the last question. */
	CLUSTER_ENDING,
};

/* view->cluster NULL: HANDS_OFF. Of its Pods only heads are read. */
enum cluster_gate cluster_gate(const struct observation *view, const struct options *options);

#endif
