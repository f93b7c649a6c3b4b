/* An informer against a server that follows steps, and a record of its callbacks as one text. */
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

extern struct kube_script informer_script;
extern struct kube_informer *informer;
extern struct err last_error;

int informer_setup(void **state);

/* ---- the record of the callbacks, as one text ---- */

void informer_on_live(void *context);

/* Runs until the text was recorded, and drops the record up to its end. */
void informer_wait_seen(const char *text);

extern const struct kube_informer_callbacks informer_callbacks;

void informer_start_with(const struct step *steps, size_t count,
			 const struct kube_informer_options *options);
void informer_start(const struct step *steps, size_t count);

#define START(...)                                                                                 \
	static const struct step steps[] = { __VA_ARGS__ };                                        \
	informer_start(steps, SUPPORT_COUNT(steps))

void informer_stop(void);
const char *informer_version(const char *name);

#define TEST(name) cmocka_unit_test_setup(name, informer_setup)

#endif
