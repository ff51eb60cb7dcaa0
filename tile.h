/* Printed by wingspan with each program, and a part of it.
 *
 * WS_TILE doubles at once, in vectors of as many lanes as registers have. Compilers unroll loops over such vectors, and
 * then keep an array of them in registers.
 */
#ifndef WINGSPAN_TILE_H
#define WINGSPAN_TILE_H

#if defined(__AVX512F__) && WS_TILE % 8 == 0
#define WS_LANES 8
#elif defined(__AVX__) && WS_TILE % 4 == 0
#define WS_LANES 4
#else
#define WS_LANES 2
#endif

typedef double ws_lanes __attribute__((vector_size(8 * WS_LANES)));
typedef double ws_lanes_anywhere __attribute__((vector_size(8 * WS_LANES), aligned(8), may_alias));

#define WS_LANES_AT(cells, first, k) (*(ws_lanes_anywhere *)&(cells)[(first) + (k) * WS_LANES])
#define WS_EACH(k) _Pragma("GCC unroll 8") for (int k = 0; k < WS_TILE / WS_LANES; k++)

#endif
