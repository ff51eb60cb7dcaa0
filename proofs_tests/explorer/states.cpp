// Reads numbers of 32 bits: how many cells there are, and their values at the start; then states, each the number of
// its tasks, their locals, and the values of the cells. Writes the number that a store has for each state; then all of
// its states in their order, each like the input.
//
// Arguments: "equal" if all hashes are to be equal. Then there may be no more states than a store has room for without
// new hashes. "claimed" if three threads are to claim the states, some dozens at a time. Of these, each third is left to
// one thread; the last ones are dropped, and come next. "batches" alone: nothing is read, and batches fail.
#include <algorithm>
#include <cstdio>

#include <string>
#include <thread>

#include "batches.h"
#include "store.h"

using Numbers = std::vector<tables::u32>;

static bool read(Numbers &into, size_t count) {
    into.resize(count);
    return !count || fread(into.data(), sizeof into[0], count, stdin) == count;
}

static void write(const Numbers &numbers) {
    if (!numbers.empty()) fwrite(numbers.data(), sizeof numbers[0], numbers.size(), stdout);
}

struct State {
    Numbers tasks, cells, words;
    tables::u64 hash;
    bool packed;
    tables::Store::Found found;
    tables::u32 number;  // of the state that it claims
};

static tables::Store store;
static tables::Image image;  // of the last state
static Numbers first;
static bool equal = false;

static void pack(State &state) {
    state.packed = store.pack(state.tasks, state.cells, first, image, state.words);
    state.hash = equal ? 7 : tables::Store::hash(state.words.data(), state.words.size());
}

// The number of a state, which is added if it is not there, and the place of the claim to it.
static tables::u32 find(State &state, tables::u32 &claim) {
    pack(state);
    if (!state.packed) {
        store.extend(state.tasks, state.cells, first);
        pack(state);
        if (!state.packed) exit(1);
    } else {
        Numbers &words = state.words;
        tables::u32 node = store.find(words.data(), words.size(), state.hash);
        while (!words.empty() && !words.back()) words.pop_back();
        if (store.find(words.data(), words.size(), state.hash) != node) exit(2);
        if (node != tables::NONE) return node;
    }
    claim = store.add(state.words, state.hash);
    return store.nodes - 1;
}

static void claim(std::vector<State> &states) {
    constexpr size_t MANY = 48, DROPPED = 16;
    Numbers keys, numbers;
    for (size_t begin = 0, end; begin < states.size(); begin = end) {
        size_t last = std::min(begin + MANY, states.size());
        end = last == states.size() ? last : last - DROPPED;
        for (size_t k = begin; k < last; k++)
            if (k % 5) store.extend(states[k].tasks, states[k].cells, first);  // what others have is known to one thread
        size_t width = store.width();
        while (store.is_small(MANY)) store.grow(), store.place(0, store.nodes);
        keys.assign(MANY * width, 0);
        for (size_t k = begin; k < last; k++) {
            pack(states[k]);
            states[k].packed &= k % 3 != 0, states[k].number = tables::NONE;
            if (states[k].packed) std::copy(states[k].words.begin(), states[k].words.end(), &keys[(k - begin) * width]);
        }
        store.open(keys.data(), MANY);
        std::vector<std::thread> threads;
        for (size_t who = 0; who < 3; who++)
            threads.emplace_back([&, who] {
                for (size_t k = begin + who; k < last; k += 3)
                    if (states[k].packed) states[k].found = store.find_or_claim(k - begin, states[k].hash);
            });
        for (std::thread &each : threads) each.join();
        size_t count = 0;
        for (size_t k = begin; k < last; k++)
            count += states[k].packed && states[k].found.number == tables::NONE && states[k].found.place == k - begin;
        store.count_claims(count);
        for (size_t k = begin; k < end; k++) {
            State &state = states[k];
            if (!state.packed) {
                tables::u32 fulfilled = tables::NONE, node = find(state, fulfilled);
                if (fulfilled != tables::NONE) states[begin + fulfilled].number = node;
                numbers.push_back(node);
            } else if (state.found.number != tables::NONE) {
                numbers.push_back(state.found.number);
            } else {
                State &same = states[begin + state.found.place];
                if (same.number == tables::NONE) {
                    same.number = store.nodes;
                    tables::u32 *words = store.append(1);
                    std::fill_n(words, store.width(), 0);
                    std::copy_n(&keys[state.found.place * width], width, words);
                    store.number(same.found.slot, same.hash, same.number);
                }
                numbers.push_back(same.number);
            }
        }
        for (size_t k = begin; k < last; k++)
            if (states[k].packed && states[k].found.number == tables::NONE && states[k].found.place == k - begin &&
                states[k].number == tables::NONE)
                store.drop(states[k].found.slot);
        store.close();
    }
    write(numbers);
}

int main(int count, char **arguments) {
    if (count == 2 && arguments[1] == std::string("batches")) return fail_batches();
    bool claimed = false;
    for (int k = 1; k < count; k++) {
        equal |= arguments[k] == std::string("equal");
        claimed |= arguments[k] == std::string("claimed");
    }
    Numbers number;
    std::vector<State> states;
    if (!read(number, 1) || !read(first, number[0])) return 1;
    while (read(number, 1)) {
        states.emplace_back();
        if (!read(states.back().tasks, number[0]) || !read(states.back().cells, first.size())) return 1;
    }
    if (claimed) {
        claim(states);
    } else {
        for (State &state : states) {
            tables::u32 fulfilled, node = find(state, fulfilled);
            store.load(node, first, image);
            write({node});
        }
    }
    for (tables::u32 node = 0; node < store.nodes; node++) {
        store.load(node, first, image);
        write({tables::u32(image.tasks.size())}), write(image.tasks), write(image.cells);
    }
    return 0;
}
