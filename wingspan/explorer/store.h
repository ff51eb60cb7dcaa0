// The states of a search, packed, and found by what they are.
//
// A state is a list of locals, one for each task in preorder, and the values of cells. Each position of the list and
// each cell is a *field*; what it has held so far has codes, from 0 for no task, or the value at the start. A state is
// the codes of its fields, in as many bits as they need. A field that runs out of codes gets as many bits again as it
// has, behind all others: in the states before, these are 0, as all that is missing at the end. So no state is ever
// packed anew.
#pragma once

#include <cstdlib>
#include <new>

#include "maps.h"

namespace tables {

// An array that grows in place where the system can do that; its room takes no memory before it is used.
class Words {
    u32 *data = nullptr;
    size_t room = 0;

  public:
    size_t size = 0;

    Words() = default;
    Words(const Words &) = delete;
    Words &operator=(const Words &) = delete;
    ~Words() { std::free(data); }

    const u32 *operator+(size_t at) const { return data + at; }

    void append(const u32 *from, size_t count) {
        if (size + count > room) {
            size_t more = 2 * room + count + 64;
            void *moved = std::realloc(data, more * sizeof(u32));
            if (!moved) throw std::bad_alloc();
            data = static_cast<u32 *>(moved), room = more;
        }
        if (count) memcpy(data + size, from, count * sizeof(u32));
        size += count;
    }
};

// A state, unpacked and packed.
struct Image {
    std::vector<u32> tasks, cells, words;
    u32 node = NONE;
    std::vector<u32> codes;  // while it is unpacked
};

class Store {
    struct Piece {  // some bits of a field's code
        u32 field, word;
        uint8_t at, bits, from;
    };
    struct Field {
        std::vector<u32> contents;  // by code
        std::vector<u32> pieces;
        unsigned bits = 0;
    };
    struct Stretch {  // nodes with equally many words
        u32 node;
        size_t begin, words;
    };

    std::vector<Field> fields;
    std::vector<u32> of_position, of_slot;  // NONE if there was never anything but at the start
    std::vector<Piece> pieces;
    PairMap codes;  // (field, content): code
    size_t bits = 0;
    Words text;
    std::vector<Stretch> stretches;
    std::vector<u32> slots = std::vector<u32>(64, NONE);  // node numbers, with bits of the hash above them
    unsigned shift = 6;  // the bits of a slot that number the node

    u32 tag(u64 hash) const { return u32(u64(u32(hash >> 32)) << shift); }

    const Stretch &stretch_of(u32 node) const {
        size_t k = stretches.size() - 1;
        while (stretches[k].node > node) k--;
        return stretches[k];
    }

    bool is(u32 node, const u32 *words, size_t count) const {
        const Stretch &in = stretch_of(node);
        return equal(text + (in.begin + (node - in.node) * in.words), in.words, words, count);
    }

    // Let a field have a code for a content.
    void extend(std::vector<u32> &of, size_t which, u32 content, u32 at_start) {
        if (of.size() <= which) of.resize(which + 1, NONE);
        if (of[which] == NONE) {
            of[which] = u32(fields.size());
            fields.emplace_back();
            codes.put(of[which], at_start, 0);
            fields.back().contents.push_back(at_start);
        }
        u32 number = of[which];
        Field &field = fields[number];
        if (codes.get(number, content) != NONE) return;
        u32 code = u32(field.contents.size());
        codes.put(number, content, code);
        field.contents.push_back(content);
        if (code >> field.bits == 0) return;
        for (unsigned wanted = field.bits ? field.bits : 1; wanted;) {
            unsigned rest = 32 - bits % 32, some = wanted < rest ? wanted : rest;
            field.pieces.push_back(u32(pieces.size()));
            pieces.push_back({number, u32(bits / 32), uint8_t(bits % 32), uint8_t(some), uint8_t(field.bits)});
            bits += some, field.bits += some, wanted -= some;
        }
    }

    bool set(std::vector<u32> &words, const std::vector<u32> &of, size_t which, u32 content) const {
        if (which >= of.size() || of[which] == NONE) return false;
        u32 code = codes.get(of[which], content);
        if (code == NONE) return false;
        for (u32 each : fields[of[which]].pieces) {
            const Piece &piece = pieces[each];
            u32 mask = u32((u64(1) << piece.bits) - 1);
            words[piece.word] = (words[piece.word] & ~(mask << piece.at)) | ((code >> piece.from & mask) << piece.at);
        }
        return true;
    }

    void rehash() {
        size_t size = 2 * slots.size();
        std::vector<u32>().swap(slots);
        slots.assign(size, NONE), shift++;
        std::vector<u64> hashes;  // of some nodes, whose slots are fetched meanwhile
        for (const Stretch &in : stretches) {
            u32 end = &in == &stretches.back() ? nodes : (&in + 1)->node;
            for (u32 node = in.node; node < end; node += u32(hashes.size())) {
                hashes.clear();
                for (u32 k = node; k < end && k < node + 64; k++) {
                    hashes.push_back(hash(text + (in.begin + (k - in.node) * in.words), in.words));
                    prefetch(hashes.back());
                }
                for (u32 k = 0; k < hashes.size(); k++) place(node + k, hashes[k]);
            }
        }
    }

    void place(u32 node, u64 hash) {
        size_t mask = slots.size() - 1, k = hash & mask;
        while (slots[k] != NONE) k = (k + 1) & mask;
        slots[k] = tag(hash) | node;
    }

  public:
    u32 nodes = 0;

    // Words that are 0 at the end do not count, here and below: states that were added before have fewer.
    static u64 hash(const u32 *words, size_t count) {
        u64 h = 0;
        for (size_t k = 0; k < count; k++)
            if (words[k]) h ^= mixed(u64(k + 1) << 32 | words[k]);
        return mixed(h);
    }

    static bool equal(const u32 *one, size_t count, const u32 *other, size_t others) {
        size_t both = count < others ? count : others;
        if (memcmp(one, other, both * sizeof(u32))) return false;
        for (size_t k = both; k < count; k++)
            if (one[k]) return false;
        for (size_t k = both; k < others; k++)
            if (other[k]) return false;
        return true;
    }

    // The number of words of a state that is packed now.
    size_t width() const { return (bits + 31) / 32; }

    // Unpack a state; `first` is the value of each cell at the start.
    void load(u32 node, const std::vector<u32> &first, Image &image) const {
        if (image.node == node && image.cells.size() == first.size()) return;
        const Stretch &in = stretch_of(node);
        const u32 *there = text + (in.begin + (node - in.node) * in.words);
        image.words.assign(there, there + in.words);
        image.node = node;
        unpack(first, image);
    }

    // Unpack the words of an image.
    void unpack(const std::vector<u32> &first, Image &image) const {
        std::vector<u32> &code = image.codes;
        code.assign(fields.size(), 0);
        for (const Piece &piece : pieces)
            if (piece.word < image.words.size()) {
                u32 mask = u32((u64(1) << piece.bits) - 1);
                code[piece.field] |= (image.words[piece.word] >> piece.at & mask) << piece.from;
            }
        image.tasks.clear();
        for (u32 field : of_position) {
            u32 content = field == NONE ? NONE : fields[field].contents[code[field]];
            if (content == NONE) break;
            image.tasks.push_back(content);
        }
        image.cells = first;
        for (size_t k = 0; k < of_slot.size(); k++)
            if (of_slot[k] != NONE) image.cells[k] = fields[of_slot[k]].contents[code[of_slot[k]]];
    }

    // Pack a state, given another. False if it has something that no state has had: then it is a new one.
    bool pack(const std::vector<u32> &tasks, const std::vector<u32> &cells, const std::vector<u32> &first,
              const Image &given, std::vector<u32> &words) const {
        words = given.words;
        words.resize(width(), 0);
        size_t most = tasks.size() > given.tasks.size() ? tasks.size() : given.tasks.size();
        for (size_t k = 0; k < most; k++) {
            u32 now = k < tasks.size() ? tasks[k] : NONE, then = k < given.tasks.size() ? given.tasks[k] : NONE;
            if (now != then && !set(words, of_position, k, now)) return false;
        }
        for (size_t k = 0; k < cells.size(); k++)
            if (cells[k] != (k < given.cells.size() ? given.cells[k] : first[k]) && !set(words, of_slot, k, cells[k]))
                return false;
        return true;
    }

    // The number of the state with these words and their hash; NONE if there is none.
    u32 find(const u32 *words, size_t count, u64 hash) const {
        u32 low = u32(slots.size() - 1), own = tag(hash);
        for (size_t k = hash & low; slots[k] != NONE; k = (k + 1) & low)
            if ((slots[k] & ~low) == own && is(slots[k] & low, words, count)) return slots[k] & low;
        return NONE;
    }

    // Have the memory at hand that `find` and `add` look at.
    void prefetch(u64 hash) const { __builtin_prefetch(&slots[hash & (slots.size() - 1)]); }

    // Let a state be packed that has something that no state has had.
    void extend(const std::vector<u32> &tasks, const std::vector<u32> &cells, const std::vector<u32> &first) {
        for (size_t k = 0; k < tasks.size(); k++) extend(of_position, k, tasks[k], NONE);
        for (size_t k = 0; k < cells.size(); k++)
            if (cells[k] != first[k]) extend(of_slot, k, cells[k], first[k]);
    }

    // Add a state that is not there.
    void add(std::vector<u32> &words, u64 hash) {
        words.resize(width(), 0);
        if (4 * (size_t(nodes) + 1) > 3 * slots.size()) rehash();
        if (stretches.empty() || stretches.back().words != words.size())
            stretches.push_back({nodes, text.size, words.size()});
        text.append(words.data(), words.size());
        place(nodes++, hash);
    }

    size_t bytes() const { return text.size * sizeof(u32) + slots.size() * sizeof(u32) + codes.bytes(); }
};

}  // namespace tables
