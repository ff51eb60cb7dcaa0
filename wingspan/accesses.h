/* Records what tasks do to shared cells, for `wingspan judge`, in C11 or C++17 by GCC or Clang. Include it in one file.
 * Any thread writes lines of the log, as printf does: wingspan_record("%d write C[%d, %d]", task, i, j). Each has the
 * source line of this call; for another one, as of the program that a compiler reads, call
 * wingspan_record_at("kernel.ws", 7, "%d write C[%d]", task, i), where the name of the file is kept as a pointer.
 * Record acquire and wait after they have happened, release and signal before. wingspan_save(path) is 0 if the log is
 * all there. */
#include <stdarg.h>
#include <stdio.h>
#ifndef WINGSPAN_MOST
#define WINGSPAN_MOST 1000000
#endif
#define wingspan_record(...) wingspan_record_at(__FILE__, __LINE__, __VA_ARGS__)
struct wingspan_line {
    char text[64];
    const char *file;
    int line;
};
static struct wingspan_line wingspan_log[WINGSPAN_MOST];
static long wingspan_count, wingspan_lost;
__attribute__((format(printf, 3, 4), unused)) static void wingspan_record_at(const char *file, int line,
                                                                             const char *format, ...) {
    long at = __atomic_fetch_add(&wingspan_count, 1, __ATOMIC_SEQ_CST);
    struct wingspan_line *own = at < WINGSPAN_MOST ? &wingspan_log[at] : NULL;
    va_list words;
    va_start(words, format);
    if (!own || vsnprintf(own->text, sizeof own->text, format, words) >= 64)
        __atomic_store_n(&wingspan_lost, 1, __ATOMIC_SEQ_CST);
    va_end(words);
    if (own) own->file = file, own->line = line;
}
__attribute__((unused)) static int wingspan_save(const char *path) {
    FILE *file = wingspan_lost ? NULL : fopen(path, "w");
    for (long at = 0; file && at < wingspan_count; at++)
        fprintf(file, "%s at %s:%d\n", wingspan_log[at].text, wingspan_log[at].file, wingspan_log[at].line);
    int failed = !file || ferror(file);
    return (file && fclose(file)) || failed ? -1 : 0;
}
