/* Printed by wingspan with each program, and a part of it.
 *
 * Runs that two lists have in common, 16 at once: their first and last indices are compared with vector instructions,
 * their elements are computed side by side, and those up to the first that takes more are copied. It takes AVX-512;
 * WS_RUN_LANES is 0 without. Runs count from 1, and a cursor is the number of one. Nothing beyond a list is read.
 */
#ifndef WINGSPAN_COMMON_RUNS_H
#define WINGSPAN_COMMON_RUNS_H

#include <stdint.h>
#include <string.h>

#define WS_COMMON_RUNS static inline __attribute__((always_inline, unused))

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512VL__)
#define WS_RUN_LANES 0
#else
#define WS_RUN_LANES 16
#include <immintrin.h>

/* Fewer runs than this are left to the loop, which is as fast then. */
#define WS_FEW_RUNS 4
/* Where fewer were taken at once, so many times none are compared. */
#define WS_WAITS 32
/* No run begins after this index. */
#define WS_NOWHERE (-2)

/* Precedes a loop over lanes: a compiler that unrolls it whole no longer sees that it takes vector instructions. */
#if defined(__clang__)
#define WS_SIDE_BY_SIDE _Pragma("clang loop unroll(disable)")
#else
#define WS_SIDE_BY_SIDE _Pragma("GCC unroll 1")
#endif

/* The n lowest lanes of 16. */
WS_COMMON_RUNS __mmask16 ws_lowest(int64_t n) { return (__mmask16)((UINT32_C(1) << n) - 1); }

/* The lanes of n ≤ 16 runs that two lists have in common, from a run of each on, and that are not beyond `last` ≥ 1. */
WS_COMMON_RUNS uint32_t ws_common_runs(const int32_t *x_left, const int32_t *x_right, const int32_t *y_left,
                                       const int32_t *y_right, int64_t n, int64_t last) {
    const __mmask16 there = ws_lowest(n);
    const __m512i end = _mm512_set1_epi32((int32_t)ws_min_i64(last, INT32_MAX));
    const __m512i left = _mm512_maskz_loadu_epi32(there, x_left), right = _mm512_maskz_loadu_epi32(there, x_right);
    const __mmask16 within = _mm512_mask_cmple_epi32_mask(there, right, end);
    const __mmask16 begin = _mm512_mask_cmpeq_epi32_mask(within, left, _mm512_maskz_loadu_epi32(there, y_left));
    return _mm512_mask_cmpeq_epi32_mask(begin, right, _mm512_maskz_loadu_epi32(there, y_right));
}

/* The number of runs before the first of 16 that stops. The branch predicts that none does, so that the code after it
 * waits for no comparison. */
WS_COMMON_RUNS int64_t ws_runs_before(uint32_t stops) {
    if (WS_UNLIKELY((stops & 0xffff) != 0)) return __builtin_ctz(stops);
    int64_t all = 16;
    __asm__("" : "+r"(all)); /* else compilers count here, too */
    return all;
}

/* The lanes of n ≤ 16 runs that begin where the one before ends; `last` is where that before the first of them ends. */
WS_COMMON_RUNS uint32_t ws_adjacent(const int32_t *left, const int32_t *right, int64_t n, int64_t last) {
    const __mmask16 there = ws_lowest(n);
    const __m512i ends = _mm512_maskz_loadu_epi32(there, right), end = _mm512_set1_epi32((int32_t)last);
    const __m512i before = _mm512_add_epi32(_mm512_alignr_epi32(ends, end, 15), _mm512_set1_epi32(1));
    return _mm512_mask_cmpeq_epi32_mask(there, _mm512_maskz_loadu_epi32(there, left), before);
}

/* Copy n ≤ 16 indices. */
WS_COMMON_RUNS void ws_copy_runs(int32_t *to, const int32_t *from, int64_t n) {
    const __mmask16 there = ws_lowest(n);
    _mm512_mask_storeu_epi32(to, there, _mm512_maskz_loadu_epi32(there, from));
}

/* The lanes that are not zero. */
WS_COMMON_RUNS uint32_t ws_set_lanes(const uint8_t *lanes) {
    const __m128i all = _mm_loadu_si128((const __m128i *)lanes);
    return _mm_test_epi8_mask(all, all);
}

/* Elements side by side: n ≤ 16 are read, and the other lanes are zero; n are written; and the lanes that equal the
 * one before, which is `before` for the first. */
#define WS_NARROW(suffix, type)                                                                                        \
    WS_COMMON_RUNS void ws_read_lanes_##suffix(type *to, const type *from, int64_t n) {                                \
        _mm_storeu_si128((__m128i *)to, _mm_maskz_loadu_epi8(ws_lowest(n), from));                                     \
    }                                                                                                                  \
    WS_COMMON_RUNS void ws_write_lanes_##suffix(type *to, const type *from, int64_t n) {                               \
        _mm_mask_storeu_epi8(to, ws_lowest(n), _mm_loadu_si128((const __m128i *)from));                                \
    }                                                                                                                  \
    WS_COMMON_RUNS uint32_t ws_equal_lanes_##suffix(const type *lanes, type before) {                                  \
        const __m128i all = _mm_loadu_si128((const __m128i *)lanes);                                                   \
        return _mm_cmpeq_epi8_mask(all, _mm_alignr_epi8(all, _mm_set1_epi8((char)before), 15));                        \
    }
WS_NARROW(u8, uint8_t)
WS_NARROW(i8, int8_t)
#undef WS_NARROW

WS_COMMON_RUNS void ws_read_lanes_i32(int32_t *to, const int32_t *from, int64_t n) {
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi32(ws_lowest(n), from));
}
WS_COMMON_RUNS void ws_write_lanes_i32(int32_t *to, const int32_t *from, int64_t n) { ws_copy_runs(to, from, n); }
WS_COMMON_RUNS uint32_t ws_equal_lanes_i32(const int32_t *lanes, int32_t before) {
    const __m512i all = _mm512_loadu_si512(lanes);
    return _mm512_cmpeq_epi32_mask(all, _mm512_alignr_epi32(all, _mm512_set1_epi32(before), 15));
}

/* The same for elements of eight bytes, half of them at once. */
#define WS_WIDE(suffix, type, equal)                                                                                   \
    WS_COMMON_RUNS void ws_read_lanes_##suffix(type *to, const type *from, int64_t n) {                                \
        _mm512_storeu_si512(to, _mm512_maskz_loadu_epi64((__mmask8)ws_lowest(n), from));                               \
        _mm512_storeu_si512(to + 8, _mm512_maskz_loadu_epi64((__mmask8)(ws_lowest(n) >> 8), from + 8));                \
    }                                                                                                                  \
    WS_COMMON_RUNS void ws_write_lanes_##suffix(type *to, const type *from, int64_t n) {                               \
        _mm512_mask_storeu_epi64(to, (__mmask8)ws_lowest(n), _mm512_loadu_si512(from));                                \
        _mm512_mask_storeu_epi64(to + 8, (__mmask8)(ws_lowest(n) >> 8), _mm512_loadu_si512(from + 8));                 \
    }                                                                                                                  \
    WS_COMMON_RUNS uint32_t ws_equal_lanes_##suffix(const type *lanes, type before) {                                  \
        uint8_t found[16];                                                                                             \
        found[0] = equal(lanes[0], before);                                                                            \
        for (int k = 1; k < 16; k++) found[k] = equal(lanes[k], lanes[k - 1]);                                         \
        return ws_set_lanes(found);                                                                                    \
    }
#define WS_SAME_INTEGERS(x, y) ((x) == (y))
WS_WIDE(i64, int64_t, WS_SAME_INTEGERS)
WS_WIDE(f64, double, ws_alike)
#undef WS_SAME_INTEGERS
#undef WS_WIDE

#endif
#endif
