/* Whether the columns of a matrix are in order, in one pass at the speed of memory.
 *
 * Entries are compared with the one before them without regard to columns, which vectorizes however short columns are.
 * Of all falls, those where a column begins are then subtracted.
 */
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WS_CLONES
#endif

/* Entries that are looked at together while a cache holds them; their number fits any counter. */
enum { WS_BLOCK = 1 << 13 };

/* Count the entries from `begin` to before `end` that are not above the one before them; `bad` if one is outside. */
#define WS_FALLS(NAME, INDEX)                                                                                          \
    WS_CLONES static int64_t NAME(const INDEX *idx, int64_t begin, int64_t end, INDEX low, INDEX high, bool *bad) {    \
        INDEX falls = 0, outside = 0;                                                                                  \
        if (begin == 0 && begin < end) {                                                                               \
            outside = (idx[0] < low) | (idx[0] > high);                                                                \
            begin = 1;                                                                                                 \
        }                                                                                                              \
        for (int64_t k = begin; k < end; k++) {                                                                        \
            falls += idx[k] <= idx[k - 1];                                                                             \
            outside |= (idx[k] < low) | (idx[k] > high);                                                               \
        }                                                                                                              \
        *bad |= outside != 0;                                                                                          \
        return falls;                                                                                                  \
    }

/* See `ordered` in _checks.pyx. No entry beyond `most` is read, whatever others write into the arrays meanwhile. */
#define WS_ASCEND(NAME, FALLS, POINTER, INDEX, LARGEST)                                                                \
    static bool NAME(                                                                                                  \
        const POINTER *ptr, int64_t first, const INDEX *idx, int64_t least, int64_t most, int64_t fibers,              \
        int64_t extent                                                                                                 \
    ) {                                                                                                                \
        int64_t last = ptr[fibers], start = first, falls = 0, begins = 0, highest, seen = 0;                           \
        bool bad = false;                                                                                              \
        if (ptr[0] != first || last < first || last - first > most) return false;                                      \
        if (last == first) least = 0, extent = 0;                                                                      \
        if (__builtin_add_overflow(least, extent - 1, &highest) || highest > LARGEST) highest = LARGEST;               \
        if (least > LARGEST || least < -LARGEST) return false;                                                         \
        for (int64_t f = 0; f < fibers;) {                                                                             \
            for (; f < fibers && start - first - seen < WS_BLOCK; f++) {                                               \
                int64_t stop = ptr[f + 1], k = start - first;                                                          \
                if (stop < start || stop > last) return false;                                                         \
                if (start > first && stop > start) begins += idx[k] <= idx[k - 1];                                     \
                start = stop;                                                                                          \
            }                                                                                                          \
            while (seen < start - first) {                                                                             \
                int64_t end = start - first - seen > WS_BLOCK ? seen + WS_BLOCK : start - first;                       \
                falls += FALLS(idx, seen, end, (INDEX)least, (INDEX)highest, &bad);                                    \
                seen = end;                                                                                            \
            }                                                                                                          \
            if (bad) return false;                                                                                     \
        }                                                                                                              \
        return start == last && falls == begins;                                                                       \
    }

WS_FALLS(ws_falls_32, int32_t)
WS_FALLS(ws_falls_64, int64_t)
WS_ASCEND(ws_ascend_32_32, ws_falls_32, int32_t, int32_t, INT32_MAX)
WS_ASCEND(ws_ascend_32_64, ws_falls_64, int32_t, int64_t, INT64_MAX)
WS_ASCEND(ws_ascend_64_32, ws_falls_32, int64_t, int32_t, INT32_MAX)
WS_ASCEND(ws_ascend_64_64, ws_falls_64, int64_t, int64_t, INT64_MAX)

/* Of pointers and indices that have 64 bits if they are wide, else 32. */
static inline bool ws_ascend(
    const void *ptr, bool wide_ptr, int64_t first, const void *idx, bool wide_idx, int64_t least, int64_t most, int64_t fibers,
    int64_t extent
) {
#define WS_BY(function) function(ptr, first, idx, least, most, fibers, extent)
    if (wide_ptr) return wide_idx ? WS_BY(ws_ascend_64_64) : WS_BY(ws_ascend_64_32);
    return wide_idx ? WS_BY(ws_ascend_32_64) : WS_BY(ws_ascend_32_32);
#undef WS_BY
}
