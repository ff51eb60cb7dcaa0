// Canonical forms of the states of a walk: equal exactly for states that differ only in the names of siblings, as in
// wingspan/explorer/symmetry.py.
//
// A task is what its local is without names, the cells that belong to it, the locks that it holds, and the tasks below
// it in any order. Such trees are numbered from the leaves up, each once; so the form of a state is a pair of numbers:
// that of its root task, and that of the cells of no task.
#pragma once

#include <algorithm>
#include <utility>

#include "tables.h"

namespace tables {

struct Slot {
    u32 owner;  // the task that the cell belongs to
    u32 bare;   // the number of the cell without the name of that task
    u32 lock;   // what a task has for itself if it holds the lock in this cell; no number of a cell
};

class SymmetricWalk : public Walk {
  public:
    bool symmetric = false;
    std::vector<u32> own;      // of each local: the number of what it is without names
    std::vector<Slot> belongs; // of each slot
    std::vector<u32> holder;   // of each value: the task whose name it is; NONE if it is no name
    u32 taken = 0;             // the value that stands for the name of any task

    // Find the form of the state at hand, if names carry no meaning. False if the name of a task is missing.
    bool canonicalize() {
        if (!symmetric) return true;
        if (!name()) return false;
        at.assign(at.size(), NONE);
        for (u32 k = 0; k < here.size(); k++) {
            if (task[k] >= at.size()) at.resize(task[k] + 1, NONE);
            at[task[k]] = k;
        }
        parts.resize(std::max(parts.size(), here.size()));
        for (u32 k = 0; k < here.size(); k++) parts[k].clear();
        shared = cells;
        for (u32 slot = 0; slot < cells.size(); slot++) {
            u32 value = cells[slot], by = place_of(holder[value]), mine = place_of(belongs[slot].owner);
            if (by != NONE) {
                parts[by].push_back({belongs[slot].lock, 0});
                shared[slot] = value = taken;
            }
            if (mine == NONE || mine == 0) continue;  // of no task, of none that is there, or of the root
            shared[slot] = first[slot];
            if (value) parts[mine].push_back({belongs[slot].bare, value});
        }
        while (!shared.empty() && shared.back() == first[shared.size() - 1]) shared.pop_back();
        form.resize(here.size());
        below.resize(std::max(below.size(), here.size()));
        for (u32 k = u32(here.size()); k--;) {
            std::sort(parts[k].begin(), parts[k].end());
            std::sort(below[k].begin(), below[k].end());
            std::vector<u32> tree{own[here[k]], u32(parts[k].size())};
            for (auto [cell, value] : parts[k]) tree.push_back(cell), tree.push_back(value);
            tree.insert(tree.end(), below[k].begin(), below[k].end());
            below[k].clear();
            form[k] = trees.put(tree);
            if (k) below[parent[k]].push_back(form[k]);
        }
        return true;
    }

    // The number of the state at hand, or of one that is the same up to names; NONE if there is none.
    u32 find() {
        if (!symmetric) return Walk::find();
        u32 list = memories_up_to_names.get(shared);
        return list == NONE ? NONE : forms.get(form[0], list);
    }

    void add() {
        if (symmetric) {
            forms.put(form[0], memories_up_to_names.put(shared), store->nodes);
            Walk::find();
        }
        Walk::add();
    }

    // The name that a task of the state at hand has in the state of a node that is the same up to names; NONE if it is
    // not there. Of siblings that are equal, the first one has the name of the first one. The node is at hand then.
    u32 name_in(u32 who, u32 node) {
        u32 slot = 0;
        while (slot < here.size() && task[slot] != who) slot++;
        if (slot == here.size()) return NONE;
        std::vector<std::pair<u32, u32>> line;  // from the task upwards: its form, and how many equal siblings are before it
        for (; slot; slot = parent[slot]) {
            u32 before = 0;
            for (u32 k = parent[slot]; k < slot; k++) before += k && parent[k] == parent[slot] && form[k] == form[slot];
            line.push_back({form[slot], before});
        }
        load(node);
        canonicalize();
        for (; !line.empty(); line.pop_back()) {
            auto [like, before] = line.back();
            u32 k = slot + 1;
            while (k < here.size() && !(parent[k] == slot && form[k] == like && before-- == 0)) k++;
            if (k == here.size()) throw std::logic_error("a state is not what it should be up to names");
            slot = k;
        }
        return task[slot];
    }

    size_t bytes() const { return Walk::bytes() + trees.bytes() + memories_up_to_names.bytes() + forms.bytes(); }

  private:
    Lists trees, memories_up_to_names;
    PairMap forms;                // (number of the root's tree, of the other cells): node
    std::vector<u32> at;          // of each task the slot of its local; NONE if it is not there
    std::vector<u32> form;        // of each local of the state at hand
    std::vector<u32> shared;      // the cells of no task
    std::vector<std::vector<std::pair<u32, u32>>> parts;  // of each local: the cells of its task and what they hold
    std::vector<std::vector<u32>> below;                  // and the forms of its children

    u32 place_of(u32 who) const { return who < at.size() ? at[who] : NONE; }
};

}  // namespace tables
