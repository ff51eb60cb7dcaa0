/* Lists from the standard input, at the edges of memory that may be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((size_t)1 << 20)

static int32_t *list(int32_t n, int last) {
    static char *rooms[4];
    static int next;
    char **room = &rooms[next++ % 4];
    if (!*room) {
        *room = mmap(NULL, 3 * ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (*room == MAP_FAILED || mprotect(*room + ROOM, ROOM, PROT_READ | PROT_WRITE)) exit(2);
    }
    memset(*room + ROOM, 0, ROOM);
    int32_t *x = (int32_t *)(last ? *room + 2 * ROOM : *room + ROOM) - (last ? n : 0);
    if (fread(x, sizeof *x, (size_t)n, stdin) != (size_t)n) exit(2);
    return x;
}
