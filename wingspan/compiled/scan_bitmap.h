/* Printed by wingspan with each program, and a part of it.
 *
 * The bits of a word as a list of indices, by AVX-512 where the compiler may use it; WS_SCANS_BITMAPS is 0 without.
 */
#ifndef WINGSPAN_SCAN_BITMAP_H
#define WINGSPAN_SCAN_BITMAP_H

#include <stdint.h>

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512VBMI2__)
#define WS_SCANS_BITMAPS 0
#else
#define WS_SCANS_BITMAPS 1
#include <immintrin.h>

/* Store 16 numbers of which these are the lowest bytes, all of them larger by the same. */
static inline __attribute__((always_inline, unused)) void ws_store_widened(int32_t *list, __m128i bytes, __m512i more) {
    _mm512_storeu_si512(list, _mm512_add_epi32(_mm512_cvtepu8_epi32(bytes), more));
}

/* Store before + k + 1 for each bit k of a word, in ascending order, and anything in up to 64 cells from `list` on.
 * Return their number. */
static inline __attribute__((always_inline, unused)) int64_t ws_scan_word(int32_t *list, int64_t word, int64_t before) {
    static const uint8_t numbers[64] __attribute__((aligned(64))) = {
        1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
        23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
        45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64};
    const __m512i bytes = _mm512_maskz_compress_epi8((__mmask64)word, _mm512_load_si512(numbers));
    const __m512i more = _mm512_set1_epi32((int32_t)before);
    const int64_t n = __builtin_popcountll((uint64_t)word);
    ws_store_widened(list, _mm512_castsi512_si128(bytes), more);
    if (n > 16) {
        ws_store_widened(list + 16, _mm512_extracti32x4_epi32(bytes, 1), more);
        if (n > 32) {
            ws_store_widened(list + 32, _mm512_extracti32x4_epi32(bytes, 2), more);
            ws_store_widened(list + 48, _mm512_extracti32x4_epi32(bytes, 3), more);
        }
    }
    return n;
}

#endif
#endif
