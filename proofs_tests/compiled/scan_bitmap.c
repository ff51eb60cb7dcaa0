// Reads words and what is before them from the standard input, 64 bits wide. Writes for each how many bits it has, and 66
// cells that held -7 before, of which all but the first and the last are room for the list of these bits.
#include <stdio.h>

#include "scan_bitmap.h"

int main(void) {
    int64_t given[2];
    while (fread(given, sizeof given, 1, stdin) == 1) {
        int32_t cells[67];
        for (int k = 0; k < 67; k++) cells[k] = -7;
        cells[0] = (int32_t)ws_scan_word(cells + 2, given[0], given[1]);
        fwrite(cells, sizeof cells, 1, stdout);
    }
    return 0;
}
