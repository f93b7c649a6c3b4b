/* The peers that spec.networkPolicy of a RayCluster must admit to the GCS: the Pods of the chart, in the
 * namespace of docs/INSTALL.md. For messages and the lines of lint. */
#ifndef CORE_MODEL_NETWORK_POLICY_H
#define CORE_MODEL_NETWORK_POLICY_H

#define NETWORK_POLICY_FROM                                                                        \
	"[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: rayscaler-system}}, "    \
	"podSelector: {matchLabels: {app.kubernetes.io/name: rayscaler}}}]"

#endif
