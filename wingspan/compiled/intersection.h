/* Printed by wingspan with each program, and a part of it.
 *
 * The intersection of two lists: the pairs of entries with equal indices, the *matches*. They are found by comparing
 * blocks of entries, all of one list with all of the other, by AVX-512 or AVX2 where the compiler may use it.
 *
 * The indices of a list ascend. Its entries count from 1, and a cursor is the number of one; `end` is one more than the
 * last. Nothing beyond a list is read.
 */
#ifndef WINGSPAN_INTERSECTION_H
#define WINGSPAN_INTERSECTION_H

#include <stdbool.h>
#include <stdint.h>

#define WS_INTERSECTION static __attribute__((unused))
#define WS_INTERSECTION_INLINE WS_INTERSECTION inline __attribute__((always_inline))

/* Matches that are found and not yet visited. */
typedef struct {
    int64_t p, q;  /* the first entries of their blocks */
    uint32_t x, y; /* a bit for each matching entry of the blocks: the lowest two are the next pair */
} ws_matches;

/* ------------------------------------------------------------------------------------------------------------- blocks */

#if defined(__AVX2__)
#include <immintrin.h>

/* The first n of 8 indices, more by `shift`, and `others` in the place of those that are not there. */
WS_INTERSECTION_INLINE __m256i ws_block_8(const int32_t *x, int64_t n, int32_t shift, int32_t others) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), lanes);
    const __m256i indices = _mm256_add_epi32(_mm256_maskload_epi32(x, there), _mm256_set1_epi32(shift));
    return _mm256_blendv_epi8(_mm256_set1_epi32(others), indices, there);
}

/* Which of the indices in y are in x, too: x is turned until each has met each. */
WS_INTERSECTION_INLINE uint32_t ws_common_8(__m256i x, __m256i y) {
    const __m256i turned = _mm256_permute2x128_si256(x, x, 1);
    __m256i found = _mm256_or_si256(_mm256_cmpeq_epi32(x, y), _mm256_cmpeq_epi32(turned, y));
#define WS_TURN(order)                                                                                                 \
    found = _mm256_or_si256(found, _mm256_cmpeq_epi32(_mm256_shuffle_epi32(x, order), y));                             \
    found = _mm256_or_si256(found, _mm256_cmpeq_epi32(_mm256_shuffle_epi32(turned, order), y))
    WS_TURN(0x39);
    WS_TURN(0x4e);
    WS_TURN(0x93);
#undef WS_TURN
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(found));
}
#endif

#if defined(__AVX512F__)
#define WS_BLOCK 16

/* The same of 16 indices. */
WS_INTERSECTION_INLINE __m512i ws_block_16(const int32_t *x, int64_t n, int32_t shift, int32_t others) {
    const __mmask16 there = (__mmask16)((UINT32_C(1) << n) - 1);
    const __m512i indices = _mm512_maskz_loadu_epi32(there, x);
    return _mm512_mask_add_epi32(_mm512_set1_epi32(others), there, indices, _mm512_set1_epi32(shift));
}

WS_INTERSECTION_INLINE uint32_t ws_common_16(__m512i x, __m512i y) {
    uint32_t found = 0;
    for (int turn = 0; turn < 4; turn++) {
        found |= _mm512_cmpeq_epi32_mask(x, y);
        found |= _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x39), y);
        found |= _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x4e), y);
        found |= _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x93), y);
        x = _mm512_shuffle_i32x4(x, x, 0x39);
    }
    return found;
}
#elif defined(__AVX2__)
#define WS_BLOCK 8
#else
#define WS_BLOCK 4
#endif

/* Compare the next n and k entries, WS_BLOCK at most, and note the matches; if there are none, the list that ends first,
 * or both in part, moves on. */
WS_INTERSECTION_INLINE bool ws_compare(ws_matches *m, const int32_t *x, int64_t *p, int64_t n, const int32_t *y,
                                       int64_t *q, int64_t k, int32_t shift) {
#if defined(__AVX2__)
    uint32_t in_x, in_y;
#if defined(__AVX512F__)
    if (n > 8 || k > 8) {
        const __m512i of_x = ws_block_16(x + *p - 1, n, shift, -2), of_y = ws_block_16(y + *q - 1, k, 0, -1);
        in_y = ws_common_16(of_x, of_y);
        in_x = in_y ? ws_common_16(of_y, of_x) : 0;
    } else
#endif
    {
        const __m256i of_x = ws_block_8(x + *p - 1, n, shift, -2), of_y = ws_block_8(y + *q - 1, k, 0, -1);
        in_y = ws_common_8(of_x, of_y);
        in_x = in_y ? ws_common_8(of_y, of_x) : 0;
    }
    if (in_y) {
        *m = (ws_matches){*p, *q, in_x, in_y};
        return true;
    }
    const bool first = x[*p + n - 2] + shift < y[*q + k - 2];
    *p += first ? n : 0;
    *q += first ? 0 : k;
    return false;
#else
    const int64_t x_end = *p + n, y_end = *q + k;
    do {
        const int32_t i = x[*p - 1] + shift, j = y[*q - 1];
        if (i == j) {
            *m = (ws_matches){*p, *q, 1, 1};
            return true;
        }
        *p += i < j;
        *q += j < i;
    } while (*p < x_end && *q < y_end);
    return false;
#endif
}

/* -------------------------------------------------------------------------------------------------------------- lists */

/* The first entry from p on whose index is not less than `least`; `end` if there is none. */
WS_INTERSECTION int64_t ws_seek(const int32_t *x, int64_t p, int64_t end, int32_t least) {
    int64_t high = end;
    for (int64_t step = WS_BLOCK, near = p + step - 1; near < high; near += step, step += step) {
        if (x[near - 1] < least) p = near + 1;
        else high = near;
    }
    while (p < high) {
        const int64_t middle = (p + high) >> 1;
        if (x[middle - 1] < least) p = middle + 1;
        else high = middle;
    }
    return p;
}

/* Find the next matches from where the indices at p and q differ; false if there are none. A list that is a block or
 * more behind the other skips blocks in a search. */
WS_INTERSECTION __attribute__((noinline)) bool ws_find_matches(ws_matches *m, const int32_t *x, int64_t p,
                                                               int64_t x_end, const int32_t *y, int64_t q,
                                                               int64_t y_end, int32_t shift) {
    do {
        const int64_t n = x_end - p < WS_BLOCK ? x_end - p : WS_BLOCK, k = y_end - q < WS_BLOCK ? y_end - q : WS_BLOCK;
        const int32_t i = x[p - 1] + shift, j = y[q - 1];
        if (i == j) {
            *m = (ws_matches){p, q, 1, 1};
            return true;
        }
        if (x[p + n - 2] + shift < j) {
            p = ws_seek(x, p + n, x_end, j - shift);
            q += p < x_end && j < x[p - 1] + shift;
        } else if (y[q + k - 2] < i) {
            q = ws_seek(y, q + k, y_end, i);
            p += q < y_end && i < y[q - 1];
        } else if (ws_compare(m, x, &p, n, y, &q, k, shift)) {
            return true;
        }
    } while (p < x_end && q < y_end);
    return false;
}

/* Move the cursors p and q on to the next pair, x[p] + shift = y[q], or one of them to its end: false. In a loop, `m` is
 * zero at first, and both cursors are one beyond the pair before then. */
WS_INTERSECTION_INLINE bool ws_next_pair(ws_matches *m, const int32_t *x, int64_t *p, int64_t x_end, const int32_t *y,
                                         int64_t *q, int64_t y_end, int32_t shift) {
    if (!m->y) {
        if (*p >= x_end || *q >= y_end) return false;
        if (x[*p - 1] + shift == y[*q - 1]) return true;
        if (!ws_find_matches(m, x, *p, x_end, y, *q, y_end, shift)) {
            *p = x_end;
            return false;
        }
    }
    *p = m->p + __builtin_ctz(m->x);
    *q = m->q + __builtin_ctz(m->y);
    m->x &= m->x - 1;
    m->y &= m->y - 1;
    return true;
}

#endif
