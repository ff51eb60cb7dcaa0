// Reads numbers of 32 bits: how many cells there are, and their values at the start; then states, each the number of
// its tasks, their locals, and the values of the cells. Writes the number that a store has for each state; then all of
// its states in their order, each like the input.
//
// With an argument, all hashes are equal. Then there may be no more states than a store has room for without new hashes.
#include <cstdio>

#include "store.h"

using Numbers = std::vector<tables::u32>;

static bool read(Numbers &into, size_t count) {
    into.resize(count);
    return fread(into.data(), sizeof into[0], count, stdin) == count;
}

static void write(const Numbers &numbers) { fwrite(numbers.data(), sizeof numbers[0], numbers.size(), stdout); }

int main(int arguments, char **) {
    tables::Store store;
    tables::Image image;  // of the last state
    Numbers count, first, tasks, cells, words;
    if (!read(count, 1) || !read(first, count[0])) return 1;
    while (read(count, 1)) {
        if (!read(tasks, count[0]) || !read(cells, first.size())) return 1;
        bool packed = store.pack(tasks, cells, first, image, words);
        if (!packed) {
            store.extend(tasks, cells, first);
            if (!store.pack(tasks, cells, first, image, words)) return 1;
        }
        tables::u64 hash = arguments > 1 ? 7 : tables::Store::hash(words.data(), words.size());
        tables::u32 node = packed ? store.find(words.data(), words.size(), hash) : tables::NONE;
        while (!words.empty() && !words.back()) words.pop_back();
        if (packed && store.find(words.data(), words.size(), hash) != node) return 2;
        if (node == tables::NONE) node = store.nodes, store.add(words, hash);
        store.load(node, first, image);
        write({node});
    }
    for (tables::u32 node = 0; node < store.nodes; node++) {
        store.load(node, first, image);
        write({tables::u32(image.tasks.size())}), write(image.tasks), write(image.cells);
    }
    return 0;
}
