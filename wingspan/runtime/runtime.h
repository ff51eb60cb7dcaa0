/* Printed by wingspan with each program, and a part of it.
 *
 * The runtime of plans: growable buffers that never move, instances, locks, atomics and threads.
 *
 * The engine and the C files that plans are printed as include this file, each once. C11 for gcc and clang on POSIX.
 *
 * A *run* has groups of buffers, instances of them, and tasks. Cells count from 1; a cell never written reads as zero.
 * Functions that can fail return false and record the reason in their task; `ws_stop` then makes it the fault of the
 * run, unless there is one already, and from then on every task stops at its next loop, lock or parallel region.
 * No access leaves the memory of its buffer, whatever races a program has: each checks and uses one copy of its index.
 */
#ifndef WINGSPAN_RUNTIME_H
#define WINGSPAN_RUNTIME_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define WS_LIKELY(x) __builtin_expect(!!(x), 1)
#define WS_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WS_API static __attribute__((unused))
#define WS_PAGE ((uint64_t)4096)
#define WS_HUGE ((uint64_t)2 << 20)
#define WS_CROWD ((uint64_t)128 << 10)    /* beyond this many bytes huge pages pay */
#define WS_ARENA ((uint64_t)1 << 32)      /* address space is taken in pieces of this size, in bytes, each twice as large */
#define WS_NURSERY ((uint64_t)1 << 28)    /* and in pieces of this size for what is smaller than a huge page */
#define WS_STAGGER ((uint64_t)4096 + 320) /* large buffers begin so many bytes further than the one before, modulo */
#define WS_STAGGERS 14                    /* so many times this, less than half a crowd: see ws_reserve */
#define WS_SMALLEST ((uint64_t)16 << 20)  /* the reservation of each of very many instances for a buffer, in bytes */
#ifdef __SANITIZE_THREAD__
#define WS_RESERVATION ((uint64_t)1 << 30)
#else
#define WS_RESERVATION ((uint64_t)1 << 36) /* the default reservation of a buffer, in bytes */
#endif

typedef union { int64_t i; double f; void *p; } ws_value;

/* The widths of cells, which hold numbers: the type of a cell; the type of its value, and the member of ws_value that has
 * it; and what a load adds. -0.0 is neutral for all doubles; 0.0 is not, since -0.0 + 0.0 is 0.0. */
#define WS_WIDTHS(each)                                                                                                \
    each(WS_I64, i64, int64_t, int64_t, i, b->shift)                                                                   \
    each(WS_F64, f64, double, double, f, -0.0)                                                                         \
    each(WS_I32, i32, int32_t, int64_t, i, b->shift)                                                                   \
    each(WS_U8, u8, uint8_t, int64_t, i, 0)                                                                            \
    each(WS_I8, i8, int8_t, int64_t, i, 0)                                                                             \
    each(WS_I16, i16, int16_t, int64_t, i, 0)                                                                          \
    each(WS_U16, u16, uint16_t, int64_t, i, 0)                                                                         \
    each(WS_U32, u32, uint32_t, int64_t, i, 0)                                                                         \
    each(WS_F32, f32, float, double, f, -0.0)
#define WS_WIDTH(width, ...) width,
#define WS_BYTES(width, name, type, ...) [width] = sizeof(type),
typedef enum { WS_WIDTHS(WS_WIDTH) WS_HASHED } ws_width;
typedef enum { WS_PLAIN, WS_SEQ_CST } ws_order;
typedef enum {
    WS_SET, WS_ADD, WS_SUB, WS_MUL, WS_MIN, WS_MAX, WS_AND, WS_OR, WS_WRAPPING_ADD, WS_WRAPPING_SUB, WS_WRAPPING_MUL,
    WS_BIT_AND, WS_BIT_OR, WS_BIT_XOR
} ws_reduction;

typedef enum {
    WS_NONE,
    WS_OPERATOR,    /* an operator is not defined for values 0 and 1 */
    WS_CHECK,       /* a condition does not hold */
    WS_NO_CELL,     /* a store to cell number values 0, which does not exist: below 1 or beyond the reservation */
    WS_NARROW,      /* a store of values 0, which does not fit the width of a cell */
    WS_READ_ONLY,   /* a store to borrowed memory */
    WS_MEMORY,      /* values 0 bytes are more than the run may use */
    WS_NO_CHILD,    /* there can be no instance with the key values 0 */
    WS_THREADS,     /* values 0 threads cannot be started */
    WS_DEADLOCK,    /* every task waits; this one for lock values 0, which task values 1 holds */
    WS_SPACE,       /* the system has no more memory or address space, though the run may use more */
    WS_INTERRUPTED, /* the run was asked to stop */
} ws_fault;

/* -------------------------------------------------------------------------------------------------------- structure */

typedef struct { int64_t key, value; } ws_entry;
typedef struct ws_hash {
    struct ws_hash *older; /* smaller tables stay: other tasks may be reading them */
    uint64_t count, mask;
    ws_entry entries[];
} ws_hash;

/* A buffer of an instance. `cells` is how many of them may be accessed; it only grows. Its memory has room for
 * `reserved`. Memory that is borrowed is read only, and a cell's value is its content + shift. */
typedef struct {
    unsigned char *data;
    uint64_t cells;
    int64_t shift;
    ws_hash *hash;
    ws_width width;
    bool borrowed, huge;
    bool bounded; /* whether it never has more cells than there is room for */
    int lock;
    uint64_t reserved;
    unsigned char *home; /* data, cells and width while nothing is borrowed */
    uint64_t home_cells;
} ws_buffer;

/* The properties of a buffer in every instance: its width, whether it is a hash table, how many cells it may have (or
 * 0), and whether its cells keep their contents when the memory is reused. */
typedef struct { ws_width width; bool hashed; int64_t bound; bool kept; } ws_shape;

struct ws_instance;
typedef struct {
    int64_t parent, keys;   /* -1: no parent; keys are 0 to keys - 1, or positions if 0 */
    int64_t buffers;
    const ws_shape *shapes;
    int64_t rank, children; /* the place among the groups with the same parent; how many groups have this as parent */
    int64_t instances;
    struct ws_instance *spare; /* unused private instances */
} ws_group;

typedef struct { struct ws_instance **slots; uint64_t count; } ws_table;

typedef struct ws_instance {
    ws_group *group;
    struct ws_instance *parent, *made_before, *next_spare;
    int64_t key;
    bool used;        /* in this run, and not only in one that used the memory before */
    ws_table *tables; /* one for each group with this one as parent */
    ws_buffer buffers[];
} ws_instance;

typedef struct ws_arena { struct ws_arena *older; unsigned char *mapped, *base; uint64_t size, used, buffers; } ws_arena;

/* What a waiting task waits for: a lock, and its holder, as far as that is known. */
typedef struct { const ws_buffer *buffer; int64_t lock, task, holder; char name[24], above[24]; } ws_blocked;
#define WS_BLOCKED 8 /* this many are recorded */

struct ws_worker;
typedef struct { pthread_mutex_t mutex; struct ws_worker *idle; } ws_team;

typedef struct ws_run {
    ws_team *team; /* of the opener of the run: functions of several libraries may take part in it */
    ws_group *groups;
    int64_t count;
    uint64_t limit, committed, reservation; /* bytes */
    uint64_t *spare;                        /* bytes of memory that no run has, which count as used */
    void (*reclaim)(void);                  /* frees that memory */
    pthread_mutex_t mutex;                  /* guards arenas, instances, growing and the record of the fault */
    ws_arena *arenas[2];                    /* for what is smaller than a huge page, and for what is not */
    ws_instance *instances;
    ws_order order;
    bool yields;
    uint64_t seed;
    int stopped; /* WS_STOPPED once all have to stop, WS_ASKED now and then: see ws_look */
    ws_fault fault;
    int64_t where;
    ws_value values[2];
    const ws_buffer *buffer;
    ws_value *registers; /* a copy of those of the task with the fault, if it gave any; malloc */
    int64_t tasks;       /* counts all tasks that there have been */
    int64_t running;     /* tasks that do not wait for others to end */
    int watched;         /* whether a task looks for a deadlock */
    int64_t releases, stuck_since, stuck;
    ws_blocked blocked[WS_BLOCKED]; /* the first of those that are stuck */
    pthread_t caller;    /* the thread that has started the run, and runs its first task */
    int (*ask)(void *);  /* what that thread calls now and then, with `asked`: whether the run has to stop; or NULL */
    void *asked;
    struct ws_run *watched_next;
} ws_run;

/* A task of a run; `id` is unique among all tasks, `number` among those that started with it (1, 2, …). */
typedef struct ws_task {
    ws_run *run;
    struct ws_task *parent;
    int64_t id, number;
    uint64_t random;
    ws_fault fault;
    ws_value values[2];
    const ws_buffer *buffer;
} ws_task;

WS_API const uint64_t ws_bytes[] = {WS_WIDTHS(WS_BYTES)[WS_HASHED] = 0};

/* ----------------------------------------------------------------------------------------------------------- faults */

WS_API inline bool ws_fail(ws_task *t, ws_fault fault, const ws_buffer *b, int64_t x, int64_t y) {
    t->fault = fault;
    t->buffer = b;
    t->values[0].i = x;
    t->values[1].i = y;
    return false;
}

enum { WS_ASKED = 1, WS_STOPPED = 2 };

/* The values of `stopped`. Compilers assume that an atomic load changes all memory, and reload what they knew; a
 * volatile one changes none. */
#ifdef __SANITIZE_THREAD__
WS_API inline int ws_told(const ws_run *run) { return __atomic_load_n(&run->stopped, __ATOMIC_RELAXED); }
#else
WS_API inline int ws_told(const ws_run *run) { return *(const volatile int *)&run->stopped; }
#endif

WS_API inline bool ws_stopped(const ws_run *run) { return ws_told(run) & WS_STOPPED; }

/* Stop the run. The task's failure is its fault, met at `where`, unless the run had one. Returns false. */
WS_API bool ws_stop(ws_task *t, int64_t where, const ws_value *registers, size_t count) {
    ws_run *run = t->run;
    pthread_mutex_lock(&run->mutex);
    if (run->fault == WS_NONE && t->fault != WS_NONE) {
        run->fault = t->fault;
        run->where = where;
        run->buffer = t->buffer;
        memcpy(run->values, t->values, sizeof run->values);
        if (count > 0 && (run->registers = malloc(count * sizeof *registers)))
            memcpy(run->registers, registers, count * sizeof *registers);
    }
    __atomic_or_fetch(&run->stopped, WS_STOPPED, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&run->mutex);
    return false;
}

/* Ask a run to stop, from outside. */
WS_API inline void ws_interrupt(ws_run *run) {
    pthread_mutex_lock(&run->mutex);
    if (run->fault == WS_NONE) run->fault = WS_INTERRUPTED;
    __atomic_or_fetch(&run->stopped, WS_STOPPED, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&run->mutex);
}

/* Whether to leave, if `stopped` is not 0. The caller may have to check for signals, which only it can. */
WS_API __attribute__((noinline)) bool ws_look(ws_run *run) {
    const int told = ws_told(run);
    if (told & WS_STOPPED) return true;
    if (!told || !pthread_equal(pthread_self(), run->caller)) return false;
    __atomic_and_fetch(&run->stopped, ~WS_ASKED, __ATOMIC_RELAXED);
    if (!run->ask(run->asked)) return false;
    ws_interrupt(run);
    return true;
}

/* Whether to leave; loops check this all the time. */
WS_API inline bool ws_leaves(ws_run *run) { return WS_UNLIKELY(ws_told(run)) && ws_look(run); }

/* ----------------------------------------------------------------------------------------------------------- memory */

WS_API inline uint64_t ws_round(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/* Have memory mapped in huge pages, except for its first WS_CROWD bytes: see ws_arena_open. Clearing bytes this way
 * costs a sixth of what it costs page by page. */
WS_API void ws_huge(unsigned char *data, uint64_t bytes) {
#ifdef MADV_HUGEPAGE
    const uint64_t small = -(uint64_t)(uintptr_t)data % WS_HUGE;
    if (small < bytes) madvise(data + small, bytes - small, MADV_HUGEPAGE);
#else
    (void)data, (void)bytes;
#endif
}

/* More address space, of which *bytes can be reserved, or less, in which case *bytes is set. NULL if there is none. It
 * begins WS_CROWD bytes before the boundary of a huge page: a buffer that stays small uses small pages, and one that
 * outgrows them huge pages from there on, without having to move. */
WS_API ws_arena *ws_arena_open(ws_arena *older, uint64_t size, uint64_t *bytes) {
    ws_arena *a = malloc(sizeof *a);
    if (!a) return NULL;
    *a = (ws_arena){.older = older, .size = *bytes < size ? size : *bytes};
    int kind = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    kind |= MAP_NORESERVE;
#endif
    while ((a->mapped = mmap(NULL, a->size + WS_HUGE, PROT_READ | PROT_WRITE, kind, -1, 0)) == MAP_FAILED) {
        if ((a->size /= 2) >= WS_HUGE) continue;
        free(a);
        return NULL;
    }
    if (a->size < *bytes) *bytes = a->size / 4 / WS_PAGE * WS_PAGE;
    const uint64_t start = (uint64_t)(uintptr_t)a->mapped;
    a->base = a->mapped + (ws_round(start + WS_CROWD, WS_HUGE) - WS_CROWD - start);
    return a;
}

/* Address space for *bytes; if there is not so much, less, and *bytes is set. The mutex is held. NULL if there is none.
 * Buffers smaller than a huge page lie side by side, since few of those pages then hold them. Large ones are staggered:
 * in the first cache of some processors, cells whose addresses are equal modulo 2^28 displace each other (AMD's way
 * predictor), so a loop over two buffers at the same index would find neither in the cache. */
WS_API unsigned char *ws_reserve(ws_run *run, uint64_t *bytes) {
    const bool large = *bytes >= WS_HUGE;
    const uint64_t page = large ? WS_HUGE : WS_PAGE;
    *bytes = ws_round(*bytes, page);
    ws_arena *a = run->arenas[large];
    if (!a || a->used + WS_CROWD + *bytes > a->size) {
        const uint64_t size = !large ? WS_NURSERY : a ? 2 * a->size : WS_ARENA;
        if (!(a = ws_arena_open(a, size, bytes))) return NULL;
        run->arenas[large] = a;
    }
    const uint64_t at = a->used + (large ? a->buffers++ % WS_STAGGERS * WS_STAGGER : 0);
    a->used = ws_round(at + *bytes, page);
    if (!large && at == 0) ws_huge(a->base, a->size);
    return a->base + at;
}

/* Count more bytes as used; false if that exceeds the limit of the run. Spare memory is freed if necessary. */
WS_API bool ws_charge(ws_run *run, uint64_t bytes) {
    const uint64_t now = __atomic_add_fetch(&run->committed, bytes, __ATOMIC_RELAXED);
    if (WS_LIKELY(now + __atomic_load_n(run->spare, __ATOMIC_RELAXED) <= run->limit)) return true;
    if (now <= run->limit) {
        run->reclaim();
        return true;
    }
    __atomic_sub_fetch(&run->committed, bytes, __ATOMIC_RELAXED);
    return false;
}

/* Make cell `index` of a buffer accessible. It is charged with a quarter of the cells below it, so this is rare. */
WS_API __attribute__((noinline)) bool ws_grow(ws_task *t, ws_buffer *b, int64_t index) {
    ws_run *run = t->run;
    if (b->borrowed) return ws_fail(t, WS_READ_ONLY, b, index, 0);
    uint64_t need = (uint64_t)index, width = ws_bytes[b->width];
    if (index < 1 || need > b->reserved) return ws_fail(t, WS_NO_CELL, b, index, 0);
    bool good = true;
    pthread_mutex_lock(&run->mutex);
    if (need > b->cells) {
        uint64_t bytes = ws_round((need + need / 4) * width, need * width < 2 * WS_HUGE ? WS_PAGE : WS_HUGE);
        uint64_t before = b->cells * width, all = b->reserved * width;
        if (bytes > all) bytes = all;
        good = ws_charge(run, bytes - before);
        if (!good) {
            bytes = ws_round(need * width, WS_PAGE) < all ? ws_round(need * width, WS_PAGE) : all;
            good = ws_charge(run, bytes - before);
        }
        if (good && !b->huge && bytes > WS_CROWD && all >= WS_HUGE) {
            ws_huge(b->data, all);
            b->huge = true;
        }
        if (good) __atomic_store_n(&b->cells, bytes / width, __ATOMIC_SEQ_CST);
        else ws_fail(t, WS_MEMORY, b, (int64_t)(run->committed + bytes - before), 0);
    }
    pthread_mutex_unlock(&run->mutex);
    return good;
}

/* ------------------------------------------------------------------------------------------------------ hash tables */

WS_API inline uint64_t ws_probe(const ws_hash *h, int64_t key) {
    uint64_t at = ((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & h->mask;
    for (;; at = (at + 1) & h->mask) {
        int64_t there = __atomic_load_n(&h->entries[at].key, __ATOMIC_ACQUIRE);
        if (there == key || there == 0) return at;
    }
}

WS_API inline int64_t ws_hash_load(const ws_buffer *b, int64_t key) {
    const ws_hash *h = __atomic_load_n(&b->hash, __ATOMIC_ACQUIRE);
    if (!h || key < 1) return 0;
    const ws_entry *e = &h->entries[ws_probe(h, key)];
    return __atomic_load_n(&e->key, __ATOMIC_RELAXED) == key ? __atomic_load_n(&e->value, __ATOMIC_SEQ_CST) : 0;
}

/* A table twice as large, with the same entries. Readers of the old one see what was there when they began. */
WS_API bool ws_rehash(ws_task *t, ws_buffer *b) {
    ws_hash *old = b->hash;
    uint64_t size = old ? 2 * (old->mask + 1) : 16, bytes = sizeof *old + size * sizeof(ws_entry);
    if (!ws_charge(t->run, bytes)) return ws_fail(t, WS_MEMORY, b, (int64_t)(t->run->committed + bytes), 0);
    ws_hash *h = calloc(1, bytes);
    if (!h) return ws_fail(t, WS_SPACE, b, 0, 0);
    h->mask = size - 1;
    h->older = old;
    for (uint64_t i = 0; old && i <= old->mask; i++)
        if (old->entries[i].key != 0) h->entries[ws_probe(h, old->entries[i].key)] = old->entries[i];
    h->count = old ? old->count : 0;
    __atomic_store_n(&b->hash, h, __ATOMIC_RELEASE);
    return true;
}

WS_API bool ws_hash_store(ws_task *t, ws_buffer *b, int64_t key, int64_t value) {
    if (key < 1) return ws_fail(t, WS_NO_CELL, b, key, 0);
    while (__atomic_exchange_n(&b->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    bool good = b->hash || ws_rehash(t, b);
    if (good) {
        ws_entry *e = &b->hash->entries[ws_probe(b->hash, key)];
        if (e->key == 0 && value != 0) {
            good = 2 * (b->hash->count + 1) <= b->hash->mask || ws_rehash(t, b);
            e = &b->hash->entries[ws_probe(b->hash, key)];
            b->hash->count += good;
        }
        if (good && (e->key == key || value != 0)) {
            __atomic_store_n(&e->value, value, __ATOMIC_SEQ_CST);
            __atomic_store_n(&e->key, key, __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE);
    return good;
}

/* --------------------------------------------------------------------------------------------------------- accesses */

/* The one place where cells are read and written: `use` is evaluated with `cell` as cell `index`, `other` if the buffer
 * has no such cell yet. */
#define WS_CELL(b, type, index, use, other)                                                                            \
    do {                                                                                                               \
        const uint64_t ws_at = (uint64_t)(index) - 1;                                                                  \
        if (WS_LIKELY(ws_at < __atomic_load_n(&(b)->cells, __ATOMIC_RELAXED))) {                                       \
            type *const cell = (type *)(void *)(b)->data + ws_at;                                                      \
            use;                                                                                                       \
        } else {                                                                                                       \
            other;                                                                                                     \
        }                                                                                                              \
    } while (0)

/* ws_load_i64(b, index, order) and the like: a cell of a buffer that is known to have this width. It is read once, so a
 * check of the value and its use see the same. */
#define WS_LOAD(width, name, type, value, member, shift)                                                               \
    WS_API inline value ws_load_##name(const ws_buffer *b, int64_t index, ws_order order) {                            \
        type x = 0;                                                                                                    \
        WS_CELL(b, type, index,                                                                                        \
                if (order == WS_PLAIN) x = *(const volatile type *)cell; else __atomic_load(cell, &x, __ATOMIC_SEQ_CST), \
                return 0);                                                                                             \
        return (value)x + (value)(shift);                                                                              \
    }
WS_WIDTHS(WS_LOAD)

/* ws_store_i64(t, b, index, v, order) and the like: the same for a store; false with a fault recorded. */
#define WS_STORE(width, name, type, value, ...)                                                                        \
    WS_API inline bool ws_store_##name(ws_task *t, ws_buffer *b, int64_t index, value v, ws_order order) {             \
        type x = (type)v;                                                                                              \
        if (WS_UNLIKELY((value)x != v && v == v)) return ws_fail(t, WS_NARROW, b, (int64_t)v, 0);                      \
        if (WS_UNLIKELY(b->borrowed)) return ws_fail(t, WS_READ_ONLY, b, index, 0);                                    \
        for (;;)                                                                                                       \
            WS_CELL(b, type, index, if (order == WS_PLAIN) *cell = x; else __atomic_store(cell, &x, __ATOMIC_SEQ_CST); \
                    return true, if (!ws_grow(t, b, index)) return false);                                             \
    }
WS_WIDTHS(WS_STORE)

/* A cell of any buffer. */
WS_API inline __attribute__((always_inline)) ws_value ws_load(const ws_buffer *b, int64_t index, ws_order order) {
    ws_value x;
    switch (b->width) {
#define WS_LOADED(width, name, type, value, member, ...) case width: x.member = ws_load_##name(b, index, order); break;
        WS_WIDTHS(WS_LOADED)
        default: x.i = ws_hash_load(b, index);
    }
    return x;
}

WS_API inline __attribute__((always_inline)) bool ws_store(ws_task *t, ws_buffer *b, int64_t index, ws_value x, ws_order order) {
    switch (b->width) {
#define WS_STORED(width, name, type, value, member, ...)                                                               \
    case width: return ws_store_##name(t, b, index, x.member, order);
        WS_WIDTHS(WS_STORED)
        default: return ws_hash_store(t, b, index, x.i);
    }
}

/* ------------------------------------------------------------------------------------------------------- arithmetic */

/* Words of 64 bits, whose bits are numbered modulo 64. */
WS_API inline int64_t ws_bit(int64_t k) { return (int64_t)(UINT64_C(1) << (k & 63)); }
WS_API inline int64_t ws_since(int64_t x, int64_t k) { return (int64_t)((uint64_t)x >> (k & 63) << (k & 63)); }
WS_API inline int64_t ws_first(int64_t x) { return x ? __builtin_ctzll((uint64_t)x) : 64; }
WS_API inline int64_t ws_rest(int64_t x) { return (int64_t)((uint64_t)x & ((uint64_t)x - 1)); }
WS_API inline int64_t ws_count(int64_t x) { return __builtin_popcountll((uint64_t)x); }

/* Pairs of a number and an index in words of 64 bits, as lang/pairs.py has them. */
#define WS_KEYS (INT64_C(1) << 32)
#define WS_NAN_KEY (-INT64_C(0x7F800001))
WS_API inline int64_t ws_pair(double x, int64_t i) {
    const float single = (float)x;
    int32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const int64_t size = bits & INT32_MAX;
    return (x != x ? WS_NAN_KEY : bits < 0 ? -size : size) * WS_KEYS + i;
}
WS_API inline int64_t ws_pair_key(int64_t p) { return (p + WS_KEYS / 2) >> 32; }
WS_API inline double ws_pair_first(int64_t p) {
    const int64_t key = ws_pair_key(p);
    const int32_t bits = (int32_t)(key < 0 ? -key : key);
    float size;
    memcpy(&size, &bits, sizeof size);
    return key == WS_NAN_KEY ? (double)NAN : key < 0 ? -(double)size : (double)size;
}
WS_API inline int64_t ws_pair_second(int64_t p) { return p - ws_pair_key(p) * WS_KEYS; }
WS_API inline int64_t ws_maxby(int64_t p, int64_t q) {
    if (ws_pair_key(p) == WS_NAN_KEY || ws_pair_key(q) == WS_NAN_KEY) return q < p ? q : p;
    return 2 * ws_pair_second(q) - q < 2 * ws_pair_second(p) - p ? q : p;
}

/* Operators that may fail: false if the result is not defined or no 64-bit integer. ÷ and % round down. */
WS_API inline bool ws_div_i64(int64_t x, int64_t y, int64_t *r) {
    if (y == 0 || (y == -1 && x == INT64_MIN)) return false;
    *r = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return true;
}

WS_API inline bool ws_mod_i64(int64_t x, int64_t y, int64_t *r) {
    if (y == 0) return false;
    *r = y == -1 ? 0 : x % y;
    if (*r != 0 && (*r < 0) != (y < 0)) *r += y;
    return true;
}

/* Zeros have the sign of the exact quotient, and remainders that of the divisor, as in NumPy and Python. */
WS_API inline bool ws_mod_f64(double x, double y, double *r) {
    if (y == 0) return false;
    *r = fmod(x, y);
    if (*r == 0) *r = copysign(0, y);
    else if ((*r < 0) != (y < 0)) *r += y;
    return true;
}

WS_API inline bool ws_div_f64(double x, double y, double *r) {
    if (y == 0) return false;
    const double rest = fmod(x, y), quotient = (x - rest) / y - (rest != 0 && (rest < 0) != (y < 0));
    *r = floor(quotient);
    if (quotient - *r > 0.5) *r += 1;
    if (*r == 0) *r = copysign(0, x / y);
    return true;
}

/* NaN if x or y is; the first of equal ones. */
WS_API inline double ws_min_f64(double x, double y) { return y < x || y != y ? y : x; }
WS_API inline double ws_max_f64(double x, double y) { return y > x || y != y ? y : x; }

/* Whether two doubles are equal, or both NaN. */
WS_API inline bool ws_alike(double x, double y) { return x == y || (x != x && y != y); }

/* *r = x + n·v; false if that is no 64-bit integer, which n·v need not be. */
__extension__ typedef __int128 ws_wide;
WS_API inline bool ws_muladd_i64(int64_t x, int64_t n, int64_t v, int64_t *r) {
    return !__builtin_add_overflow((ws_wide)n * v, x, r);
}
WS_API inline bool ws_left_i64(int64_t x, int64_t k, int64_t *r) {
    if (k < 0 || (k > 63 && x != 0)) return false;
    return !__builtin_mul_overflow((ws_wide)1 << (k > 63 ? 0 : k), x, r);
}
WS_API inline bool ws_right_i64(int64_t x, int64_t k, int64_t *r) {
    if (k < 0) return false;
    *r = x >> (k > 63 ? 63 : k);
    return true;
}
WS_API inline double ws_muladd_f64(double x, double n, double v) { return fma(n, v, x); }
WS_API inline bool ws_isqrt(int64_t x, int64_t *r) {
    if (x < 0) return false;
    int64_t root = (int64_t)sqrt((double)x);
    while (root > 3037000499 || root * root > x) root--;
    while (root < 3037000499 && (root + 1) * (root + 1) <= x) root++;
    *r = root;
    return true;
}

/* The greatest common divisor, which is never negative; false if it is 2⁶³. */
WS_API inline bool ws_gcd_i64(int64_t x, int64_t y, int64_t *r) {
    uint64_t a = x < 0 ? -(uint64_t)x : (uint64_t)x, b = y < 0 ? -(uint64_t)y : (uint64_t)y;
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    *r = (int64_t)a;
    return a <= INT64_MAX;
}

WS_API inline bool ws_int(double x, int64_t *r) {
    if (!(x >= -0x1p63 && x < 0x1p63) || x != floor(x)) return false;
    *r = (int64_t)x;
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- atomics */

/* *new = old ⊕ x; false if that is no 64-bit integer. */
WS_API inline bool ws_combine_i(ws_reduction op, int64_t old, int64_t x, int64_t *new_) {
    switch (op) {
        case WS_ADD: return !__builtin_add_overflow(old, x, new_);
        case WS_SUB: return !__builtin_sub_overflow(old, x, new_);
        case WS_MUL: return !__builtin_mul_overflow(old, x, new_);
        case WS_MIN: *new_ = x < old ? x : old; return true;
        case WS_MAX: *new_ = x > old ? x : old; return true;
        case WS_AND: *new_ = old && x; return true;
        case WS_OR: *new_ = old || x; return true;
        case WS_WRAPPING_ADD: *new_ = (int64_t)((uint64_t)old + (uint64_t)x); return true;
        case WS_WRAPPING_SUB: *new_ = (int64_t)((uint64_t)old - (uint64_t)x); return true;
        case WS_WRAPPING_MUL: *new_ = (int64_t)((uint64_t)old * (uint64_t)x); return true;
        case WS_BIT_AND: *new_ = old & x; return true;
        case WS_BIT_OR: *new_ = old | x; return true;
        case WS_BIT_XOR: *new_ = old ^ x; return true;
        default: *new_ = x; return true;
    }
}

WS_API inline bool ws_combine_f(ws_reduction op, double old, double x, double *new_) {
    switch (op) {
        case WS_ADD: *new_ = old + x; return true;
        case WS_SUB: *new_ = old - x; return true;
        case WS_MUL: *new_ = old * x; return true;
        case WS_MIN: *new_ = ws_min_f64(old, x); return true;
        case WS_MAX: *new_ = ws_max_f64(old, x); return true;
        default: *new_ = x; return true;
    }
}

/* *new = old + n·x, likewise. */
WS_API inline bool ws_add_product_i(int64_t n, int64_t old, int64_t x, int64_t *new_) {
    return ws_muladd_i64(old, n, x, new_);
}
WS_API inline bool ws_add_product_f(int64_t n, double old, double x, double *new_) {
    *new_ = ws_muladd_f64(old, (double)n, x);
    return true;
}

/* Whether a cell can hold a value; one of f32 rounds. */
#define WS_HOLDS_i(type, x) ((type)(x) == (x))
#define WS_HOLDS_f(type, x) true

/* ws_atomic_i64(t, b, index, op, x) and the like: cell ⊕= x in one step; ws_atomic_muladd_i64(t, b, index, n, x) and the
 * like: cell += n·x. False with a fault recorded, also if the width of the cell cannot hold the result. */
#define WS_ATOMIC(function, how_type, combine, name, type, value, member)                                              \
    WS_API inline bool function##_cell_##name(ws_task *t, const ws_buffer *b, type *cell, how_type how, value x) {     \
        type old, new_;                                                                                                \
        value made = 0;                                                                                                \
        __atomic_load(cell, &old, __ATOMIC_RELAXED);                                                                   \
        do {                                                                                                           \
            if (!combine##_##member(how, (value)old, x, &made) || !WS_HOLDS_##member(type, made))                      \
                return ws_fail(t, WS_OPERATOR, b, (int64_t)old, (int64_t)x);                                           \
            new_ = (type)made;                                                                                         \
        } while (!__atomic_compare_exchange(cell, &old, &new_, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));             \
        return true;                                                                                                   \
    }                                                                                                                  \
    WS_API inline bool function##_##name(ws_task *t, ws_buffer *b, int64_t index, how_type how, value x) {             \
        if (WS_UNLIKELY(b->borrowed)) return ws_fail(t, WS_READ_ONLY, b, index, 0);                                    \
        for (;;)                                                                                                       \
            WS_CELL(b, type, index, return function##_cell_##name(t, b, cell, how, x),                                 \
                    if (!ws_grow(t, b, index)) return false);                                                          \
    }
#define WS_ATOMICS(width, name, type, value, member, ...)                                                              \
    WS_ATOMIC(ws_atomic, ws_reduction, ws_combine, name, type, value, member)                                          \
    WS_ATOMIC(ws_atomic_muladd, int64_t, ws_add_product, name, type, value, member)
WS_WIDTHS(WS_ATOMICS)

/* The same for any buffer but hash tables, which are never updated this way. */
WS_API inline bool ws_atomic(ws_task *t, ws_buffer *b, int64_t index, ws_reduction op, ws_value x) {
    switch (b->width) {
#define WS_REDUCED(width, name, type, value, member, ...)                                                              \
    case width: return ws_atomic_##name(t, b, index, op, x.member);
        WS_WIDTHS(WS_REDUCED)
        default: return ws_fail(t, WS_READ_ONLY, b, index, 0);
    }
}

WS_API inline bool ws_atomic_muladd(ws_task *t, ws_buffer *b, int64_t index, int64_t n, ws_value x) {
    switch (b->width) {
#define WS_ADDED(width, name, type, value, member, ...)                                                                \
    case width: return ws_atomic_muladd_##name(t, b, index, n, x.member);
        WS_WIDTHS(WS_ADDED)
        default: return ws_fail(t, WS_READ_ONLY, b, index, 0);
    }
}

/* ws_swap_i64(t, b, index, old, x, found) and the like: *found = the cell, which becomes x if it is old, to the bit, all
 * in one step; false with a fault recorded. */
#define WS_SWAP(width, name, type, value, ...)                                                                         \
    WS_API inline bool ws_swap_##name(ws_task *t, ws_buffer *b, int64_t index, value old, value x, value *found) {     \
        type held = (type)old, new_ = (type)x;                                                                         \
        if (WS_UNLIKELY(b->borrowed)) return ws_fail(t, WS_READ_ONLY, b, index, 0);                                    \
        for (;;)                                                                                                       \
            WS_CELL(b, type, index,                                                                                    \
                    __atomic_compare_exchange(cell, &held, &new_, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
                    *found = (value)held; return true,                                                                 \
                    if (!ws_grow(t, b, index)) return false);                                                          \
    }
WS_WIDTHS(WS_SWAP)
WS_SWAP(WS_U8, bool, uint8_t, bool)

/* The same for any buffer but hash tables, with old in *found. */
WS_API inline bool ws_swap(ws_task *t, ws_buffer *b, int64_t index, ws_value *found, ws_value x) {
    switch (b->width) {
#define WS_SWAPPED(width, name, type, value, member, ...)                                                               \
    case width: return ws_swap_##name(t, b, index, found->member, x.member, &found->member);
        WS_WIDTHS(WS_SWAPPED)
        default: return ws_fail(t, WS_READ_ONLY, b, index, 0);
    }
}

/* *claimed = cell 1, which is then increased by step unless it is beyond stop already. */
WS_API inline bool ws_claim(ws_task *t, ws_buffer *b, int64_t stop, int64_t step, int64_t *claimed) {
    if (WS_UNLIKELY(b->borrowed || __atomic_load_n(&b->cells, __ATOMIC_RELAXED) == 0) && !ws_grow(t, b, 1)) return false;
    int64_t *cell = (int64_t *)(void *)b->data, next;
    *claimed = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
    do {
        if (*claimed > stop) return true;
        if (__builtin_add_overflow(*claimed, step, &next)) next = INT64_MAX;
    } while (!__atomic_compare_exchange_n(cell, claimed, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ locks */

WS_API inline void ws_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* The name of a task: 0 the first one, 2 the second of those that it starts, 2.1 the first that that one starts. */
WS_API int ws_task_name(const ws_task *t, char *text, size_t size) {
    if (!t->parent) return snprintf(text, size, "0");
    int n = t->parent->parent ? ws_task_name(t->parent, text, size) : 0;
    if (n < 0 || (size_t)n >= size) return n;
    return n + snprintf(text + n, size - (size_t)n, n > 0 ? ".%lld" : "%lld", (long long)t->number);
}

/* Record that a task waits for a lock, and for which one. */
WS_API void ws_note(const ws_task *t, const ws_buffer *b, int64_t index, int64_t holder) {
    ws_run *run = t->run;
    if (run->stuck++ >= WS_BLOCKED) return;
    ws_blocked *w = &run->blocked[run->stuck - 1];
    *w = (ws_blocked){.buffer = b, .lock = index, .task = t->id, .holder = holder};
    ws_task_name(t, w->name, sizeof w->name);
    for (const ws_task *p = t->parent; p; p = p->parent)
        if (p->id == holder) ws_task_name(p, w->above, sizeof w->above);
}

/* Whether all tasks wait for locks: none can be released then. `seen` is the number of releases when this task last
 * counted itself. Each task counts itself once it has failed to get its lock, which `holder` holds, since the last release. */
WS_API bool ws_deadlocked(ws_task *t, const ws_buffer *b, int64_t index, int64_t holder, int64_t releases, int64_t *seen) {
    ws_run *run = t->run;
    pthread_mutex_lock(&run->mutex);
    if (run->stuck_since != releases && releases == __atomic_load_n(&run->releases, __ATOMIC_SEQ_CST)) {
        run->stuck_since = releases;
        run->stuck = 0;
    }
    if (*seen != releases && run->stuck_since == releases) {
        *seen = releases;
        ws_note(t, b, index, holder);
    }
    bool all = run->stuck_since == releases && releases == __atomic_load_n(&run->releases, __ATOMIC_SEQ_CST) &&
               run->stuck >= __atomic_load_n(&run->running, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&run->mutex);
    return all;
}

/* Take a lock, which then holds the id of the task; wait until it is free. False if the run stops or all tasks wait. */
WS_API inline bool ws_acquire(ws_task *t, ws_buffer *b, int64_t index) {
    ws_run *run = t->run;
    if (b->borrowed || index < 1 || (uint64_t)index > __atomic_load_n(&b->cells, __ATOMIC_RELAXED))
        if (!ws_grow(t, b, index)) return false;
    int64_t *cell = (int64_t *)(void *)b->data + (index - 1), holder, seen = -1;
    for (unsigned tries = 0;; tries++) {
        int64_t releases = __atomic_load_n(&run->releases, __ATOMIC_SEQ_CST);
        holder = 0;
        if (__atomic_compare_exchange_n(cell, &holder, t->id, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return true;
        if (ws_leaves(run)) return false;
        if (tries < 8) {
            for (unsigned i = 0; i < 1u << tries; i++) ws_pause();
        } else if (tries < 64) {
            sched_yield();
        } else {
            if (__atomic_load_n(&run->watched, __ATOMIC_SEQ_CST)) {
                if (ws_deadlocked(t, b, index, holder, releases, &seen)) return ws_fail(t, WS_DEADLOCK, b, index, holder);
            } else {
                __atomic_store_n(&run->watched, 1, __ATOMIC_SEQ_CST);
            }
            struct timespec nap = {0, 20000};
            nanosleep(&nap, NULL);
        }
    }
}

WS_API inline void ws_release(ws_task *t, ws_buffer *b, int64_t index) {
    WS_CELL(b, int64_t, index, __atomic_store_n(cell, 0, __ATOMIC_SEQ_CST), return);
    if (WS_UNLIKELY(__atomic_load_n(&t->run->watched, __ATOMIC_SEQ_CST)))
        __atomic_add_fetch(&t->run->releases, 1, __ATOMIC_SEQ_CST);
}

/* ---------------------------------------------------------------------------------------------------------- sorting */

/* ws_sort_few_i32(x, n) and ws_sort_near_i32(x, n), and the same for i64. The first sorts by insertion. The second sorts
 * distinct numbers that are close to each other by marking them in a bitmap of at most WS_MARKS words; if most of these
 * have no marks, a second bitmap records which do. It returns false, with nothing changed, if they are too far apart, or
 * one occurs twice, or other tasks change them meanwhile. */
#define WS_MARKS 4096
#define WS_SORTS(name, type)                                                                                           \
    WS_API void ws_sort_few_##name(type *x, uint64_t n) {                                                              \
        for (uint64_t i = 1; i < n; i++) {                                                                             \
            const type v = x[i];                                                                                       \
            uint64_t k = i;                                                                                            \
            for (; k > 0 && x[k - 1] > v; k--) x[k] = x[k - 1];                                                        \
            x[k] = v;                                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    WS_API bool ws_sort_near_##name(type *x, uint64_t n) {                                                             \
        type least = x[0], most = x[0];                                                                                \
        int sorted = 1;                                                                                                \
        for (uint64_t i = 1; i < n; i++) {                                                                             \
            sorted &= x[i - 1] <= x[i];                                                                                \
            least = x[i] < least ? x[i] : least;                                                                       \
            most = x[i] > most ? x[i] : most;                                                                          \
        }                                                                                                              \
        if (sorted) return true;                                                                                       \
        const uint64_t span = (uint64_t)most - (uint64_t)least, words = span / 64 + 1;                                 \
        if (words > WS_MARKS) return false;                                                                            \
        uint64_t marks[WS_MARKS], marked[WS_MARKS / 64] = {0}, k = 0;                                                  \
        const bool rare = words > 2 * n;                                                                               \
        memset(marks, 0, words * sizeof *marks);                                                                       \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            const uint64_t d = (uint64_t)x[i] - (uint64_t)least, bit = UINT64_C(1) << d % 64;                          \
            if (WS_UNLIKELY(d > span || (marks[d / 64] & bit))) return false;                                          \
            marks[d / 64] |= bit;                                                                                      \
            if (rare) marked[d / 4096] |= UINT64_C(1) << d / 64 % 64;                                                  \
        }                                                                                                              \
        for (uint64_t w = 0; w < words && !rare; w++)                                                                  \
            for (uint64_t m = marks[w]; m; m &= m - 1)                                                                 \
                x[k++] = (type)(least + (type)(64 * w + (unsigned)__builtin_ctzll(m)));                                \
        for (uint64_t r = 0; r <= words / 64 && rare; r++)                                                             \
            for (uint64_t o = marked[r], w; o; o &= o - 1)                                                             \
                for (uint64_t m = marks[w = 64 * r + (unsigned)__builtin_ctzll(o)]; m; m &= m - 1)                     \
                    x[k++] = (type)(least + (type)(64 * w + (unsigned)__builtin_ctzll(m)));                            \
        return true;                                                                                                   \
    }
WS_SORTS(i32, int32_t)
WS_SORTS(i64, int64_t)

/* Sort n numbers byte by byte, `spare` being room for as many. */
WS_API void ws_sort_numbers(int64_t *x, int64_t *spare, uint64_t n) {
    int64_t least = x[0], most = x[0];
    for (uint64_t i = 1; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    uint64_t span = (uint64_t)most - (uint64_t)least;
    int64_t *from = x, *to = spare;
    for (unsigned shift = 0; shift < 64 && span >> shift; shift += 8) {
        uint64_t start[257] = {0};
        for (uint64_t i = 0; i < n; i++) start[(((uint64_t)from[i] - (uint64_t)least) >> shift & 255) + 1]++;
        for (unsigned d = 0; d < 256; d++) start[d + 1] += start[d];
        for (uint64_t i = 0; i < n; i++) to[start[((uint64_t)from[i] - (uint64_t)least) >> shift & 255]++] = from[i];
        int64_t *other = from;
        from = to;
        to = other;
    }
    if (from != x) memcpy(x, from, n * sizeof *x);
}

/* Sort the cells 1 to count, which are integers; if there are many, mostly in a copy, since others may interfere. */
WS_API bool ws_sort(ws_task *t, ws_buffer *b, int64_t count) {
    if (count < 2) return true;
    if (b->borrowed || (uint64_t)count > __atomic_load_n(&b->cells, __ATOMIC_RELAXED))
        if (!ws_grow(t, b, count)) return false;
    const uint64_t n = (uint64_t)count;
    if (t->run->order == WS_PLAIN && b->width == WS_I32) {
        if (n <= 24) return ws_sort_few_i32((int32_t *)(void *)b->data, n), true;
        if (ws_sort_near_i32((int32_t *)(void *)b->data, n)) return true;
    } else if (t->run->order == WS_PLAIN && b->width == WS_I64) {
        if (n <= 24) return ws_sort_few_i64((int64_t *)(void *)b->data, n), true;
        if (ws_sort_near_i64((int64_t *)(void *)b->data, n)) return true;
    }
    int64_t *x = malloc(2 * n * sizeof *x);
    if (!x) return ws_fail(t, WS_SPACE, b, 0, 0);
    for (uint64_t i = 0; i < n; i++) x[i] = ws_load(b, (int64_t)i + 1, t->run->order).i;
    ws_sort_numbers(x, x + n, n);
    bool good = true;
    for (uint64_t i = 0; i < n && good; i++) good = ws_store(t, b, (int64_t)i + 1, (ws_value){.i = x[i]}, t->run->order);
    free(x);
    return good;
}

/* -------------------------------------------------------------------------------------------------------- instances */

/* Room for a buffer: of the n-th instance of very many, a share of what the first one has. */
WS_API uint64_t ws_room(const ws_run *run, const ws_group *g, const ws_shape *s) {
    uint64_t bytes = run->reservation;
    if (g->parent >= 0 && g->keys == 0) {
        bytes /= (uint64_t)g->instances;
        if (bytes < WS_SMALLEST) bytes = WS_SMALLEST < run->reservation ? WS_SMALLEST : run->reservation;
    }
    if (s->bound > 0 && (uint64_t)s->bound < bytes / ws_bytes[s->width]) bytes = (uint64_t)s->bound * ws_bytes[s->width];
    return bytes;
}

WS_API bool ws_tables(ws_run *run, ws_instance *x) {
    for (int64_t i = 0; i < run->count; i++) {
        const ws_group *g = &run->groups[i];
        if (g->parent != x->group - run->groups) continue;
        ws_table *table = &x->tables[g->rank];
        uint64_t bytes = g->keys ? (uint64_t)g->keys * sizeof *table->slots : run->reservation / 8;
        if (!g->keys && x->group->parent >= 0 && bytes > WS_SMALLEST) bytes = WS_SMALLEST;
        uint64_t wanted = bytes;
        if (!(table->slots = (ws_instance **)(void *)ws_reserve(run, &bytes))) return false;
        table->count = (bytes < wanted ? bytes : wanted) / sizeof *table->slots;
    }
    return true;
}

/* A new instance; the mutex is held. NULL with a fault recorded. */
WS_API ws_instance *ws_make(ws_task *t, ws_group *g, ws_instance *parent, int64_t key) {
    ws_run *run = t->run;
    size_t bytes = sizeof(ws_instance) + (size_t)g->buffers * sizeof(ws_buffer);
    const bool charged = ws_charge(run, bytes);
    ws_instance *x = charged ? calloc(1, bytes) : NULL;
    bool good = x && (x->tables = calloc((size_t)g->children + 1, sizeof *x->tables));
    if (x) {
        x->group = g;
        x->parent = parent;
        x->key = key;
        x->used = true;
        g->instances++;
    }
    for (int64_t i = 0; good && i < g->buffers; i++) {
        ws_buffer *b = &x->buffers[i];
        b->width = g->shapes[i].hashed ? WS_HASHED : g->shapes[i].width;
        if (g->shapes[i].hashed) continue;
        uint64_t wanted = ws_room(run, g, &g->shapes[i]), room = wanted;
        b->data = b->home = ws_reserve(run, &room);
        b->reserved = (room < wanted ? room : wanted) / ws_bytes[b->width];
        b->bounded = g->shapes[i].bound > 0 && (uint64_t)g->shapes[i].bound <= b->reserved;
        good = b->data != NULL;
    }
    good = good && ws_tables(run, x);
    if (!good) {
        ws_fail(t, charged ? WS_SPACE : WS_MEMORY, NULL, charged ? 0 : (int64_t)(run->committed + bytes), 0);
        if (x) free(x->tables);
        free(x);
        return NULL;
    }
    x->made_before = run->instances;
    run->instances = x;
    return x;
}

/* The instance of a group that has no parent, the same each time; NULL with a fault recorded. */
WS_API ws_instance *ws_root(ws_task *t, int64_t group) {
    ws_run *run = t->run;
    ws_group *g = &run->groups[group];
    pthread_mutex_lock(&run->mutex);
    ws_instance *x = run->instances;
    while (x && !(x->group == g && x->key == -1)) x = x->made_before;
    if (x) x->used = true;
    else x = ws_make(t, g, NULL, -1);
    pthread_mutex_unlock(&run->mutex);
    return x;
}

/* The instance with a key in another; NULL with a fault recorded. */
WS_API inline ws_instance *ws_child(ws_task *t, int64_t group, ws_instance *parent, int64_t key) {
    ws_group *g = &t->run->groups[group];
    const ws_table *table = &parent->tables[g->rank];
    if (WS_UNLIKELY((uint64_t)key >= table->count)) {
        ws_fail(t, WS_NO_CHILD, NULL, key, group);
        return NULL;
    }
    ws_instance *x = __atomic_load_n(&table->slots[key], __ATOMIC_ACQUIRE);
    if (WS_LIKELY(x && __atomic_load_n(&x->used, __ATOMIC_RELAXED))) return x;
    pthread_mutex_lock(&t->run->mutex);
    x = table->slots[key];
    if (x) __atomic_store_n(&x->used, true, __ATOMIC_RELAXED);
    else if ((x = ws_make(t, g, parent, key))) __atomic_store_n(&table->slots[key], x, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&t->run->mutex);
    return x;
}

/* A task's own instance: one that was dropped, with its contents, or a new one; NULL with a fault recorded. */
WS_API ws_instance *ws_fresh(ws_task *t, int64_t group) {
    ws_group *g = &t->run->groups[group];
    pthread_mutex_lock(&t->run->mutex);
    ws_instance *x = g->spare;
    if (x) g->spare = x->next_spare;
    else x = ws_make(t, g, NULL, 0);
    pthread_mutex_unlock(&t->run->mutex);
    return x;
}

WS_API void ws_drop(ws_task *t, ws_instance *x) {
    pthread_mutex_lock(&t->run->mutex);
    x->next_spare = x->group->spare;
    x->group->spare = x;
    pthread_mutex_unlock(&t->run->mutex);
}

/* Let a buffer read borrowed memory, which must not change while the run lasts. */
WS_API inline void ws_borrow(ws_buffer *b, const void *data, uint64_t cells, ws_width width, int64_t shift) {
    if (!b->borrowed) b->home_cells = b->cells;
    b->data = (unsigned char *)(uintptr_t)data;
    b->cells = cells;
    b->width = width;
    b->shift = shift;
    b->borrowed = true;
}

/* ------------------------------------------------------------------------------------------------------------- runs */

static ws_team ws_own_team = {PTHREAD_MUTEX_INITIALIZER, NULL};
static uint64_t ws_own_spare;
static pthread_once_t ws_team_once = PTHREAD_ONCE_INIT;

/* A thread that makes the callers of runs check for signals, which do not reach them; it sleeps while there are no
 * runs for a while. */
typedef struct { pthread_mutex_t mutex; pthread_cond_t wake; pthread_t thread; bool there, sleeps, quits; ws_run *runs; } ws_watch;
static ws_watch ws_own_watch = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* A forked process has none of the threads. */
WS_API void ws_before_fork(void) {
    pthread_mutex_lock(&ws_own_team.mutex);
    pthread_mutex_lock(&ws_own_watch.mutex);
}
WS_API void ws_after_fork(void) {
    pthread_mutex_unlock(&ws_own_watch.mutex);
    pthread_mutex_unlock(&ws_own_team.mutex);
}
WS_API void ws_forked(void) {
    pthread_mutex_init(&ws_own_team.mutex, NULL);
    ws_own_team.idle = NULL;
    ws_own_watch = (ws_watch){.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
}
WS_API void ws_team_open(void) { pthread_atfork(ws_before_fork, ws_after_fork, ws_forked); }

/* A run of `count` groups, which must not move; their parent, keys, buffers and shapes are set. */
WS_API bool ws_open(ws_run *run, ws_group *groups, int64_t count) {
    memset(run, 0, sizeof *run);
    pthread_once(&ws_team_once, ws_team_open);
    run->team = &ws_own_team;
    run->spare = &ws_own_spare;
    run->groups = groups;
    run->count = count;
    run->limit = UINT64_MAX;
    run->reservation = WS_RESERVATION;
    for (int64_t i = 0; i < count; i++) {
        groups[i].rank = groups[i].children = groups[i].instances = 0;
        groups[i].spare = NULL;
    }
    for (int64_t i = 0; i < count; i++)
        if (groups[i].parent >= 0) groups[i].rank = groups[groups[i].parent].children++;
    return pthread_mutex_init(&run->mutex, NULL) == 0;
}

WS_API void ws_forget(ws_buffer *b) {
    for (ws_hash *h = b->hash, *older; h; h = older) {
        older = h->older;
        free(h);
    }
    b->hash = NULL;
}

/* Make a run as new, except for the memory that it already has. */
WS_API inline void ws_reset(ws_run *run) {
    for (int64_t i = 0; i < run->count; i++) run->groups[i].spare = NULL;
    run->committed = 0;
    for (ws_instance *x = run->instances; x; x = x->made_before) {
        x->used = false;
        run->committed += sizeof *x + (size_t)x->group->buffers * sizeof(ws_buffer);
        for (int64_t i = 0; i < x->group->buffers; i++) {
            ws_buffer *b = &x->buffers[i];
            ws_forget(b);
            if (b->borrowed) {
                b->data = b->home;
                b->cells = b->home_cells;
            }
            b->width = x->group->shapes[i].hashed ? WS_HASHED : x->group->shapes[i].width;
            b->borrowed = false;
            b->shift = 0;
            if (b->cells && !x->group->shapes[i].kept) memset(b->data, 0, b->cells * ws_bytes[b->width]);
            run->committed += b->cells * ws_bytes[b->width];
        }
        if (!x->parent && x->key == 0) {
            x->next_spare = x->group->spare;
            x->group->spare = x;
        }
    }
    free(run->registers);
    run->registers = NULL;
    run->fault = WS_NONE;
    run->stopped = run->watched = 0;
    run->tasks = run->running = run->releases = run->stuck_since = run->stuck = 0;
}

/* Free all memory. */
WS_API void ws_close(ws_run *run) {
    for (ws_instance *x = run->instances, *next; x; x = next) {
        next = x->made_before;
        for (int64_t i = 0; i < x->group->buffers; i++) ws_forget(&x->buffers[i]);
        free(x->tables);
        free(x);
    }
    for (int large = 0; large < 2; large++)
        for (ws_arena *a = run->arenas[large], *next; a; a = next) {
            next = a->older;
            munmap(a->mapped, a->size + WS_HUGE);
            free(a);
        }
    free(run->registers);
    pthread_mutex_destroy(&run->mutex);
}

/* ---------------------------------------------------------------------------------------------------------- threads */

typedef void (*ws_body)(ws_task *t, void *frame);

/* A waiting task, until `left` jobs are done. */
typedef struct { pthread_mutex_t mutex; pthread_cond_t done; int64_t left; } ws_join;

struct ws_worker;
typedef struct {
    ws_task task;
    ws_body body;
    void *frame;
    ws_join *join;
    struct ws_worker *worker; /* who is to run it */
    bool begun;               /* by that one */
    int64_t took;             /* nanoseconds */
} ws_job;

/* Idle threads. They stay for the next parallel region; any run of the process may use them. */
typedef struct ws_worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    ws_job *job;
    bool quits;
    struct ws_worker *next;
} ws_worker;

/* How often in a row, of the last times, a region has had so little work that waking a thread costs more. Zero at first:
 * unknown work is given to threads. */
typedef struct { int shorts; } ws_habit;
#define WS_SHORT 20000 /* nanoseconds of work, by all tasks of a region, for which no thread is woken */
#define WS_SHORTS 3    /* so many short times in a row are a habit; a single long one ends it */

/* Whether tasks may run on one thread one after another: not where they are to meet, for the sake of a checker. */
WS_API inline bool ws_may_queue(const ws_run *run) {
#ifdef __SANITIZE_THREAD__
    (void)run;
    return false;
#else
    return run->order == WS_PLAIN && !run->yields;
#endif
}

WS_API inline int64_t ws_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

WS_API void ws_learn(ws_habit *habit, int64_t work) {
    const int shorts = __atomic_load_n(&habit->shorts, __ATOMIC_RELAXED);
    const int next = work >= WS_SHORT ? 0 : shorts < WS_SHORTS ? shorts + 1 : shorts;
    if (next != shorts) __atomic_store_n(&habit->shorts, next, __ATOMIC_RELAXED);
}

WS_API void ws_open_join(ws_join *j, int64_t left) {
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->done, NULL);
    j->left = left;
}

WS_API void ws_close_join(ws_join *j) {
    pthread_cond_destroy(&j->done);
    pthread_mutex_destroy(&j->mutex);
}

WS_API void ws_idle(ws_team *team, ws_worker *w) {
    pthread_mutex_lock(&team->mutex);
    w->next = team->idle;
    team->idle = w;
    pthread_mutex_unlock(&team->mutex);
}

/* Run a job and report that it is done. The last one makes the waiting task count as running. */
WS_API void ws_perform(ws_job *job, ws_worker *w) {
    ws_join *join = job->join;
    ws_run *run = job->task.run;
    const int64_t begun = ws_now();
    job->body(&job->task, job->frame);
    job->took = ws_now() - begun;
    if (w) ws_idle(run->team, w);
    pthread_mutex_lock(&join->mutex);
    const int64_t left = __atomic_sub_fetch(&join->left, 1, __ATOMIC_RELAXED);
    if (left > 0) __atomic_sub_fetch(&run->running, 1, __ATOMIC_SEQ_CST);
    else pthread_cond_signal(&join->done);
    pthread_mutex_unlock(&join->mutex);
}

WS_API void *ws_work(void *arg) {
    ws_worker *w = arg;
    for (;;) {
        for (int i = 0; i < 2000 && !__atomic_load_n(&w->job, __ATOMIC_RELAXED); i++) ws_pause();
        pthread_mutex_lock(&w->mutex);
        while (!w->job && !w->quits) pthread_cond_wait(&w->wake, &w->mutex);
        ws_job *job = w->job;
        __atomic_store_n(&w->job, NULL, __ATOMIC_RELAXED);
        if (job) __atomic_store_n(&job->begun, true, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&w->mutex);
        if (!job) return NULL;
        ws_perform(job, w);
    }
}

/* Whether nobody has begun a job, and now nobody else will. Its worker is alive while the job is its own. */
WS_API bool ws_take_back(ws_job *job) {
    if (__atomic_load_n(&job->begun, __ATOMIC_RELAXED)) return false;
    ws_worker *w = job->worker;
    pthread_mutex_lock(&w->mutex);
    const bool waits = w->job == job;
    if (waits) __atomic_store_n(&w->job, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&w->mutex);
    if (waits) ws_idle(job->task.run->team, w);
    return waits;
}

/* A thread that receives no signals: they are for the older threads. False if there can be none. Its stack is as large
   as the GNU C library makes it by default: musl's would have 128 KB. */
WS_API bool ws_thread(pthread_t *thread, void *(*body)(void *), void *arg) {
    sigset_t all, before;
    pthread_attr_t stack;
    if (pthread_attr_init(&stack)) return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_attr_setstacksize(&stack, (size_t)8 << 20) || pthread_create(thread, &stack, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&stack);
    return !failed;
}

WS_API ws_worker *ws_hire(void) {
    ws_worker *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    if (ws_thread(&w->thread, ws_work, w)) return w;
    free(w);
    return NULL;
}

/* `count` idle threads of a team as a list, or NULL if there cannot be so many. */
WS_API ws_worker *ws_gather(ws_team *team, int64_t count) {
    ws_worker *list = NULL;
    pthread_mutex_lock(&team->mutex);
    while (count > 0) {
        ws_worker *w = team->idle;
        if (w) team->idle = w->next;
        else if (!(w = ws_hire())) break;
        w->next = list;
        list = w;
        count--;
    }
    while (count > 0 && list) {
        ws_worker *next = list->next;
        list->next = team->idle;
        team->idle = list;
        list = next;
    }
    pthread_mutex_unlock(&team->mutex);
    return list;
}

WS_API ws_worker *ws_assign(ws_worker *w, ws_job *job) {
    ws_worker *next = w->next;
    job->worker = w;
    pthread_mutex_lock(&w->mutex);
    __atomic_store_n(&w->job, job, __ATOMIC_RELAXED);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    return next;
}

static uint64_t ws_mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Sometimes let others go first, so that rare interleavings happen. */
WS_API inline void ws_yield(ws_task *t) {
    t->random += UINT64_C(0x9E3779B97F4A7C15);
    if (ws_mix(t->random) % 4 == 0) sched_yield();
}

#define WS_TICK 50  /* milliseconds between two checks for signals */
#define WS_TICKS 20 /* ticks without a run after which the watch sleeps */

/* Wait for a condition, at most this many milliseconds; whether it timed out. The mutex is held. */
WS_API bool ws_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    until.tv_sec += (time_t)(milliseconds / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_cond_timedwait(condition, mutex, &until) == ETIMEDOUT;
}

WS_API void *ws_watching(void *arg) {
    ws_watch *w = arg;
    int idle = 0;
    pthread_mutex_lock(&w->mutex);
    while (!w->quits) {
        if ((w->sleeps = idle == WS_TICKS)) {
            pthread_cond_wait(&w->wake, &w->mutex);
            idle = 0;
        } else if (ws_wait(&w->wake, &w->mutex, WS_TICK)) {
            idle = w->runs ? 0 : idle + 1;
            for (ws_run *run = w->runs; run; run = run->watched_next) __atomic_or_fetch(&run->stopped, WS_ASKED, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

WS_API bool ws_watch_begin(ws_watch *w, ws_run *run) {
    pthread_mutex_lock(&w->mutex);
    if (!w->there) w->there = ws_thread(&w->thread, ws_watching, w);
    const bool there = w->there;
    if (there) {
        run->watched_next = w->runs;
        w->runs = run;
        if (w->sleeps) pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->mutex);
    return there;
}

WS_API void ws_watch_end(ws_watch *w, ws_run *run) {
    pthread_mutex_lock(&w->mutex);
    ws_run **at = &w->runs;
    while (*at != run) at = &(*at)->watched_next;
    *at = run->watched_next;
    pthread_mutex_unlock(&w->mutex);
}

/* Run `body` as the first task, in this thread. A failure or a stop is recorded in the run. */
WS_API void ws_begin(ws_run *run, ws_body body, void *frame) {
    ws_task task = {.run = run, .id = 1, .number = 1, .random = ws_mix(run->seed)};
    run->tasks = run->running = 1;
    run->caller = pthread_self();
    if (run->ask && !ws_watch_begin(&ws_own_watch, run)) {
        ws_fail(&task, WS_THREADS, NULL, 1, 0);
        ws_stop(&task, -1, NULL, 0);
        return;
    }
    body(&task, frame);
    if (run->ask) ws_watch_end(&ws_own_watch, run);
}

/* Task k of those that a task starts, of which there have been `before` others in the run. */
WS_API ws_task ws_started(ws_task *t, int64_t before, int64_t k) {
    ws_task task = {.run = t->run, .parent = t, .id = before + k, .number = k};
    task.random = ws_mix(t->random ^ (uint64_t)k);
    return task;
}

/* Tasks `from` to n, on as many threads as there are of them, this one among these. It takes back what nobody has begun
 * once it has nothing else to do. */
WS_API bool ws_spread(ws_task *t, int64_t before, int64_t from, int64_t n, ws_body body, char *frames, size_t size, ws_habit *habit) {
    ws_run *run = t->run;
    const int64_t count = n - from + 1;
    ws_job *jobs = malloc((size_t)count * sizeof *jobs);
    if (!jobs) return ws_fail(t, WS_SPACE, NULL, 0, 0);
    ws_worker *team = count > 1 ? ws_gather(run->team, count - 1) : NULL;
    if (count > 1 && !team) {
        free(jobs);
        return ws_fail(t, WS_THREADS, NULL, count - 1, 0);
    }
    ws_join join;
    ws_open_join(&join, count);
    __atomic_add_fetch(&run->running, count - 1, __ATOMIC_SEQ_CST);
    for (int64_t k = count - 1; k >= 0; k--) {
        jobs[k] = (ws_job){ws_started(t, before, from + k), body, frames + (size_t)(from + k - 1) * size, &join, NULL, false, 0};
        if (k > 0) team = ws_assign(team, &jobs[k]);
    }
    ws_perform(&jobs[0], NULL);
    if (ws_may_queue(run))
        for (int64_t k = count - 1; k > 0; k--)
            if (ws_take_back(&jobs[k])) ws_perform(&jobs[k], NULL);
    for (int i = 0; i < 2000 && __atomic_load_n(&join.left, __ATOMIC_RELAXED) > 0; i++) ws_pause();
    const bool asks = run->ask && pthread_equal(pthread_self(), run->caller);
    pthread_mutex_lock(&join.mutex);
    while (join.left > 0) {
        if (!asks) {
            pthread_cond_wait(&join.done, &join.mutex);
        } else if (ws_wait(&join.done, &join.mutex, WS_TICK)) {
            pthread_mutex_unlock(&join.mutex);
            ws_leaves(run);
            pthread_mutex_lock(&join.mutex);
        }
    }
    pthread_mutex_unlock(&join.mutex);
    ws_close_join(&join);
    int64_t work = 0;
    for (int64_t k = 0; k < count; k++) work += jobs[k].took;
    ws_learn(habit, work);
    free(jobs);
    return !ws_stopped(run);
}

/* Run `body` as n tasks, each with its frame of `size` bytes, and wait for them. False if the run stops.
 *
 * A single task, and those of a region that is short by habit, run in this thread one after another, until they turn out
 * to be long: a legal interleaving as well. */
WS_API bool ws_par(ws_task *t, int64_t n, ws_body body, void *frames, size_t size, ws_habit *habit) {
    ws_run *run = t->run;
    if (n < 1 || ws_stopped(run)) return n < 1;
    const int64_t before = __atomic_fetch_add(&run->tasks, n, __ATOMIC_RELAXED);
    if (n == 1) {
        ws_task task = ws_started(t, before, 1);
        body(&task, frames);
        return !ws_stopped(run);
    }
    if (!ws_may_queue(run) || __atomic_load_n(&habit->shorts, __ATOMIC_RELAXED) < WS_SHORTS)
        return ws_spread(t, before, 1, n, body, frames, size, habit);
    const int64_t begun = ws_now();
    for (int64_t k = 1;; k++) {
        ws_task task = ws_started(t, before, k);
        body(&task, (char *)frames + (size_t)(k - 1) * size);
        const int64_t work = ws_now() - begun;
        if (ws_stopped(run)) return false;
        if (work >= WS_SHORT || k == n) ws_learn(habit, work);
        if (k == n) return true;
        if (work >= WS_SHORT) return ws_spread(t, before, k + 1, n, body, frames, size, habit);
    }
}

/* End the idle threads. */
WS_API void ws_dismiss(void) {
    ws_watch *watch = &ws_own_watch;
    pthread_mutex_lock(&watch->mutex);
    const bool there = watch->there && !watch->runs;
    watch->quits = there;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->mutex);
    if (there) {
        pthread_join(watch->thread, NULL);
        watch->there = watch->quits = false;
    }
    pthread_mutex_lock(&ws_own_team.mutex);
    ws_worker *list = ws_own_team.idle;
    ws_own_team.idle = NULL;
    pthread_mutex_unlock(&ws_own_team.mutex);
    for (ws_worker *w = list, *next; w; w = next) {
        next = w->next;
        pthread_mutex_lock(&w->mutex);
        w->quits = true;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->mutex);
        pthread_join(w->thread, NULL);
        pthread_cond_destroy(&w->wake);
        pthread_mutex_destroy(&w->mutex);
        free(w);
    }
}

#endif
