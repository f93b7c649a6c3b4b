/* Gives the memory that a peak leaves free back to the system: glibc keeps what lies below a block in
 * use (135 MiB with 11 in use, after a flood of large replies). Looks each ten seconds, and trims on a
 * thread of the pool once the use has fallen by 16 MiB below its last peak. Owned by ctl/controller. */
#ifndef CTL_SHARED_MEMORY_TRIM_H
#define CTL_SHARED_MEMORY_TRIM_H

struct budget;
struct loop;
struct memory_trim;

/* Both are borrowed. */
struct memory_trim *memory_trim_new(struct loop *loop, struct budget *budget);
void memory_trim_free(struct memory_trim *trim); /* NULL is fine */

#endif
