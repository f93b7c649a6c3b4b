/* The fleet of `make fleet`: RayClusters with their Pods, their demand and their counters. Its API
 * server (fleet_api.h) and its Ray heads (fleet_gcs.h) serve it. Header only, one owner:
 * gcs_fleet.c. A cluster is an index; every name and address follows from it. */
#ifndef TEST_FLEET_H
#define TEST_FLEET_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/memory.h"
#include "net/loop.h"

#define FLEET_NAMESPACE "fleet"
#define FLEET_GROUP "gpu-group"
#define FLEET_PODS_MAX 64
#define FLEET_PODS_PER_NODE 50
#define FLEET_LATENCIES_MAX 200000
#define FLEET_ORDERS 2
#define FLEET_TEXT_MAX ((size_t)1 << 30)

enum fleet_kind {
	FLEET_CLUSTERS = 0,
	FLEET_PODS,
	FLEET_AUTOSCALERS,
	FLEET_NODES,
	FLEET_EVENTS,
	FLEET_POOLS, /* from here on: guests alone */
	FLEET_NAMESPACES,
	FLEET_SLICES,
	FLEET_CLASSES,
	FLEET_TEMPLATES,
	FLEET_CLAIMS,
	FLEET_KINDS,
};

struct cJSON;

struct fleet_cluster {
	unsigned pods; /* the head among them */
	unsigned running;
	unsigned replicas;
	uint64_t generation, version; /* of the RayCluster */
	uint64_t pod_versions[FLEET_PODS_MAX];
	struct cJSON *notes[FLEET_PODS_MAX]; /* annotations of the Pods; NULL: never patched */
	struct cJSON *autoscaler; /* as it was sent, and its status; NULL: not made yet */
	int64_t demand_us;        /* since when there is demand; 0: none */
	int64_t due_us; /* of the next step of the operator's and the kubelet's; 0: none */
	/* GetClusterResourceStateReply, with the entries of maps in two orders; empty: to be made */
	struct buf replies[FLEET_ORDERS];
	bool asked; /* its state has been read */
};

struct fleet {
	struct loop *loop;
	struct fleet_cluster *clusters;
	unsigned count, pods;
	int gcs_port;
	uint64_t version;    /* of the last change */
	bool autoscalers;    /* their definition is there */
	bool pools;          /* that of GPUPools */
	struct cJSON *lease; /* NULL: not made yet */
	uint64_t lease_version;
	int64_t leased_us; /* of its last write */
	/* changes under way, and when the next cluster has demand */
	double changes_per_second, credit;
	int64_t credited_us;
	unsigned next, stride;
	unsigned *active;
	size_t active_count;
	/* counters since the last reset */
	int64_t reset_us;
	uint64_t totals[FLEET_KINDS]; /* of requests of each kind, never reset */
	uint64_t reads[FLEET_KINDS], single_reads, watches, writes[FLEET_KINDS], refused;
	uint64_t states, reports, other_calls, connections;
	int64_t lease_gap_us; /* the longest time between two writes of the Lease */
	unsigned long long token_reviews;
	uint64_t guest_patches;
	int64_t *latencies_us;
	size_t latency_count, demands;
	/* never reset */
	int64_t start_ms; /* loop_boot_ms */
	int64_t replies;
	unsigned asked;
	int64_t all_asked_us;
};

static inline unsigned fleet_worker_of(const struct fleet_cluster *cluster)
{
	return cluster->pods - 1;
}

/* Its state of Ray has changed. */
static inline void fleet_forget_replies(struct fleet_cluster *cluster)
{
	for (unsigned i = 0; i < FLEET_ORDERS; i++)
		buf_done(&cluster->replies[i]);
}

/* Appends the text with ' for ". */
__attribute__((format(printf, 2, 3))) static void fleet_add(struct buf *buf, const char *format,
							    ...)
{
	size_t from = buf->size;
	char *text;
	va_list list;
	int size;

	va_start(list, format);
	size = vasprintf(&text, format, list);
	va_end(list);
	if (size < 0 || buf_add(buf, text, (size_t)size) < 0)
		abort();
	free(text);
	for (size_t i = from; i < buf->size; i++)
		if (buf->data[i] == '\'')
			buf->data[i] = '"';
}

static inline void fleet_cluster_name(unsigned index, char *ret_name, size_t size)
{
	(void)snprintf(ret_name, size, "rc-%05u", index);
}

static inline void fleet_pod_name(unsigned index, unsigned pod, char *ret_name, size_t size)
{
	if (pod == 0)
		(void)snprintf(ret_name, size, "rc-%05u-head", index);
	else
		(void)snprintf(ret_name, size, "rc-%05u-%s-worker-%03u", index, FLEET_GROUP, pod);
}

/* 127.64.0.1 and on: each head has an address of its own. */
static inline uint32_t fleet_head_address(unsigned index)
{
	return UINT32_C(0x7f400001) + index;
}

static void fleet_reset(struct fleet *fleet)
{
	for (unsigned i = 0; i < FLEET_KINDS; i++)
		fleet->reads[i] = fleet->writes[i] = 0;
	fleet->single_reads = fleet->watches = fleet->refused = 0;
	fleet->states = fleet->reports = fleet->other_calls = 0;
	fleet->latency_count = fleet->demands = 0;
	fleet->lease_gap_us = 0;
	fleet->token_reviews = 0;
	fleet->guest_patches = 0;
	fleet->reset_us = loop_precise_us();
}

static int fleet_compare_us(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double fleet_percentile_ms(const struct fleet *fleet, double share)
{
	size_t at = (size_t)(share * (double)fleet->latency_count);

	if (fleet->latency_count == 0)
		return 0;
	if (at >= fleet->latency_count)
		at = fleet->latency_count - 1;
	return (double)fleet->latencies_us[at] / 1000;
}

static const char *const fleet_kind_names[FLEET_KINDS] = {
	"rayclusters",
	"pods",
	"rayclusterautoscalers",
	"nodes",
	"events",
	"gpupools",
	"namespaces",
	"resourceslices",
	"deviceclasses",
	"resourceclaimtemplates",
	"resourceclaims",
};

/* The requests of each kind since the start, without those that had none. */
static void fleet_totals(const struct fleet *fleet, struct buf *ret_text)
{
	const char *before = "{";

	for (unsigned i = 0; i < FLEET_KINDS; i++) {
		if (fleet->totals[i] == 0)
			continue;
		fleet_add(ret_text, "%s'%s': %llu", before, fleet_kind_names[i],
			  (unsigned long long)fleet->totals[i]);
		before = ", ";
	}
	fleet_add(ret_text, "%s}", *before == '{' ? "{" : "");
}

/* The counters, as one JSON object. */
static void fleet_figures(struct fleet *fleet, struct buf *ret_text)
{
	unsigned made = 0, waiting = 0;

	qsort(fleet->latencies_us, fleet->latency_count, sizeof(int64_t), fleet_compare_us);
	for (unsigned i = 0; i < fleet->count; i++) {
		made += fleet->clusters[i].autoscaler != NULL;
		waiting += fleet->clusters[i].demand_us && !fleet->clusters[i].due_us;
	}
	fleet_add(ret_text, "{'seconds': %.3f, 'asked': %u, 'all_asked_us': %lld, 'made': %u,",
		  (double)(loop_precise_us() - fleet->reset_us) / 1e6, fleet->asked,
		  (long long)fleet->all_asked_us, made);
	for (unsigned i = 0; i < FLEET_KINDS; i++)
		fleet_add(ret_text, " 'list_%s': %llu, 'write_%s': %llu,", fleet_kind_names[i],
			  (unsigned long long)fleet->reads[i], fleet_kind_names[i],
			  (unsigned long long)fleet->writes[i]);
	fleet_add(ret_text, " 'single_reads': %llu, 'watches': %llu, 'refused': %llu,",
		  (unsigned long long)fleet->single_reads, (unsigned long long)fleet->watches,
		  (unsigned long long)fleet->refused);
	fleet_add(ret_text, " 'states': %llu, 'reports': %llu, 'other_calls': %llu,",
		  (unsigned long long)fleet->states, (unsigned long long)fleet->reports,
		  (unsigned long long)fleet->other_calls);
	fleet_add(ret_text, " 'connections': %llu, 'demands': %zu, 'patched': %zu, 'waiting': %u,",
		  (unsigned long long)fleet->connections, fleet->demands, fleet->latency_count,
		  waiting);
	fleet_add(ret_text, " 'lease_gap_ms': %.1f, 'guest_patches': %llu, 'token_reviews': %llu,",
		  (double)fleet->lease_gap_us / 1000, (unsigned long long)fleet->guest_patches,
		  fleet->token_reviews);
	fleet_add(ret_text, " 'p50_ms': %.1f, 'p99_ms': %.1f, 'max_ms': %.1f}\n",
		  fleet_percentile_ms(fleet, 0.5), fleet_percentile_ms(fleet, 0.99),
		  fleet_percentile_ms(fleet, 1));
}

#endif
