/* The fleet's API server: it answers the requests that the program makes in steady state as the
 * real one does. Lists come in pages, watches resume from a version (410 when it is too old), end
 * after their timeoutSeconds with a bookmark; the patch of replicas is tested and answered as a
 * JSON patch is; RayClusterAutoscalers are created and their status is merged under a version.
 * Anything else is a 404. Header only. */
#ifndef TEST_FLEET_API_H
#define TEST_FLEET_API_H

#include "test/fleet/fleet_events.h"

/* --- answers --- */

static void api_status(struct http_peer *peer, int code, const char *reason, const char *message)
{
	struct buf body;

	buf_init(&body, FLEET_TEXT_MAX);
	fleet_add(&body,
		  "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'message': '%s',"
		  " 'reason': '%s', 'code': %d}",
		  message, reason, code);
	api.fleet->refused++;
	http_answer_buf(peer, code, &body);
	buf_done(&body);
}

/* The value of a parameter as a number; 0 without it. */
static uint64_t api_number(const char *target, const char *name)
{
	const char *at = strstr(target, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static size_t api_total(enum fleet_kind kind)
{
	const struct fleet *fleet = api.fleet;

	if (kind >= FLEET_EVENTS)
		return 0;
	if (kind == FLEET_NODES)
		return fleet_nodes(fleet);
	return kind == FLEET_PODS ? (size_t)fleet->count * FLEET_PODS_MAX : fleet->count;
}

/* The Pods of one RayCluster, by namespace and label. */
struct api_filter {
	char namespace_[64], label[128]; /* "": all; the label as in an object's text */
	unsigned index;                  /* of the fleet's own cluster, or its count */
};

/* True: it is a list of the Pods of one RayCluster. */
static bool api_filter_of(const char *target, struct api_filter *ret_filter)
{
	const char *namespace_ = strstr(target, "/namespaces/");
	const char *name = strstr(target, "labelSelector=ray.io%2Fcluster%3D");

	*ret_filter = (struct api_filter){ .index = 0 };
	if (!namespace_ || !name)
		return false;
	namespace_ += strlen("/namespaces/");
	name += strlen("labelSelector=ray.io%2Fcluster%3D");
	(void)snprintf(ret_filter->namespace_, sizeof(ret_filter->namespace_), "%.*s/",
		       (int)strcspn(namespace_, "/"), namespace_);
	(void)snprintf(ret_filter->label, sizeof(ret_filter->label), "\"ray.io/cluster\":\"%.*s\"",
		       (int)strcspn(name, "&"), name);
	ret_filter->index = strncmp(name, "rc-", 3) == 0 ? (unsigned)strtoul(name + 3, NULL, 10) :
							   api.fleet->count;
	return true;
}

/* Adds object `at` of a kind, if there is one; Pods have FLEET_PODS_MAX places for each cluster. */
static bool api_list_one(enum fleet_kind kind, size_t at, const struct api_filter *filter,
			 bool first, struct buf *body)
{
	unsigned index = (unsigned)(kind == FLEET_PODS ? at / FLEET_PODS_MAX : at);
	unsigned pod = (unsigned)(at % FLEET_PODS_MAX);

	if (filter->label[0] != '\0' && index != filter->index)
		return false;
	if ((kind == FLEET_PODS && pod >= api.fleet->clusters[index].pods) ||
	    (kind == FLEET_AUTOSCALERS && !api.fleet->clusters[index].autoscaler))
		return false;
	if (!first)
		(void)buf_add_string(body, ",");
	if (kind == FLEET_NODES)
		fleet_write_node(index, body);
	else
		api_write_object(kind, index, pod, body);
	return true;
}

/* Guests follow the fleet's own objects. */
static bool api_list_guest(enum fleet_kind kind, size_t at, const struct api_filter *filter,
			   bool first, struct buf *body)
{
	const struct fleet_guest *guest = &guests.all[at];

	if (guest->kind != kind)
		return false;
	if (filter->label[0] != '\0' &&
	    (strncmp(guest->path, filter->namespace_, strlen(filter->namespace_)) != 0 ||
	     !memmem(guest->text.data, guest->text.size, filter->label, strlen(filter->label))))
		return false;
	if (!first)
		(void)buf_add_string(body, ",");
	return buf_add(body, guest->text.data, guest->text.size) == 0;
}

static void api_list(struct http_peer *peer, enum fleet_kind kind, const char *target)
{
	const char *token = strstr(target, "continue=");
	uint64_t limit = api_number(target, "limit="), version = api.fleet->version;
	/* Each Pod is of a RayCluster. */
	size_t total = strstr(target, "=%21ray.io%2Fcluster") ? 0 : api_total(kind);
	size_t at = 0, count = 0;
	struct api_filter filter;
	struct buf body;
	char *end;

	(void)api_filter_of(target, &filter);
	if (token) { /* "version-place" */
		version = strtoull(token + 9, &end, 10);
		at = strtoull(end + 1, NULL, 10);
	}
	buf_init(&body, FLEET_TEXT_MAX);
	fleet_add(&body, "{'kind': 'List', 'apiVersion': 'v1', 'items': [");
	for (; at < total + guests.count && (limit == 0 || count < limit); at++)
		count += at < total ? api_list_one(kind, at, &filter, count == 0, &body) :
				      api_list_guest(kind, at - total, &filter, count == 0, &body);
	fleet_add(&body, "], 'metadata': {'resourceVersion': '%llu'", (unsigned long long)version);
	if (at < total + guests.count)
		fleet_add(&body, ", 'continue': '%llu-%zu'", (unsigned long long)version, at);
	fleet_add(&body, "}}\n");
	api.fleet->reads[kind]++;
	http_answer_buf(peer, 200, &body);
	buf_done(&body);
}

static void api_watch(struct http_peer *peer, enum fleet_kind kind, const char *target)
{
	uint64_t from = api_number(target, "resourceVersion=");
	uint64_t seconds = api_number(target, "timeoutSeconds=");

	api.fleet->watches++;
	if (from < api.oldest) {
		api_status(peer, 410, "Expired", "too old resource version");
		return;
	}
	http_begin_chunks(peer);
	for (size_t i = api.first; i < api.at; i++) {
		const struct api_event *event = &api.history[i % API_HISTORY];

		if (event->kind == kind && event->version > from)
			http_chunk(peer, event->line.data, event->line.size);
	}
	peer->watching = true;
	peer->kind = (int)kind;
	peer->end_ms =
		loop_monotonic_ms(api.fleet->loop) + (int64_t)(seconds ? seconds : 300) * 1000;
	peer->next = api.watchers;
	api.watchers = peer;
}

static void api_unwatch(struct http_peer *peer)
{
	struct http_peer **link = &api.watchers;

	if (!peer->watching)
		return;
	peer->watching = false;
	while (*link != peer)
		link = &(*link)->next;
	*link = peer->next;
}

static void api_end_watch(struct http_peer *peer)
{
	static const char *const kinds[] = { "RayCluster",
					     "Pod",
					     "RayClusterAutoscaler",
					     "Node",
					     "Event",
					     "GPUPool",
					     "Namespace",
					     "ResourceSlice",
					     "DeviceClass",
					     "ResourceClaimTemplate",
					     "ResourceClaim" };
	struct buf line;

	buf_init(&line, 1000);
	fleet_add(&line,
		  "{'type': 'BOOKMARK', 'object': {'kind': '%s', 'metadata': {'resourceVersion':"
		  " '%llu'}}}\n",
		  kinds[peer->kind], (unsigned long long)api.fleet->version);
	http_chunk(peer, line.data, line.size);
	http_chunk(peer, "", 0);
	buf_done(&line);
	api_unwatch(peer);
}

/* --- writes --- */

static void api_answer_object(struct http_peer *peer, int status, enum fleet_kind kind,
			      unsigned index)
{
	struct buf body;

	buf_init(&body, FLEET_TEXT_MAX);
	api_write_object(kind, index, 0, &body);
	http_answer_buf(peer, status, &body);
	buf_done(&body);
}

static void api_note_patch(struct fleet_cluster *cluster)
{
	struct fleet *fleet = api.fleet;
	int64_t now = loop_precise_us();

	if (!cluster->demand_us || cluster->due_us)
		return;
	if (fleet->latency_count < FLEET_LATENCIES_MAX)
		fleet->latencies_us[fleet->latency_count++] = now - cluster->demand_us;
	cluster->due_us = now + 50000;
}

/* Only replicas can be patched here: "test" and "replace" of them, tests of names. */
static int api_apply(const cJSON *patch, unsigned replicas, unsigned *ret_replicas)
{
	const cJSON *operation;

	*ret_replicas = replicas;
	cJSON_ArrayForEach(operation, patch)
	{
		const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(operation, "path"));
		const char *what = cJSON_GetStringValue(cJSON_GetObjectItem(operation, "op"));
		const cJSON *value = cJSON_GetObjectItem(operation, "value");

		if (!path || !what)
			return -1;
		if (strcmp(path, "/spec/workerGroupSpecs/0/replicas") != 0) {
			if (strcmp(what, "test") != 0)
				return -1;
		} else if (!strcmp(what, "test")) {
			if (!cJSON_IsNumber(value) || value->valueint != (int)*ret_replicas)
				return -1;
		} else if (cJSON_IsNumber(value)) {
			*ret_replicas = (unsigned)value->valueint;
		}
	}
	return *ret_replicas < FLEET_PODS_MAX ? 0 : -1;
}

static void api_patch_cluster(const struct http_request *request, unsigned index)
{
	struct fleet_cluster *cluster = &api.fleet->clusters[index];
	cJSON *patch = cJSON_ParseWithLength(request->body, request->body_size);
	unsigned replicas;
	int status = patch ? api_apply(patch, cluster->replicas, &replicas) : -1;

	cJSON_Delete(patch);
	api.fleet->writes[FLEET_CLUSTERS]++;
	if (status < 0) {
		api_status(request->peer, 422, "Invalid", "the server rejected our request");
		return;
	}
	if (replicas != cluster->replicas) {
		cluster->replicas = replicas;
		api_note_patch(cluster);
		api_cluster_changed(index, true);
	}
	api_answer_object(request->peer, 200, FLEET_CLUSTERS, index);
}

static void api_merge(cJSON *into, const cJSON *from)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, from)
	{
		cJSON *old = cJSON_GetObjectItem(into, member->string);

		if (cJSON_IsNull(member)) {
			cJSON_DeleteItemFromObject(into, member->string);
		} else if (cJSON_IsObject(member) && cJSON_IsObject(old)) {
			api_merge(old, member);
		} else {
			cJSON_DeleteItemFromObject(into, member->string);
			cJSON_AddItemToObject(into, member->string, cJSON_Duplicate(member, true));
		}
	}
}

static void api_autoscaler_changed(unsigned index, const char *type)
{
	cJSON *metadata = cJSON_GetObjectItem(api.fleet->clusters[index].autoscaler, "metadata");
	char version[24];

	(void)snprintf(version, sizeof(version), "%llu", (unsigned long long)++api.fleet->version);
	cJSON_DeleteItemFromObject(metadata, "resourceVersion");
	cJSON_AddStringToObject(metadata, "resourceVersion", version);
	api_tell(FLEET_AUTOSCALERS, type, index, 0);
}

static void api_create_autoscaler(const struct http_request *request)
{
	cJSON *object = cJSON_ParseWithLength(request->body, request->body_size);
	cJSON *metadata = cJSON_GetObjectItem(object, "metadata");
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(metadata, "name"));
	unsigned index = name && !strncmp(name, "rc-", 3) ? (unsigned)strtoul(name + 3, NULL, 10) :
							    api.fleet->count;

	api.fleet->writes[FLEET_AUTOSCALERS]++;
	if (index >= api.fleet->count || api.fleet->clusters[index].autoscaler) {
		cJSON_Delete(object);
		api_status(request->peer, 409, "AlreadyExists", "it is there already");
		return;
	}
	cJSON_AddStringToObject(metadata, "uid", name);
	cJSON_AddNumberToObject(metadata, "generation", 1);
	cJSON_AddStringToObject(metadata, "creationTimestamp", "2026-01-01T00:00:00Z");
	api.fleet->clusters[index].autoscaler = object;
	api_autoscaler_changed(index, "ADDED");
	api_answer_object(request->peer, 201, FLEET_AUTOSCALERS, index);
}

static void api_patch_autoscaler(const struct http_request *request, unsigned index)
{
	cJSON *object = api.fleet->clusters[index].autoscaler;
	cJSON *patch = cJSON_ParseWithLength(request->body, request->body_size);
	cJSON *metadata = cJSON_GetObjectItem(patch, "metadata");
	const char *wanted = cJSON_GetStringValue(cJSON_GetObjectItem(metadata, "resourceVersion"));
	const char *is = cJSON_GetStringValue(
		cJSON_GetObjectItem(cJSON_GetObjectItem(object, "metadata"), "resourceVersion"));

	api.fleet->writes[FLEET_AUTOSCALERS]++;
	if (!object || !patch || (wanted && strcmp(wanted, is) != 0)) {
		api_status(request->peer, object && patch ? 409 : 404, "Conflict", "try again");
	} else {
		cJSON_DeleteItemFromObject(patch, "metadata");
		api_merge(object, patch);
		api_autoscaler_changed(index, "MODIFIED");
		api_answer_object(request->peer, 200, FLEET_AUTOSCALERS, index);
	}
	cJSON_Delete(patch);
}

/* --- the Lease --- */

/* One Lease, of any name: as in Kubernetes a PUT with an old resourceVersion is a conflict. */
static void api_lease(const struct http_request *request)
{
	struct fleet *fleet = api.fleet;
	bool get = !strcmp(request->method, "GET"), post = !strcmp(request->method, "POST");
	cJSON *sent = get ? NULL : cJSON_ParseWithLength(request->body, request->body_size);
	cJSON *metadata = cJSON_GetObjectItem(sent, "metadata");
	cJSON *version = cJSON_GetObjectItem(metadata, "resourceVersion");
	int64_t now = loop_precise_us();
	char text[24], *body;

	if (!get && sent && metadata && !fleet->lease == post &&
	    (post || !cJSON_GetStringValue(version) ||
	     strtoull(cJSON_GetStringValue(version), NULL, 10) == fleet->lease_version)) {
		fleet->lease_version = ++fleet->version;
		(void)snprintf(text, sizeof(text), "%llu",
			       (unsigned long long)fleet->lease_version);
		cJSON_DeleteItemFromObject(metadata, "resourceVersion");
		cJSON_AddStringToObject(metadata, "resourceVersion", text);
		cJSON_Delete(fleet->lease);
		fleet->lease = sent;
		if (fleet->leased_us && now - fleet->leased_us > fleet->lease_gap_us)
			fleet->lease_gap_us = now - fleet->leased_us;
		fleet->leased_us = now;
	} else if (!get) {
		cJSON_Delete(sent);
		api_status(request->peer, 409, "Conflict", "another one has written it");
		return;
	}
	if (!fleet->lease) {
		api_status(request->peer, 404, "NotFound", "no Lease yet");
		return;
	}
	body = cJSON_PrintUnformatted(fleet->lease);
	http_answer(request->peer, post ? 201 : 200, body, strlen(body));
	cJSON_free(body);
}

/* --- guests --- */

/* A patch of a guest is accepted, and its owner reverts it at once. The status of a GPUPool is not kept. */
static void api_patch_guest(const struct http_request *request, struct fleet_guest *guest)
{
	if (guest->kind == FLEET_POOLS) {
		api.fleet->writes[FLEET_POOLS]++;
	} else {
		api.fleet->guest_patches++;
		api_tell_guest(guest, "MODIFIED");
	}
	http_answer_buf(request->peer, 200, &guest->text);
}

/* "/namespaces/NAMESPACE/PLURAL/NAME" to a guest; NULL: there is none. */
static struct fleet_guest *api_guest_of(enum fleet_kind kind, const char *target, const char *name)
{
	const char *namespace_ = strstr(target, "/namespaces/");
	char path[600];

	if (kind == FLEET_POOLS && *name) {
		(void)snprintf(path, sizeof(path), "cluster/%.*s", (int)strcspn(name, "/?"), name);
		return guest_find(kind, path);
	}
	if (!namespace_ || !*name)
		return NULL;
	namespace_ += strlen("/namespaces/");
	(void)snprintf(path, sizeof(path), "%.*s/%.*s", (int)strcspn(namespace_, "/"), namespace_,
		       (int)strcspn(name, "/?"), name);
	return guest_find(kind, path);
}

/* PUT or DELETE of /fleet/object/KIND/NAMESPACE/NAME, KIND a number of enum fleet_kind. */
static void api_put_guest(const struct http_request *request)
{
	const char *at = request->target + strlen("/fleet/object/");
	char *path;
	enum fleet_kind kind = (enum fleet_kind)strtoul(at, &path, 10);
	struct fleet_guest *guest = *path == '/' ? guest_find(kind, ++path) : NULL;
	bool added = !guest;

	if (!strcmp(request->method, "DELETE") && guest) {
		api_tell_guest(guest, "DELETED");
		guest_remove(guest);
	} else if (!strcmp(request->method, "PUT") && kind < FLEET_KINDS && *path) {
		if (added)
			guest = guest_add(kind, path);
		if (!guest_set_text(guest, request->body, request->body_size)) {
			guest_remove(guest);
			api_status(request->peer, 422, "Invalid",
				   "no resourceVersion of 16 digits");
			return;
		}
		api_tell_guest(guest, added ? "ADDED" : "MODIFIED");
	}
	http_answer(request->peer, 200, "{}", 2);
}

/* --- requests --- */

static void api_discover(const struct http_request *request)
{
	static const char text[] = "%s{'name': '%s', 'namespaced': %s, 'kind': '%s',"
				   " 'verbs': ['get', 'list', 'watch', 'patch', 'create']}";
	static const char claims[] =
		"{\"resources\": [{\"name\": \"resourceslices\"}, {\"name\": \"deviceclasses\"},"
		" {\"name\": \"resourceclaimtemplates\"}, {\"name\": \"resourceclaims\"}]}";
	bool ray = !strcmp(request->target, "/apis/ray.io/v1");
	struct buf body;

	if (!strcmp(request->target, "/apis/resource.k8s.io/v1")) {
		api.fleet->totals[FLEET_CLAIMS]++;
		http_answer(request->peer, 200, claims, sizeof(claims) - 1);
		return;
	}

	if (!ray && (strcmp(request->target, "/apis/rayscaler.dev/v1alpha1") != 0 ||
		     (!api.fleet->autoscalers && !api.fleet->pools))) {
		api_status(request->peer, 404, "NotFound", "not served");
		return;
	}
	buf_init(&body, 10000);
	fleet_add(&body, "{'kind': 'APIResourceList', 'resources': [");
	if (ray || api.fleet->autoscalers)
		fleet_add(&body, text, "", ray ? "rayclusters" : "rayclusterautoscalers", "true",
			  ray ? "RayCluster" : "RayClusterAutoscaler");
	if (!ray && api.fleet->pools)
		fleet_add(&body, text, api.fleet->autoscalers ? ", " : "", "gpupools", "false",
			  "GPUPool");
	fleet_add(&body, "]}");
	http_answer_buf(request->peer, 200, &body);
	buf_done(&body);
}

/* True when the path is that of a collection or object of this kind; *ret_name is "" or "name...". */
static bool api_is(const char *target, const char *plural, const char **ret_name)
{
	const char *at = strstr(target, plural);
	size_t size = strlen(plural);

	if (!at || at > target + strcspn(target, "?") || (at[size] && !strchr("/?", at[size])))
		return false;
	*ret_name = at[size] == '/' ? at + size + 1 : "";
	return true;
}

/* FLEET_PODS_MAX: it is not a Pod of the cluster. */
static unsigned api_pod_of(unsigned index, const char *name)
{
	size_t size = strcspn(name, "?");
	char own[64];

	for (unsigned pod = 0; pod < api.fleet->clusters[index].pods; pod++) {
		fleet_pod_name(index, pod, own, sizeof(own));
		if (strlen(own) == size && !strncmp(own, name, size))
			return pod;
	}
	return FLEET_PODS_MAX;
}

/* A merge patch of annotations under a version. */
static void api_patch_pod(const struct http_request *request, unsigned index, const char *name)
{
	unsigned pod = api_pod_of(index, name);
	cJSON *patch = cJSON_ParseWithLength(request->body, request->body_size);
	const cJSON *metadata = cJSON_GetObjectItem(patch, "metadata");
	const char *wanted = cJSON_GetStringValue(cJSON_GetObjectItem(metadata, "resourceVersion"));
	struct fleet_cluster *cluster = &api.fleet->clusters[index];

	api.fleet->writes[FLEET_PODS]++;
	if (pod == FLEET_PODS_MAX || !wanted) {
		api_status(request->peer, 404, "NotFound", "not a Pod of the fleet");
	} else if (strtoull(wanted, NULL, 10) != cluster->pod_versions[pod]) {
		api_status(request->peer, 409, "Conflict", "try again");
	} else {
		if (!cluster->notes[pod])
			cluster->notes[pod] = cJSON_CreateObject();
		api_merge(cluster->notes[pod], cJSON_GetObjectItem(metadata, "annotations"));
		api_pod_changed(index, pod, "MODIFIED");
		http_answer(request->peer, 200, "{}", 2);
	}
	cJSON_Delete(patch);
}

static void api_take(const struct http_request *request, enum fleet_kind kind, const char *name)
{
	bool get = !strcmp(request->method, "GET");
	struct fleet_guest *guest = api_guest_of(kind, request->target, name);
	unsigned index = strncmp(name, "rc-", 3) != 0 ? api.fleet->count :
							(unsigned)strtoul(name + 3, NULL, 10);

	api.fleet->totals[kind]++;
	if (get && !*name && strstr(request->target, "watch=")) {
		api_watch(request->peer, kind, request->target);
	} else if (get && !*name) {
		api_list(request->peer, kind, request->target);
	} else if (guest && get) {
		http_answer_buf(request->peer, 200, &guest->text);
	} else if (guest) {
		api_patch_guest(request, guest);
	} else if (get) {
		api.fleet->single_reads++;
		api_status(request->peer, 404, "NotFound", "no single reads in the fleet");
	} else if (kind == FLEET_EVENTS) {
		api.fleet->writes[kind]++;
		http_answer(request->peer, 201, request->body, request->body_size);
	} else if (kind == FLEET_AUTOSCALERS && !*name) {
		api_create_autoscaler(request);
	} else if (index < api.fleet->count && kind == FLEET_AUTOSCALERS) {
		api_patch_autoscaler(request, index);
	} else if (index < api.fleet->count && kind == FLEET_CLUSTERS) {
		api_patch_cluster(request, index);
	} else if (index < api.fleet->count && kind == FLEET_PODS) {
		api_patch_pod(request, index, name);
	} else {
		api_status(request->peer, 404, "NotFound", "not part of the fleet");
	}
}

/* --- reviews --- */

#define HONEST_TOKEN "honest"

/* The one token that is known may read everything. */
static void api_review(const struct http_request *request)
{
	static const char accepted[] = "{\"status\": {\"authenticated\": true, \"allowed\": true,"
				       " \"user\": {\"username\": \"scraper\"}}}";
	static const char refused[] = "{\"status\": {\"authenticated\": false}}";
	cJSON *sent = cJSON_ParseWithLength(request->body, request->body_size);
	cJSON *spec = cJSON_GetObjectItem(sent, "spec");
	const char *token = cJSON_GetStringValue(cJSON_GetObjectItem(spec, "token"));
	const char *answer = !token || !strcmp(token, HONEST_TOKEN) ? accepted : refused;

	api.fleet->token_reviews += token != NULL;
	http_answer(request->peer, 201, answer, strlen(answer));
	cJSON_Delete(sent);
}

static void api_handle(const struct http_request *request)
{
	/* Namespaces are in the paths of others. */
	static const char *const plurals[FLEET_KINDS] = {
		[FLEET_CLUSTERS] = "/rayclusters",
		[FLEET_PODS] = "/pods",
		[FLEET_AUTOSCALERS] = "/rayclusterautoscalers",
		[FLEET_NODES] = "/nodes",
		[FLEET_EVENTS] = "/events",
		[FLEET_POOLS] = "/gpupools",
		[FLEET_SLICES] = "/resourceslices",
		[FLEET_CLASSES] = "/deviceclasses",
		[FLEET_TEMPLATES] = "/resourceclaimtemplates",
		[FLEET_CLAIMS] = "/resourceclaims",
	};
	const char *name;

	if (!strncmp(request->target, "/api/v1/namespaces?", 19)) {
		api_take(request, FLEET_NAMESPACES, "");
		return;
	}
	for (unsigned kind = 0; kind < FLEET_KINDS; kind++)
		if (plurals[kind] && api_is(request->target, plurals[kind], &name)) {
			api_take(request, kind, name);
			return;
		}
	if (strstr(request->target, "/leases")) {
		api_lease(request);
	} else if (strstr(request->target, "reviews")) {
		api_review(request);
	} else if (strstr(request->target, "/apis/") == request->target) {
		api_discover(request);
	} else {
		api.fleet->refused++;
		api_status(request->peer, 404, "NotFound", request->target);
	}
}

static void api_end_watches(void)
{
	int64_t now = loop_monotonic_ms(api.fleet->loop);
	struct http_peer *next;

	for (struct http_peer *peer = api.watchers; peer; peer = next) {
		next = peer->next;
		if (peer->end_ms <= now)
			api_end_watch(peer);
	}
}

#endif
