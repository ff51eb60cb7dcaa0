// Reads lists from the standard input, in turns: their lengths n and k, a shift, and the indices; all 32 bits wide.
// Writes for each two lists how many pairs they have, the pairs of entries, and whether a cursor is at its end.
//
// Each list ends where memory ends that may be read, or begins where such memory begins.
#include "lists.h"
#include "intersection.h"

int main(void) {
    int32_t about[3], count = 0;
    static int32_t pairs[2 << 18];
    for (int turn = 0; fread(about, sizeof about, 1, stdin) == 1; turn++, count = 0) {
        const int64_t x_end = about[0] + 1, y_end = about[1] + 1;
        const int32_t *x = list(about[0], turn % 2), *y = list(about[1], turn % 2);
        ws_matches meeting = {0};
        int64_t p = 1, q = 1;
        while (ws_next_pair(&meeting, x, &p, x_end, y, &q, y_end, about[2])) {
            pairs[2 * count] = (int32_t)p++;
            pairs[2 * count++ + 1] = (int32_t)q++;
        }
        const int32_t ended = p >= x_end || q >= y_end;
        fwrite(&count, sizeof count, 1, stdout);
        fwrite(pairs, 2 * sizeof *pairs, (size_t)count, stdout);
        fwrite(&ended, sizeof ended, 1, stdout);
    }
    return 0;
}
