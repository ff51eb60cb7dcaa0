// Tables of local steps, and the walk over global states that they make possible: wingspan/explorer/local.py.
//
// A global state is a list of locals, one for each task in preorder, and the values of cells. Locals, cells and values
// are numbers. The number of a value is 0 if the cell is absent. A step of a task depends on its local and on the cells
// that it reads, one after the other: so what it does stands at a leaf of a tree of tests, one tree for each local.
#pragma once

#include <cstring>
#include <stdexcept>
#include <vector>

#include "graph.h"
#include "store.h"

namespace tables {

// Lists of numbers, each kept once.
class Lists {
    std::vector<u32> text;
    std::vector<u64> begin{0};
    std::vector<u32> slots = std::vector<u32>(64, NONE);

    static u64 hash(const u32 *list, size_t count) {
        u64 h = count;
        for (size_t k = 0; k < count; k++) h = mixed(h ^ list[k]) + k;
        return h;
    }

    size_t at(const u32 *list, size_t count) const {
        size_t k = hash(list, count) & (slots.size() - 1);
        while (slots[k] != NONE) {
            u32 n = slots[k];
            if (size(n) == count && !memcmp(list, (*this)[n], count * sizeof(u32))) break;
            k = (k + 1) & (slots.size() - 1);
        }
        return k;
    }

  public:
    size_t count() const { return begin.size() - 1; }
    size_t size(u32 n) const { return begin[n + 1] - begin[n]; }
    const u32 *operator[](u32 n) const { return text.data() + begin[n]; }

    u32 get(const std::vector<u32> &list) const { return slots[at(list.data(), list.size())]; }

    u32 put(const std::vector<u32> &list) {
        if (4 * (count() + 1) > 3 * slots.size()) {
            slots.assign(2 * slots.size(), NONE);
            for (u32 n = 0; n < count(); n++) slots[at((*this)[n], size(n))] = n;
        }
        size_t k = at(list.data(), list.size());
        if (slots[k] == NONE) {
            slots[k] = u32(count());
            text.insert(text.end(), list.begin(), list.end());
            begin.push_back(text.size());
        }
        return slots[k];
    }

    size_t bytes() const { return text.capacity() * 4 + begin.capacity() * 8 + slots.size() * 4; }
};

enum Kind { STEP, STUCK, FAULTS };  // a step; a task that waits for a lock; a step that faults

struct Change {
    u32 slot, value;  // the cell there gets the value; if that is NONE, all cells of region `slot` become absent
};

struct Entry {
    Kind kind;
    bool visible;
    int act;
    std::vector<Change> changes;
    std::vector<u32> next;  // the task after the step and those that it spawns, in preorder
};

struct Local {
    u32 below;   // how many tasks it has spawned and waits for
    bool ended;
    u32 test;    // of its tree: a test, an entry if the sign bit is set, or NONE
};

constexpr u32 ENTRY = 0x80000000;

struct Choice {
    u32 slot, task, entry;
};

enum Missing { A_STEP, A_JOIN, A_TASK, AN_END };

class Walk {
  public:
    std::vector<Local> locals;
    std::vector<u32> tests;      // the cell that each reads
    PairMap branches;            // (test, value): as Local::test
    std::vector<Entry> entries;
    std::vector<u32> given;      // the value of each cell at the start
    std::vector<u32> slot;       // of each cell among those that some step writes; NONE if none does
    std::vector<u32> first;      // the value at the start of each cell that some step writes
    std::vector<std::vector<u32>> regions;  // slots of the cells that become absent together
    PairMap joins, children;     // (waiting local, number of the list of ended ones): local; (task, k): task
    Lists ends;
    Store *store = nullptr;      // of the nodes, by their numbers
    const WingspanMenus *menus = nullptr;  // of the nodes

    // the state at hand
    std::vector<u32> here, cells, task, parent;
    std::vector<u32> words;      // packed
    u64 hash = 0;                // of these
    u32 claim = NONE;            // the place of the claim to the state that was added last; NONE if there was none
    std::vector<Choice> choices;
    std::vector<WingspanMove> moves;  // of them, for `menus`
    std::vector<u32> above;      // the tasks above the one that stepped that went on
    u64 steps = 0;
    Missing missing = A_STEP;
    u32 lacking = 0, among = 0;  // the slot that lacks a step; or the slot and list of a join; or the task and k; or
                                 // the task that repeats invisible steps without end
    int (*supply)(void *) = nullptr;  // has the machine supply what is missing; -1 if it fails
    void *supplier = nullptr;

    void load(u32 node) {
        store->load(node, first, origin);
        here = origin.tasks, cells = origin.cells;
    }

    // Load a state that is not a node's, packed.
    void load(const u32 *state, size_t count) {
        origin.words.assign(state, state + count);
        origin.node = NONE;
        store->unpack(first, origin);
        here = origin.tasks, cells = origin.cells, steps = 0;
    }

    // Pack the state at hand. False if it has something that no state has had.
    bool pack() {
        packed = store->pack(here, cells, first, origin, words);
        if (packed) hash = Store::hash(words.data(), words.size());
        return packed;
    }

    // The number of the state at hand; NONE if it is new.
    u32 find() { return pack() ? store->find(words.data(), words.size(), hash) : NONE; }

    // The number of the menu that the choices are; NONE if there is none, or nodes with it are to be examined.
    u32 find_menu() {
        static constexpr int targets[] = {-1, -3, -2};  // UNKNOWN, BLOCKED and FAULT for a Kind
        moves.clear();
        for (const Choice &choice : choices) {
            const Entry &entry = entries[choice.entry];
            moves.push_back({int32_t(choice.task), entry.act, targets[entry.kind]});
        }
        int32_t menu = wingspan_find_menu(menus, moves.data(), u32(moves.size()));
        return menu >= 0 && menus->menu[menu].plain ? u32(menu) : NONE;
    }

    // Add the state at hand, which `find` did not find.
    void add() {
        if (!packed) {
            store->extend(here, cells, first);
            pack();
        }
        claim = store->add(words, hash);
    }

    // Name the tasks of the state at hand: those of the last one, if as many tasks are below each.
    bool name() {
        size_t count = here.size(), k = 0;
        if (shape.size() == count)
            while (k < count && shape[k] == locals[here[k]].below) k++;
        if (k == count && count) return true;
        task.resize(count), parent.resize(count);
        shape.clear();
        if (name_from(0, NONE, 0) == NONE) return false;
        for (u32 each : here) shape.push_back(locals[each].below);
        return true;
    }

    // The step that `who` takes next, then all invisible steps of its own. False if something is missing.
    bool advance(u32 who) {
        steps = 0, above.clear();
        if (!name()) return false;
        u32 slot = 0;
        while (slot < here.size() && (task[slot] != who || locals[here[slot]].below)) slot++;
        if (slot == here.size()) throw std::out_of_range("a task that has ended cannot step");
        u32 entry = lookup(slot);
        if (entry == NONE) return false;
        if (entries[entry].kind != STEP) throw std::out_of_range("a task that is blocked, or faults, cannot step");
        size_t size = here.size();
        return apply(slot, entry) && (here.size() != size || ahead(slot, who) != NONE);
    }

    // All invisible steps of all tasks; `choices` are their next steps then.
    bool settle(u32 who) {
        for (bool changed = true; changed;) {
            changed = false;
            choices.clear();
            if (!name()) return false;
            for (u32 slot = 0; slot < here.size(); slot++) {
                const Local &local = locals[here[slot]];
                if (local.below || local.ended) continue;
                u32 entry = lookup(slot);
                if (entry == NONE) return false;
                const Entry &e = entries[entry];
                if (e.kind != STEP || e.visible) {
                    choices.push_back({slot, task[slot], entry});
                    continue;
                }
                u32 by = task[slot];
                note(by, who);
                if (ahead(slot, by) == NONE) return false;
                changed = true;
                break;
            }
        }
        return true;
    }

    u32 value(u32 cell) const { return slot[cell] == NONE ? given[cell] : cells[slot[cell]]; }

    size_t bytes() const {
        return store->bytes() + branches.bytes();
    }

    // The slot of a cell, which some step writes from now on.
    u32 slot_of(u32 cell) {
        if (slot[cell] == NONE) slot[cell] = u32(first.size()), first.push_back(given[cell]);
        return slot[cell];
    }

    // What a local does if its reads give these values, one (cell, value) after the other. False if it read other cells before.
    bool enter(u32 local, const std::vector<u32> &reads, u32 entry) {
        u32 test = locals[local].test, last = NONE, seen = 0;
        auto set = [&](u32 to) { last == NONE ? void(locals[local].test = to) : branches.put(last, seen, to); };
        for (size_t k = 0; k < reads.size(); k += 2) {
            if (test == NONE) {
                test = u32(tests.size());
                tests.push_back(reads[k]);
                set(test);
            } else if (test & ENTRY || tests[test] != reads[k]) {
                return false;
            }
            last = test, seen = reads[k + 1];
            test = branches.get(last, seen);
        }
        if (test != NONE) return false;
        set(entry | ENTRY);
        return true;
    }

  private:
    Image origin;         // the state that was loaded last
    bool packed = false;  // whether `words` are the state at hand
    std::vector<u32> shape;  // how many tasks are below each in the state whose tasks were named last

    u32 name_from(u32 slot, u32 above, u32 k) {
        u32 named = above == NONE ? 0 : children.get(task[above], k);
        if (named == NONE) {
            if (!ask(A_TASK, task[above], k)) return NONE;
            named = children.get(task[above], k);
        }
        task[slot] = named, parent[slot] = above;
        u32 below = locals[here[slot]].below, next = slot + 1;
        for (u32 n = 1; n <= below; n++) {
            next = name_from(next, slot, n);
            if (next == NONE) return NONE;
        }
        return next;
    }

    // Ask the machine for what is missing. False if this walk cannot ask, or the machine fails.
    bool ask(Missing what, u32 where, u32 which = 0) {
        missing = what, lacking = where, among = which;
        if (!supply || supply(supplier) < 0) return false;
        cells.insert(cells.end(), first.begin() + cells.size(), first.end());  // the step may write to others
        return true;
    }

    u32 lookup(u32 slot) {
        for (;;) {
            u32 test = locals[here[slot]].test;
            while (test != NONE && !(test & ENTRY)) test = branches.get(test, value(tests[test]));
            if (test != NONE) return test & ~ENTRY;
            if (!ask(A_STEP, slot)) return NONE;
        }
    }

    // One step of the task at a slot. Then, if it was the last of its siblings to end, they join. False if that is missing.
    bool apply(u32 slot, u32 entry) {
        const Entry &e = entries[entry];
        for (const Change &change : e.changes) {
            if (change.value == NONE)
                for (u32 each : regions[change.slot]) cells[each] = 0;
            else
                cells[change.slot] = change.value;
        }
        here[slot] = e.next[0];
        if (e.next.size() > 1) here.insert(here.begin() + slot + 1, e.next.begin() + 1, e.next.end());
        return e.next.size() > 1 || !locals[here[slot]].ended || join(slot);
    }

    bool join(u32 slot) {
        u32 up = parent[slot];
        if (up == NONE) return true;
        std::vector<u32> gone;
        u32 below = locals[here[up]].below;
        for (u32 k = 1; k <= below; k++) {  // ended tasks have none below
            if (up + k >= here.size() || !locals[here[up + k]].ended) return true;
            gone.push_back(here[up + k]);
        }
        u32 list = ends.put(gone), joined = joins.get(here[up], list);
        if (joined == NONE) {
            if (!ask(A_JOIN, here[up], list)) return false;
            joined = joins.get(here[up], list);
        }
        here[up] = joined;
        here.erase(here.begin() + up + 1, here.begin() + up + 1 + below);
        return !locals[joined].ended || join(up);
    }

    // The invisible steps of the task at a slot, as long as it has some. NONE if something is missing.
    u32 ahead(u32 slot, u32 who) {
        u64 count = 0;
        std::vector<u32> anchor, held;
        while (slot < here.size() && !locals[here[slot]].below && !locals[here[slot]].ended) {
            if (task[slot] != who) break;
            u32 entry = lookup(slot);
            if (entry == NONE) return NONE;
            const Entry &e = entries[entry];
            if (e.kind != STEP || e.visible) break;
            u32 size = u32(here.size());
            if (!apply(slot, entry)) return NONE;
            steps++;
            if (here.size() != size) break;  // it has spawned tasks, or was the last to end
            if (++count >= LONG) {           // Brent 1980
                if (here == anchor && cells == held) {
                    ask(AN_END, who);
                    return NONE;
                }
                if (!(count & (count - 1))) anchor = here, held = cells;
            }
        }
        return 0;
    }

    void note(u32 by, u32 who) {
        if (by == who || who == NONE) return;
        for (u32 each : above)
            if (each == by) return;
        above.push_back(by);
    }

    static constexpr u64 LONG = 1024;
};

}  // namespace tables
