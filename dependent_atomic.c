// Printed by wingspan. It includes the headers beside it, and is compiled by
// cc -std=gnu11 -O3 -march=native -fwrapv -ffp-contract=off -pthread -shared -fPIC dependent_atomic.c -lm -o dependent_atomic.so
#include "session.h"

static const ws_shape shapes_0[] = {
    {WS_I64, false, 5, true}, // c: val, level 1 Atomic
};

struct region {
    ws_instance *root_c;
};

static void region(ws_task *t, void *frame) {
    struct region *const f = frame;
    (void)t, (void)f;
    ws_instance *root_c = f->root_c;
    const int64_t thread = t->number;
    // 6 │ for i = parallel(1:4)
    const int64_t first = 1 + ((thread - 1) * 2);
    const int64_t last = (1 + (thread * 2)) - 1;
    if (first <= last) {
        int64_t i = first;
        while (i <= last) {
            // 7 │ c[i - i % 2 + 1] += 1
            int64_t quotient;
            WS_DEFINED(ws_mod_i64(i, 2, &quotient), 1, {.i = i}, {.i = 2});
            int64_t difference;
            WS_DEFINED(ws_sub_i64(i, quotient, &difference), 2, {.i = i}, {.i = quotient});
            int64_t sum;
            WS_DEFINED(ws_add_i64(difference, 1, &sum), 3, {.i = difference}, {.i = 1});
            WS_TRY(ws_atomic_i64(t, &root_c->buffers[0], sum, WS_ADD, 1), 4);
            i = i + 1;
        }
    }
}

static void root(ws_task *t, void *frame) {
    ws_value *const values = frame;
    (void)t, (void)values;
    ws_instance *const root_c = ws_root(t, 0);
    WS_TRY(root_c, 0);
    int64_t *const root_c_val = WS_CELLS(root_c, 0);
    WS_ALL(root_c, 0, 5, 0);
    // 5 │ c .= 0
    int64_t q = 1;
    while (q <= 5) {
        root_c_val[q - 1] = 0;
        q = q + 1;
    }
    // 6 │ for i = parallel(1:4)
    struct region region_shared = {.root_c = root_c};
    WS_TRY(ws_par(t, 2, region, &region_shared, 0), 5);
    values[0].i = 0;
}

static const ws_group groups[] = {
    {.parent = -1, .keys = 0, .buffers = 1, .shapes = shapes_0},
};

static const ws_title titles[] = {
    {"c", "", (const char *[]){"val"}, "i", true},
};

static const ws_site sites[] = {
    {"", "", ""},
    {"/work/wt/cache/examples/dependent_atomic.ws:7:11", "% is not defined for {0} and {1}", "ii"},
    {"/work/wt/cache/examples/dependent_atomic.ws:7:7", "- is not defined for {0} and {1}", "ii"},
    {"/work/wt/cache/examples/dependent_atomic.ws:7:7", "+ is not defined for {0} and {1}", "ii"},
    {"/work/wt/cache/examples/dependent_atomic.ws:7:5", "+ is not defined for {0} and {1}", "II"},
    {"/work/wt/cache/examples/dependent_atomic.ws:6:1", "", ""},
};

static const char *const variables[] = {NULL};
const ws_program ws_printed = {groups, titles, 1, sites, root, variables, "i", UINT64_C(0x2c01b5867e813a45)};
