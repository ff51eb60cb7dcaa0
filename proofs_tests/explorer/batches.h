// Has a batch fail at its first allocation, then at the second one and so on, until one succeeds. Each time one thread
// then adds the states that the batch has claimed, and many others, and numbers them as if there had been no batch.
// Writes how many batches have failed.
#pragma once

#include <atomic>
#include <cstdio>
#include <new>

#include <unistd.h>

#include "parallel.h"

static std::atomic<long> left{0};  // the number of allocations up to the one that fails; none fails if it is not above 0

void *operator new(size_t size) {
    if (left > 0 && --left == 0) throw std::bad_alloc();
    if (void *memory = malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }

constexpr tables::u32 NODES = 40, MANY = 400;  // of the batch; and of all that are added

// One task that goes from local 2k to local 2k + 1, and node k where it is at 2k. Whether no allocation failed.
static bool attempt(long fail) {
    WingspanMove moves[64];
    WingspanMenu menu[64] = {};
    int32_t slots[64], target[NODES];
    WingspanNode node[NODES] = {};
    std::fill_n(slots, 64, -1), std::fill_n(target, NODES, -1);
    WingspanMenus menus = {moves, menu, slots, 0, 64, 64, 64};
    moves[0] = {0, 0, -1}, menu[1].begin = 1;
    wingspan_complete_menu(&menus);

    tables::Store store;
    tables::Walk walk;
    walk.store = &store, walk.menus = &menus;
    for (tables::u32 k = 0; k < 2 * MANY; k++) {
        walk.locals.push_back({0, false, k | tables::ENTRY});
        walk.entries.push_back({tables::STEP, true, 0, {}, {k + 1}});
        store.extend({k}, {}, {});
    }
    auto add = [&](tables::u32 local) {
        walk.here = {local};
        if (walk.find() == tables::NONE) walk.add();
        return walk.find();
    };
    for (tables::u32 k = 0; k < NODES; k++) node[k].first = k, add(2 * k);

    tables::Batch batch(2);
    batch.set_graph(node, target);
    bool done = true;
    left = fail;
    try {
        batch.compute(walk, 1, 0, NODES);
    } catch (const std::bad_alloc &) {
        done = false;
    }
    left = 0;
    if (done) batch.close();
    for (tables::u32 k = 0; k < MANY; k++)
        if (add(2 * k + 1) != NODES + k) exit(1);
    return done;
}

static int fail_batches() {
    alarm(60);  // without room for one more state, a store is searched without end
    long fail = 1;
    while (!attempt(fail)) fail++;
    printf("%ld", fail - 1);
    return 0;
}
