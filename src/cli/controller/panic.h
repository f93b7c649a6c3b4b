/* The last words of a process whose CHECK failed. */
#ifndef CLI_CONTROLLER_PANIC_H
#define CLI_CONTROLLER_PANIC_H

/* A check_hook: writes the condition and its place to standard error; and if it failed in a
 * decision, the snapshot, which `rayscaler plan -f` reads and decides in the same way. Values that
 * may be secret are left out, as in `rayscaler snapshot`. */
void panic_print(const char *condition, const char *file, int line, const char *function,
		 const char *key);

#endif
