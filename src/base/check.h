/* Assertions for states that cannot occur. Always on: a wrong program must not scale GPUs. A failed
 * CHECK calls the hook that cli installs (it prints), then aborts. Never used on input from
 * outside: that is an error value (err.h). */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0))                                             \
			check_failed(#condition, __FILE__, __LINE__, __func__);                    \
	} while (0)

/* Called with the condition, its place and the key in work ("" for none). It must
 * not return to normal work; if it returns, check_failed aborts. */
typedef void check_hook(const char *condition, const char *file, int line, const char *function,
			const char *key);

void check_hook_set(check_hook *hook);

/* The key ("namespace/name") that the next failure on this thread should name; copied, cut at 255
 * bytes. */
void check_key_set(const char *key);

/* The snapshot (core/model/snapshot.h) that this thread decides now, or NULL. decide() sets it; the
 * hook of cli prints it as a case for `rayscaler plan`. */
void check_snapshot_set(const void *snapshot);
const void *check_snapshot(void);

_Noreturn void check_failed(const char *condition, const char *file, int line,
			    const char *function);

#endif
