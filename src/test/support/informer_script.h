/* An informer against a server that follows steps, and a record of its callbacks as one text.
 * Header only. */
#ifndef TEST_SUPPORT_INFORMER_SCRIPT_H
#define TEST_SUPPORT_INFORMER_SCRIPT_H

#include "kube/kube_informer.h"

#include "core/model/kubernetes.h"
#include "test/support/kube_script.h"

#define LIST(rv, token, items)                                                                     \
	"{'metadata':{'resourceVersion':'" rv "','continue':'" token "'},'items':[" items "]}"
#define POD(name, rv)                                                                              \
	"{'metadata':{'namespace':'a','name':'" name "','resourceVersion':'" rv                    \
	"','labels':{'ray.io/cluster':'c'}}}"
#define BAD_POD(name, rv)                                                                          \
	"{'metadata':{'namespace':'a','name':'" name "','resourceVersion':'" rv                    \
	"'},'spec':{'containers':7}}"
#define EVENT(type, object) "{'type':'" type "','object':" object "}\n"
#define BOOKMARK(rv) EVENT("BOOKMARK", "{'metadata':{'resourceVersion':'" rv "'}}")
#define STATUS(code) "{'kind':'Status','code':" code ",'message':'too old'}"
#define WATCH_FROM(rv) "timeoutSeconds=20&resourceVersion=" rv
#define LIST_PAGE "GET /api/v1/pods?labelSelector=ray.io%2Fcluster&limit=250"

static struct kube_script script;
static struct kube_informer *informer;
static struct err last_error;

static inline int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	last_error = (struct err){ .kind = ERR_NONE };
	return 0;
}

/* ---- the record of the callbacks, as one text ---- */

static inline const char *version_of(const void *object)
{
	return object ? ((const struct pod *)object)->resource_version : "-";
}

static inline void on_change(void *context, enum kube_change change, const char *key,
			     const void *old, const void *new_object)
{
	static const char *const names[] = { "", "ADDED", "MODIFIED", "DELETED", "BAD" };

	(void)context;
	(void)buf_printf(&script.seen, "%s %s %s %s;", names[change], key, version_of(old),
			 version_of(new_object));
}

static inline void on_synced(void *context)
{
	(void)context;
	(void)buf_add_string(&script.seen, "synced;");
}

static inline void on_error(void *context, const struct err *err)
{
	(void)context;
	last_error = *err;
	(void)buf_printf(&script.seen, "error %s;", err_kind_name(err->kind));
}

static inline void on_live(void *context)
{
	(void)context;
	(void)buf_add_string(&script.seen, "live;");
}

static inline bool has_seen(void *context)
{
	return strstr(buf_string(&script.seen), context) != NULL;
}

/* Runs until the text was recorded, and drops the record up to its end. */
static inline void wait_seen(const char *text)
{
	const char *at;

	if (!loop_wait_until(script.loop, has_seen, (void *)(uintptr_t)text, WAIT_MS))
		fail_msg("never seen: \"%s\"; seen: \"%s\"", text, buf_string(&script.seen));
	at = strstr(buf_string(&script.seen), text);
	buf_consume(&script.seen, (size_t)(at - script.seen.data) + strlen(text));
}

static const struct kube_informer_callbacks callbacks __attribute__((unused)) = {
	.on_change = on_change, .on_synced = on_synced, .on_error = on_error, .on_live = on_live
};

static inline void start_with(const struct step *steps, size_t count,
			      const struct kube_informer_options *options)
{
	script_steps(&script, steps, count);
	informer = kube_informer_new(script.client, options);
}

static inline void start(const struct step *steps, size_t count)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .label_selector = "ray.io/cluster",
						       .callbacks = callbacks };

	start_with(steps, count, &options);
}

#define START(...)                                                                                 \
	static const struct step steps[] = { __VA_ARGS__ };                                        \
	start(steps, SUPPORT_COUNT(steps))

static inline void stop(void)
{
	kube_informer_free(informer);
	script_done(&script);
}

static inline const char *version(const char *name)
{
	return version_of(kube_informer_get(informer, "a", name));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

#endif
