/* Printed by wingspan with each program, and a part of it.
 *
 * The union of two lists, block by block: up to 16 entries of each list are merged by comparisons of all of them
 * at once, without a branch that depends on the indices. It takes AVX-512 and BMI2; WS_UNION_BLOCK is 0 without.
 *
 * The indices of a list ascend, and count from 1 once its `shift` has been added. Its entries count from 1, and a cursor
 * is the number of one; `end` is one more than the last. Nothing beyond a list is read.
 */
#ifndef WINGSPAN_UNION_H
#define WINGSPAN_UNION_H

#include <stdint.h>

#define WS_UNION static inline __attribute__((always_inline, unused))

#if !defined(__AVX512F__) || !defined(__BMI2__)
#define WS_UNION_BLOCK 0
#else
#define WS_UNION_BLOCK 32 /* the most indices of a block's union */
#include <immintrin.h>

typedef struct {
    int32_t at[WS_UNION_BLOCK]; /* the indices */
    uint32_t x, y;              /* a bit for each index that the list has */
    int64_t n;                  /* the number of indices */
    int64_t in_x, in_y;         /* the number of entries of each list */
} ws_union;

/* One step of a merge: each key and that of the lane in `turned`; the larger one goes to the lanes in `high`. */
#define WS_EXCHANGE(keys, turn, high)                                                                                  \
    do {                                                                                                               \
        const __m512i turned = turn;                                                                                   \
        keys = _mm512_mask_max_epu32(_mm512_min_epu32(keys, turned), high, keys, turned);                              \
    } while (0)

/* Sort 16 keys of which the first ascend and the others descend. */
WS_UNION __m512i ws_merge(__m512i keys) {
    WS_EXCHANGE(keys, _mm512_shuffle_i64x2(keys, keys, 0x4e), 0xff00);
    WS_EXCHANGE(keys, _mm512_shuffle_i64x2(keys, keys, 0xb1), 0xf0f0);
    WS_EXCHANGE(keys, _mm512_shuffle_epi32(keys, (_MM_PERM_ENUM)0x4e), 0xcccc);
    WS_EXCHANGE(keys, _mm512_shuffle_epi32(keys, (_MM_PERM_ENUM)0xb1), 0xaaaa);
    return keys;
}
#undef WS_EXCHANGE

/* The n lowest bits. */
WS_UNION uint32_t ws_bits(int64_t n) { return (uint32_t)((UINT64_C(1) << n) - 1); }

/* The first n ≤ 16 indices from x on, then zeros. */
WS_UNION __m512i ws_indices(const int32_t *x, int64_t n, int32_t shift) {
    const __mmask16 there = (__mmask16)ws_bits(n);
    return _mm512_maskz_add_epi32(there, _mm512_maskz_loadu_epi32(there, x), _mm512_set1_epi32(shift));
}

/* Indices of x as keys, and of y, in the opposite order: twice the index, and 1 more if it is of y. The others come last. */
WS_UNION __m512i ws_keys_of_x(__m512i x, int64_t n) {
    return _mm512_mask_add_epi32(_mm512_set1_epi32(-1), (__mmask16)ws_bits(n), x, x);
}
WS_UNION __m512i ws_keys_of_y(__m512i y, int64_t n) {
    const __m512i back = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i last = _mm512_set1_epi32(-1), one = _mm512_set1_epi32(1);
    const __m512i keys = _mm512_mask_or_epi32(last, (__mmask16)ws_bits(n), _mm512_add_epi32(y, y), one);
    return _mm512_permutexvar_epi32(back, keys);
}

/* Of sorted keys: those of y; and those of x that one of y with the same index follows, which may be the first of `more`. */
WS_UNION uint32_t ws_of_y(__m512i keys) { return _mm512_test_epi32_mask(keys, _mm512_set1_epi32(1)); }
WS_UNION uint32_t ws_of_both(__m512i keys, __m512i more) {
    const __m512i one = _mm512_set1_epi32(1), next = _mm512_alignr_epi32(more, keys, 1);
    return _mm512_mask_cmpeq_epi32_mask((__mmask16)~ws_of_y(keys), _mm512_or_si512(keys, one), next);
}

/* Store the union of the first `count` keys, of which `of_y` are of y, and `of_both` are followed by an equal index. */
WS_UNION void ws_store_union(ws_union *u, __m512i low, __m512i high, int64_t count, uint32_t of_y, uint32_t of_both) {
    const uint32_t all = ws_bits(count), both = of_both & all >> 1, kept = all & ~(both << 1);
    _mm512_storeu_si512(u->at, _mm512_maskz_compress_epi32((__mmask16)kept, _mm512_srli_epi32(low, 1)));
    if (count > 16) {
        const __m512i rest = _mm512_maskz_compress_epi32((__mmask16)(kept >> 16), _mm512_srli_epi32(high, 1));
        _mm512_storeu_si512(u->at + __builtin_popcount(kept & 0xffff), rest);
    }
    u->x = _pext_u32(all & ~of_y, kept);
    u->y = _pext_u32((of_y & all) | both, kept);
    u->n = __builtin_popcount(kept);
}

/* The union from the entries p and q on, one of which exists: WS_UNION_BLOCK indices at most. */
WS_UNION void ws_union_block(ws_union *u, const int32_t *x, int64_t p, int64_t x_end, int32_t x_shift, const int32_t *y,
                             int64_t q, int64_t y_end, int32_t y_shift) {
    const int64_t x_left = x_end - p, y_left = y_end - q;
    const int64_t n = x_left < 16 ? x_left : 16, k = y_left < 16 ? y_left : 16;
    const __m512i of_x = ws_indices(x + p - 1, n, x_shift), of_y = ws_indices(y + q - 1, k, y_shift);
    const int32_t x_last = n ? x[p + n - 2] + x_shift : 0, y_last = k ? y[q + k - 2] + y_shift : 0;
    if (!k || (n && x_last < y[q - 1] + y_shift)) {
        _mm512_storeu_si512(u->at, of_x);
        u->x = ws_bits(u->n = u->in_x = n);
        u->y = 0, u->in_y = 0;
    } else if (!n || y_last < x[p - 1] + x_shift) {
        _mm512_storeu_si512(u->at, of_y);
        u->y = ws_bits(u->n = u->in_y = k);
        u->x = 0, u->in_x = 0;
    } else if (x_left + y_left <= 16) {
        const __m512i keys = ws_merge(_mm512_and_si512(ws_keys_of_x(of_x, n), ws_keys_of_y(of_y, k)));
        u->in_x = n, u->in_y = k;
        ws_store_union(u, keys, keys, n + k, ws_of_y(keys), ws_of_both(keys, _mm512_set1_epi32(-1)));
    } else {
        /* of a list that goes on, what comes next is larger than its last index here */
        const int32_t x_most = x_left > n ? x_last : INT32_MAX, y_most = y_left > k ? y_last : INT32_MAX;
        const __m512i most = _mm512_set1_epi32(x_most < y_most ? x_most : y_most);
        u->in_x = __builtin_popcount(_mm512_mask_cmple_epi32_mask((__mmask16)ws_bits(n), of_x, most));
        u->in_y = __builtin_popcount(_mm512_mask_cmple_epi32_mask((__mmask16)ws_bits(k), of_y, most));
        const __m512i one = ws_keys_of_x(of_x, n), other = ws_keys_of_y(of_y, k);
        const __m512i low = ws_merge(_mm512_min_epu32(one, other)), high = ws_merge(_mm512_max_epu32(one, other));
        const uint32_t both = ws_of_both(low, high) | ws_of_both(high, _mm512_set1_epi32(-1)) << 16;
        ws_store_union(u, low, high, u->in_x + u->in_y, ws_of_y(low) | ws_of_y(high) << 16, both);
    }
}

/* The elements of a list for the n indices of a union: from x on for those of `has`, the fill value for the others. */
#define WS_SPREAD(suffix, type, fills, load, store)                                                                    \
    WS_UNION void ws_spread_##suffix(type *to, const type *x, uint32_t has, int64_t n, type fill) {                    \
        for (int64_t done = 0; done < n; done += 8, has >>= 8) {                                                       \
            const __mmask8 these = (__mmask8)has;                                                                      \
            store(to + done, load(fills(fill), these, x));                                                             \
            x += __builtin_popcount(these);                                                                            \
        }                                                                                                              \
    }
WS_SPREAD(f64, double, _mm512_set1_pd, _mm512_mask_expandloadu_pd, _mm512_storeu_pd)
WS_SPREAD(i64, int64_t, _mm512_set1_epi64, _mm512_mask_expandloadu_epi64, _mm512_storeu_si512)
#undef WS_SPREAD

#endif
#endif
