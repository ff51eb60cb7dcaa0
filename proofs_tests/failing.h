/* Allocations, mappings and threads that fail on demand: compile with `-include` of this file.
 *
 * Of all of them the FAIL_AT-th fails, counted from 1 by the environment; every later one, too, if FAIL_ON is set. What
 * the C library asks for by itself is not counted. Extensions set `failing_at`, `failing_on` and `failing_count` instead.
 */
#ifndef FAILING_H
#define FAILING_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

long failing_at, failing_on, failing_count;

__attribute__((constructor)) static void failing_begin(void) {
    failing_at = getenv("FAIL_AT") ? atol(getenv("FAIL_AT")) : 0;
    failing_on = getenv("FAIL_ON") != NULL;
}

static inline int failing(void) {
    const long now = __atomic_add_fetch(&failing_count, 1, __ATOMIC_RELAXED);
    if (!failing_at || (failing_on ? now < failing_at : now != failing_at)) return 0;
    errno = ENOMEM;
    return 1;
}

#define malloc(bytes) (failing() ? NULL : malloc(bytes))
#define calloc(count, bytes) (failing() ? NULL : calloc(count, bytes))
#define mmap(...) (failing() ? MAP_FAILED : mmap(__VA_ARGS__))
#define pthread_create(...) (failing() ? EAGAIN : pthread_create(__VA_ARGS__))

#endif
