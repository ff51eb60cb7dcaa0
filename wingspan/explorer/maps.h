// Numbers, and maps between them, that the tables of local steps and the states of a search are made of.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

namespace tables {

// Memory whose cache lines, and the pairs in which they are fetched, have nothing else. What all threads read must not
// lie beside what one of them writes with each step: each write would take the line from the others.
template <class T> struct Apart {
    static constexpr std::align_val_t LINES{128};
    using value_type = T;

    Apart() = default;
    template <class U> Apart(const Apart<U> &) {}

    T *allocate(size_t count) {
        size_t bytes = (count * sizeof(T) + size_t(LINES) - 1) / size_t(LINES) * size_t(LINES);
        return static_cast<T *>(::operator new(bytes, LINES));
    }
    void deallocate(T *memory, size_t) { ::operator delete(memory, LINES); }
    template <class U> bool operator==(const Apart<U> &) const { return true; }
    template <class U> bool operator!=(const Apart<U> &) const { return false; }
};

template <class T> using Shared = std::vector<T, Apart<T>>;

using u32 = uint32_t;
using u64 = uint64_t;
constexpr u32 NONE = UINT32_MAX;

inline u64 mixed(u64 x) {  // the finalizer of splitmix64
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A map from pairs of numbers to numbers, by open addressing.
class PairMap {
    Shared<u64> keys;
    Shared<u32> values;
    size_t used = 0;

    size_t at(u64 key) const {
        size_t k = mixed(key) & (keys.size() - 1);
        while (values[k] != NONE && keys[k] != key) k = (k + 1) & (keys.size() - 1);
        return k;
    }

  public:
    PairMap() : keys(64), values(64, NONE) {}

    u32 get(u32 one, u32 other) const { return values[at(u64(one) << 32 | other)]; }

    void put(u32 one, u32 other, u32 value) {
        if (4 * (used + 1) > 3 * keys.size()) {
            Shared<u64> old(2 * keys.size());
            Shared<u32> kept(2 * values.size(), NONE);
            old.swap(keys), kept.swap(values);
            for (size_t k = 0; k < old.size(); k++)
                if (kept[k] != NONE) {
                    size_t to = at(old[k]);
                    keys[to] = old[k], values[to] = kept[k];
                }
        }
        size_t k = at(u64(one) << 32 | other);
        used += values[k] == NONE;
        keys[k] = u64(one) << 32 | other, values[k] = value;
    }

    size_t bytes() const { return keys.size() * (sizeof(u64) + sizeof(u32)); }
};

}  // namespace tables
