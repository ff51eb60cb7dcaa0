/* Records what tasks do to shared cells, for `wingspan judge`. Include it in one file, and call
 *   wingspan_record(task, "read" | "write" | "atomic" | "look" | "acquire" | "release", "C", i);
 * from any thread, `acquire` after a lock has been taken and `release` before it is given back; at the end, call
 * wingspan_save(path), which is 0 if all has been written. Tasks and indices count from 1; task 0 is the one around. */
#include <stdatomic.h>
#include <stdio.h>
#ifndef WINGSPAN_MOST
#define WINGSPAN_MOST 1000000
#endif
static struct { int task; const char *operation, *name; long index; } wingspan_log[WINGSPAN_MOST];
static atomic_long wingspan_count;
static inline void wingspan_record(int task, const char *operation, const char *name, long index) {
    long at = atomic_fetch_add(&wingspan_count, 1);
    if (at >= WINGSPAN_MOST) return;
    wingspan_log[at].task = task, wingspan_log[at].operation = operation;
    wingspan_log[at].name = name, wingspan_log[at].index = index;
}
static inline int wingspan_save(const char *path) {
    long count = atomic_load(&wingspan_count);
    FILE *file = count > WINGSPAN_MOST ? NULL : fopen(path, "w");
    for (long at = 0; file && at < count; at++)
        fprintf(file, "%d %s %s[%ld]\n", wingspan_log[at].task, wingspan_log[at].operation, wingspan_log[at].name,
                wingspan_log[at].index);
    return file && !fclose(file) ? 0 : -1;
}
