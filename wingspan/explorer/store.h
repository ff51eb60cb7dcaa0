// The states of a search, packed, and found by what they are.
//
// A state is a list of locals, one for each task in preorder, and the values of cells. Each position of the list and
// each cell is a *field*; what it has held so far has codes, from 0 for no task, or the value at the start. A state is
// the codes of its fields, in as many bits as they need. A field that runs out of codes gets as many bits again as it
// has, behind all others: in the states before, these are 0, as all that is missing at the end. So no state is ever
// packed anew.
//
// Threads may seek states at the same time, and *claim* those that are not there. A claim has a number behind those of
// all states. Its words are where its thread has them, until one thread, after all others, makes it a state or drops it.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "maps.h"

namespace tables {

// Let memory consist of huge pages, if the system likes: fewer accesses at random must ask where their page is.
inline void advise_huge_pages(void *begin, size_t bytes) {
#ifdef __linux__
    constexpr size_t PAGE = 4096;
    uintptr_t from = (uintptr_t(begin) + PAGE - 1) / PAGE * PAGE, to = (uintptr_t(begin) + bytes) / PAGE * PAGE;
    if (bytes >= size_t(4) << 20) madvise(reinterpret_cast<void *>(from), to - from, MADV_HUGEPAGE);
#else
    (void)begin, (void)bytes;
#endif
}

struct Free {
    void operator()(u32 *memory) const { std::free(memory); }
};

// An array that grows in place where the system can do that; its room takes no memory before it is used.
class Words {
    std::unique_ptr<u32, Free> data;
    size_t room = 0;

  public:
    size_t size = 0;

    const u32 *operator+(size_t at) const { return data.get() + at; }

    // Have room for so many words more.
    void reserve(size_t count) {
        if (size + count > room) {
            size_t more = 2 * room + count + 64;
            void *moved = std::realloc(data.get(), more * sizeof(u32));
            if (!moved) throw std::bad_alloc();
            data.release();
            data.reset(static_cast<u32 *>(moved)), room = more;
            advise_huge_pages(moved, more * sizeof(u32));
        }
    }

    // Append so many words, which are still to be written.
    u32 *append(size_t count) {
        reserve(count);
        size += count;
        return data.get() + size - count;
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
        Shared<u32> contents;  // by code
        Shared<u32> pieces;
        unsigned bits = 0;
    };
    struct Stretch {  // nodes with equally many words
        u32 node;
        size_t begin, words;
    };

    Shared<Field> fields;
    Shared<u32> of_position, of_slot;  // NONE if there was never anything but at the start
    Shared<Piece> pieces;
    PairMap codes;  // (field, content): code
    size_t bits = 0;
    Words text;
    Shared<Stretch> stretches;
    std::unique_ptr<u32, Free> slots;  // the numbers of nodes and claims, with bits of the hash above them
    unsigned shift = 5;                // the bits of a slot that are the number
    size_t size = 0, used = 0;         // the number of slots, and of those that are not NONE
    u32 claims = NONE;                 // the number of the first claim
    const u32 *claimed = nullptr;      // their words
    size_t claimed_words = 0;          // and how many each has

    u32 tag(u64 hash) const { return u32(u64(u32(hash >> 32)) << shift); }

    u32 read(size_t slot) const { return __atomic_load_n(slots.get() + slot, __ATOMIC_ACQUIRE); }

    bool replace(size_t slot, u32 &old, u32 with) {
        return __atomic_compare_exchange_n(slots.get() + slot, &old, with, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }

    const u32 *words_of(u32 node) const {
        const Stretch &in = stretch_of(node);
        return text + (in.begin + (node - in.node) * in.words);
    }

    const Stretch &stretch_of(u32 node) const {
        size_t k = stretches.size() - 1;
        while (stretches[k].node > node) k--;
        return stretches[k];
    }

    bool is(u32 number, const u32 *words, size_t count) const {
        if (number >= claims)
            return equal(claimed + (number - claims) * claimed_words, claimed_words, words, count);
        return equal(words_of(number), stretch_of(number).words, words, count);
    }

    // The slot of the state with these words and their hash, or of the claim to it, or the one that is free for it.
    size_t seek(const u32 *words, size_t count, u64 hash) const {
        u32 low = u32(size - 1), own = tag(hash), there;
        size_t k = hash & low;
        for (; (there = read(k)) != NONE; k = (k + 1) & low)
            if ((there & ~low) == own && is(there & low, words, count)) break;
        return k;
    }

    // Let a field have a code for a content.
    void extend(Shared<u32> &of, size_t which, u32 content, u32 at_start) {
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

    bool set(std::vector<u32> &words, const Shared<u32> &of, size_t which, u32 content) const {
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

  public:
    u32 nodes = 0;

    Store() { grow(); }

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

    // The number of the state with these words and their hash; NONE if there is none, or only a claim to it.
    u32 find(const u32 *words, size_t count, u64 hash) const {
        u32 there = read(seek(words, count, hash)), number = there & u32(size - 1);
        return there != NONE && number < claims ? number : NONE;
    }

    // Have the memory at hand that the search for a state begins with; and then the words to which that leads.
    void prefetch(u64 hash) const { __builtin_prefetch(slots.get() + (hash & (size - 1))); }
    void prefetch_words(u64 hash) const {
        u32 low = u32(size - 1), there = read(hash & low);
        if (there != NONE && (there & ~low) == tag(hash) && (there & low) < claims)
            __builtin_prefetch(words_of(there & low));
    }

    // Let a state be packed that has something that no state has had.
    void extend(const std::vector<u32> &tasks, const std::vector<u32> &cells, const std::vector<u32> &first) {
        for (size_t k = 0; k < tasks.size(); k++) extend(of_position, k, tasks[k], NONE);
        for (size_t k = 0; k < cells.size(); k++)
            if (cells[k] != first[k]) extend(of_slot, k, cells[k], first[k]);
    }

    // Add a state that is not there. The place of the claim to it, if there was one; NONE if not.
    u32 add(std::vector<u32> &words, u64 hash) {
        words.resize(width(), 0);
        if (claims == NONE && 8 * (used + 1) > 7 * size) grow(), place(0, nodes);
        size_t slot = seek(words.data(), words.size(), hash);
        u32 there = read(slot);
        used += there == NONE;
        memcpy(append(1), words.data(), words.size() * sizeof(u32));
        number(slot, hash, nodes - 1);
        return there == NONE ? NONE : (there & u32(size - 1)) - claims;
    }

    // ------------------------------------------------------------------------------------------------ several threads

    // Whether more slots are needed for so many claims, each of which may become a state.
    bool is_small(size_t count) const { return 8 * (used + count) > 7 * size || nodes + 2 * count >= size; }

    // Whether too few slots are left to go on without more.
    bool is_full() const { return 16 * used > 15 * size; }

    // Have twice the slots, in which all states are to be placed.
    void grow() {
        size_t more = size ? 2 * size : 64;
        u32 *memory = static_cast<u32 *>(malloc(more * sizeof(u32)));
        if (!memory) throw std::bad_alloc();
        advise_huge_pages(memory, more * sizeof(u32));
        slots.reset(memory), size = more, used = nodes, shift++;
        memset(memory, -1, size * sizeof(u32));
    }

    // Place some states in slots; threads may place others at the same time.
    void place(u32 from, u32 to) {
        u64 hashes[64];  // of some nodes, whose slots are fetched meanwhile
        for (u32 begin = from; begin < to; begin += 64) {
            u32 count = to - begin < 64 ? to - begin : 64;
            for (u32 k = 0; k < count; k++) {
                hashes[k] = hash(words_of(begin + k), stretch_of(begin + k).words);
                prefetch(hashes[k]);
            }
            for (u32 k = 0; k < count; k++) {
                u32 there = NONE;
                for (size_t slot = hashes[k] & (size - 1); !replace(slot, there, tag(hashes[k]) | (begin + k));)
                    slot = (slot + 1) & (size - 1), there = NONE;
            }
        }
    }

    // Allow claims: these are the words of up to `most`, each as many as states have now.
    void open(const u32 *words, size_t most) { claims = nodes + u32(most), claimed = words, claimed_words = width(); }

    // No claim is left but those that have been numbered or dropped; so many there were.
    void count_claims(size_t count) { used += count; }
    void close() { claims = NONE; }

    struct Found {
        u32 slot, number, place;  // the number of a state; or NONE, and the place of the claim to it among the words
    };

    // The state with the words at a place and their hash, or the claim to it: the one that is made now if there is none.
    Found find_or_claim(size_t place, u64 hash) {
        u32 low = u32(size - 1), own = tag(hash);
        const u32 *words = claimed + place * claimed_words;
        for (size_t k = hash & low;; k = (k + 1) & low) {
            u32 there = read(k);
            if (there == NONE && replace(k, there, own | (claims + u32(place)))) return {u32(k), NONE, u32(place)};
            if ((there & ~low) != own || !is(there & low, words, claimed_words)) continue;
            u32 number = there & low;
            return number < claims ? Found{u32(k), number, NONE} : Found{u32(k), NONE, number - claims};
        }
    }

    // Have room for so many states more, so that `append` does not fail.
    void reserve(size_t count) {
        stretches.reserve(stretches.size() + 1);
        text.reserve(count * width());
    }

    // Add states, whose words are still to be written, and whose slots are to be numbered: where the words of the first are.
    u32 *append(u32 count) {
        if (stretches.empty() || stretches.back().words != width()) stretches.push_back({nodes, text.size, width()});
        nodes += count;
        return text.append(count * width());
    }

    // Let a slot be that of a node.
    void number(size_t slot, u64 hash, u32 node) {
        __atomic_store_n(slots.get() + slot, tag(hash) | node, __ATOMIC_RELEASE);
    }

    // Let a slot be that of no claim. It is not free, as others behind it would not be found: it is one more of node 0.
    void drop(size_t slot) { number(slot, 0, 0); }

    // Drop all claims, wherever they are, and however many.
    void drop_claims() {
        for (size_t slot = 0; slot < size; slot++)
            if (u32 there = read(slot); there != NONE && (there & u32(size - 1)) >= claims) drop(slot), used++;
        close();
    }

    size_t bytes() const { return text.size * sizeof(u32) + size * sizeof(u32) + codes.bytes(); }
};

}  // namespace tables
