/* Records what tasks do to shared cells, for `wingspan judge`, in C11 or C++17 by GCC or Clang. Include it in one file.
 * Any thread writes lines of the log, as printf does: wingspan_record("%d write C[%d, %d]", task, i, j). Record acquire
 * and wait after they have happened, release and signal before. wingspan_save(path) is 0 if the log is all there. */
#include <stdarg.h>
#include <stdio.h>
#ifndef WINGSPAN_MOST
#define WINGSPAN_MOST 1000000
#endif
static char wingspan_log[WINGSPAN_MOST][64];
static long wingspan_count, wingspan_lost;
__attribute__((format(printf, 1, 2), unused)) static void wingspan_record(const char *format, ...) {
    long at = __atomic_fetch_add(&wingspan_count, 1, __ATOMIC_SEQ_CST);
    va_list words;
    va_start(words, format);
    if (at >= WINGSPAN_MOST || vsnprintf(wingspan_log[at], sizeof wingspan_log[at], format, words) >= 64)
        __atomic_store_n(&wingspan_lost, 1, __ATOMIC_SEQ_CST);
    va_end(words);
}
__attribute__((unused)) static int wingspan_save(const char *path) {
    FILE *file = wingspan_lost ? NULL : fopen(path, "w");
    for (long at = 0; file && at < wingspan_count; at++) fprintf(file, "%s\n", wingspan_log[at]);
    int failed = !file || ferror(file);
    return (file && fclose(file)) || failed ? -1 : 0;
}
