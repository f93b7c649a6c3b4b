/* Plants faults in plans after they were made, and sees the checker find each, the shrinker reduce it,
 * and the golden file written. The product has no part in it. */
#ifndef TEST_LAWS_SELFTEST_H
#define TEST_LAWS_SELFTEST_H

/* Leaves the files in the directory. Returns the number of faults that were not found or not
 * shrunk; *ret_count is the number of all faults. */
int laws_selftest(const char *directory, int *ret_count);

#endif
