/* Error values for everything that comes from outside the program.
 * The caller owns every struct err; it holds no pointers and is never freed.
 * Must not be used for programmer errors: those are CHECK (check.h). */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* Defines the caller's reaction; the text has the cause. */
enum err_kind {
	ERR_NONE = 0,
	ERR_INPUT,     /* bad input of a user: drop it and report; the same bytes fail again */
	ERR_RETRY,     /* passing fault: try again with back-off */
	ERR_CONFLICT,  /* concurrent write (409, failed JSON Patch test): read and decide again */
	ERR_GONE,      /* resource version too old (410): list again */
	ERR_NOT_FOUND, /* the object does not exist (404) */
	ERR_DENIED,    /* credentials or rights are missing (401, 403) */
	ERR_LIMIT,     /* a peer exceeded a limit */
	ERR_TIMEOUT,   /* a deadline passed */
	ERR_MEMORY,    /* others use up our memory: try again with back-off */
	ERR_FATAL,     /* wrong usage or configuration: exit */
};

#define ERR_TEXT_SIZE 1024

struct err {
	enum err_kind kind;
	char text[ERR_TEXT_SIZE]; /* one line: object, field and fix; UTF-8 safe cut */
};

/* Sets *err and returns -1, so that a failure is one line: return err_set(err, ...). err may be
 * NULL (the caller ignores the error). Control characters of the text become spaces. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the text that is there, keeps the kind, returns -1. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* clang's analyzer reads one file at a time and would follow paths on which these return 0. */
#ifdef __clang_analyzer__
#define err_set(...) (err_set(__VA_ARGS__), -1)
#define err_prefix(...) (err_prefix(__VA_ARGS__), -1)
#endif

/* "Retry", "Conflict", ...: stable words for logs and metrics. */
const char *err_kind_name(enum err_kind kind);

#endif
