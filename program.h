/* Printed by wingspan with each program, and a part of it.
 *
 * What the C that a plan is printed as says, on top of the runtime.
 */
#ifndef WINGSPAN_PROGRAM_H
#define WINGSPAN_PROGRAM_H

#include "runtime.h"

/* A bit, or 0: without a branch, so that compilers use vector instructions in loops that set one for each cell. */
WS_API inline int64_t ws_bit_if(bool there, int64_t k) { return (int64_t)((uint64_t)there << (k & 63)); }

/* Marks loops whose rounds access different cells. */
#if defined(__clang__)
#define WS_APART _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define WS_APART _Pragma("GCC ivdep")
#else
#define WS_APART
#endif

/* The cells of buffer k of an instance. They never move. */
#define WS_CELLS(x, k) ((void *)(x)->buffers[k].data)

/* Leave a function, and stop the run, for what the task has noted of its failure. */
#define WS_LEAVE(site, ...)                                                                                            \
    do {                                                                                                               \
        const ws_value told[] = {{.i = 0}, __VA_ARGS__};                                                               \
        ws_stop(t, site, told + 1, sizeof told / sizeof *told - 1);                                                    \
        return;                                                                                                        \
    } while (0)

/* Leave unless a function of the runtime succeeds. */
#define WS_TRY(success, site)                                                                                          \
    do {                                                                                                               \
        if (WS_UNLIKELY(!(success))) WS_LEAVE(site);                                                                   \
    } while (0)

/* Leave unless an operator is defined, or a condition holds, for the values that follow. */
#define WS_DEFINED(success, site, ...)                                                                                 \
    do {                                                                                                               \
        if (WS_UNLIKELY(!(success))) {                                                                                 \
            ws_fail(t, WS_OPERATOR, NULL, 0, 0);                                                                       \
            WS_LEAVE(site, __VA_ARGS__);                                                                               \
        }                                                                                                              \
    } while (0)
#define WS_REQUIRE(condition, site, ...)                                                                               \
    do {                                                                                                               \
        if (WS_UNLIKELY(!(condition))) {                                                                               \
            ws_fail(t, WS_CHECK, NULL, 0, 0);                                                                          \
            WS_LEAVE(site, __VA_ARGS__);                                                                               \
        }                                                                                                              \
    } while (0)

/* Make sure that a cell of buffer k of an instance may be written; `cells` is how many may. */
#define WS_ROOM(cells, x, k, index, site)                                                                              \
    do {                                                                                                               \
        if (WS_UNLIKELY((uint64_t)(index) - 1 >= cells)) {                                                             \
            cells = ws_more(t, &(x)->buffers[k], index);                                                               \
            if (cells == 0) WS_LEAVE(site);                                                                            \
        }                                                                                                              \
    } while (0)

/* Make sure that the cells up to `index` may be written, as far as there can be some. */
#define WS_ASK(cells, x, k, index, site)                                                                               \
    do {                                                                                                               \
        if (WS_UNLIKELY((uint64_t)(index) > cells)) {                                                                  \
            cells = ws_ask(t, &(x)->buffers[k], index);                                                                \
            if (cells == 0) WS_LEAVE(site);                                                                            \
        }                                                                                                              \
    } while (0)

/* How many cells of buffer k of an instance may be written; other tasks may have it grow at any moment. */
#define WS_HAS(x, k) __atomic_load_n(&(x)->buffers[k].cells, __ATOMIC_RELAXED)

/* Make sure that all cells up to `bound` may be written. */
#define WS_ALL(x, k, bound, site)                                                                                      \
    do {                                                                                                               \
        if (WS_UNLIKELY(WS_HAS(x, k) < (uint64_t)(bound))) WS_TRY(ws_more(t, &(x)->buffers[k], bound), site);          \
    } while (0)

/* How many cells of a buffer may be written, once cell `index` may; 0 with a fault noted if it may not. */
WS_API __attribute__((noinline)) uint64_t ws_more(ws_task *t, ws_buffer *b, int64_t index) {
    if ((uint64_t)index - 1 >= __atomic_load_n(&b->cells, __ATOMIC_SEQ_CST) && !ws_grow(t, b, index)) return 0;
    return __atomic_load_n(&b->cells, __ATOMIC_SEQ_CST);
}

/* The same for a cell that a loop could reach: of a buffer with a bound, which no loop passes, it may be too far. */
WS_API __attribute__((noinline)) uint64_t ws_ask(ws_task *t, ws_buffer *b, int64_t index) {
    return ws_more(t, b, b->bounded && (uint64_t)index > b->reserved ? (int64_t)b->reserved : index);
}

/* Leave if the run stops. */
#define WS_GO_ON                                                                                                       \
    do {                                                                                                               \
        if (ws_leaves(t->run)) return;                                                                                 \
    } while (0)

/* Where tasks may race: now and then let others go before an access, if the run asks for that. */
#define WS_YIELD                                                                                                       \
    do {                                                                                                               \
        if (t->run->yields) ws_yield(t);                                                                               \
    } while (0)

WS_API inline int64_t ws_min_i64(int64_t x, int64_t y) { return y < x ? y : x; }
WS_API inline int64_t ws_max_i64(int64_t x, int64_t y) { return y > x ? y : x; }

/* Whether two doubles are the same to the bit. */
WS_API inline bool ws_same(double x, double y) { return (ws_value){.f = x}.i == (ws_value){.f = y}.i; }

/* ÷ and % round down; the divisor is not 0. */
WS_API inline int64_t ws_quotient(int64_t x, int64_t y) {
    int64_t r = x;
    ws_div_i64(x, y, &r);
    return r;
}
WS_API inline int64_t ws_remainder(int64_t x, int64_t y) {
    int64_t r = 0;
    ws_mod_i64(x, y, &r);
    return r;
}

WS_API inline bool ws_add_i64(int64_t x, int64_t y, int64_t *r) { return !__builtin_add_overflow(x, y, r); }
WS_API inline bool ws_sub_i64(int64_t x, int64_t y, int64_t *r) { return !__builtin_sub_overflow(x, y, r); }
WS_API inline bool ws_mul_i64(int64_t x, int64_t y, int64_t *r) { return !__builtin_mul_overflow(x, y, r); }
WS_API inline bool ws_neg_i64(int64_t x, int64_t *r) { return !__builtin_sub_overflow(0, x, r); }
WS_API inline bool ws_abs_i64(int64_t x, int64_t *r) {
    *r = x;
    return x >= 0 || ws_neg_i64(x, r);
}
WS_API inline bool ws_over_f64(double x, double y, double *r) {
    *r = x / y;
    return y != 0;
}

#endif
