// Reads lists from the standard input, in turns: their lengths n and k, a shift, and the indices; all 32 bits wide.
// Writes for each two lists how many indices they have together, these, and the entry of each list for it, 0 if it has
// none. A shift of less than 0 is for the second list.
//
// Each list ends where memory ends that may be read, or begins where such memory begins.
#include "lists.h"
#include "union.h"

int main(void) {
    int32_t about[3], count = 0;
    static int32_t found[3 << 16];
    static double of_x[1 << 15];
    static int64_t of_y[1 << 15];
    for (int k = 0; k < 1 << 15; k++) of_x[k] = (double)(of_y[k] = k + 1);
    for (int turn = 0; fread(about, sizeof about, 1, stdin) == 1; turn++, count = 0) {
        const int64_t x_end = about[0] + 1, y_end = about[1] + 1;
        const int32_t *x = list(about[0], turn % 2), *y = list(about[1], turn % 2);
        const int32_t x_shift = about[2] > 0 ? about[2] : 0, y_shift = about[2] < 0 ? -about[2] : 0;
        int64_t p = 1, q = 1;
        while (p < x_end || q < y_end) {
            ws_union both;
            ws_union_block(&both, x, p, x_end, x_shift, y, q, y_end, y_shift);
            double in_x[WS_UNION_BLOCK];
            int64_t in_y[WS_UNION_BLOCK];
            ws_spread_f64(in_x, of_x + p - 1, both.x, both.n, 0.0);
            ws_spread_i64(in_y, of_y + q - 1, both.y, both.n, 0);
            for (int64_t k = 0; k < both.n; k++, count++) {
                found[3 * count] = both.at[k];
                found[3 * count + 1] = (int32_t)in_x[k];
                found[3 * count + 2] = (int32_t)in_y[k];
            }
            p += both.in_x;
            q += both.in_y;
        }
        fwrite(&count, sizeof count, 1, stdout);
        fwrite(found, 3 * sizeof *found, (size_t)count, stdout);
    }
    return 0;
}
