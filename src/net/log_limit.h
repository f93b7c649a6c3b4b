/* The part of the log that each namespace has, so that one tenant's lines neither fill the disk nor hide
 * those of others. By net/log alone, for every line that names a RayCluster, Pod or namespace. Any
 * thread may call it. */
#ifndef NET_LOG_LIMIT_H
#define NET_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_BURST 500
#define LOG_LIMIT_PER_SECOND 5
#define LOG_LIMIT_NAMESPACES 1000 /* that are counted apart; more share one part */
#define LOG_LIMIT_REPORT_MS 10000

/* False: the line is left out. */
bool log_limit_take(const char *namespace_, int64_t now_ms);

/* LOG_LIMIT_REPORT_MS after the first line that was left out: calls report for each namespace of which
 * lines were. */
void log_limit_report(int64_t now_ms, void (*report)(const char *namespace_, uint64_t lines));

#endif
