// Where many steps lead, computed by several threads.
//
// A *batch* is some edges, in the order in which one thread follows them. The threads compute the states to which these
// lead, and of those that are new what comes next; they change nothing that they share. Then one thread follows the
// edges in their order (`Tables.flood`): it numbers the new states, and takes the steps itself that the threads could
// not take, since a table lacks something. So everything is as if there were one thread, whatever their number.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "tables.h"

namespace tables {

// Threads that do the same work side by side: this one, and helpers.
class Team {
    std::vector<std::thread> helpers;
    std::mutex mutex;
    std::condition_variable begun, done;
    std::function<void(unsigned)> work;
    unsigned round = 0, busy = 0;
    bool over = false;
    std::exception_ptr failure;

    void attempt(unsigned who) {
        try {
            work(who);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex);
            failure = std::current_exception();
        }
    }

    void help(unsigned who) {
        for (unsigned seen = 0;;) {
            {
                std::unique_lock<std::mutex> lock(mutex);
                begun.wait(lock, [&] { return over || round != seen; });
                if (over) return;
                seen = round;
            }
            attempt(who);
            std::lock_guard<std::mutex> lock(mutex);
            if (--busy == 0) done.notify_one();
        }
    }

    void dismiss() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            over = true;
        }
        begun.notify_all();
        for (std::thread &each : helpers) each.join();
    }

  public:
    const unsigned size;

    explicit Team(unsigned threads) : size(threads) {
        try {
            for (unsigned who = 1; who < threads; who++) helpers.emplace_back(&Team::help, this, who);
        } catch (...) {
            dismiss();
            throw;
        }
    }

    ~Team() { dismiss(); }

    // Let each thread do the work with its number. Rethrows what one of them throws.
    void run(std::function<void(unsigned)> what) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            work = std::move(what), busy = unsigned(helpers.size()), failure = nullptr, round++;
        }
        begun.notify_all();
        attempt(0);
        std::unique_lock<std::mutex> lock(mutex);
        done.wait(lock, [&] { return busy == 0; });
        if (failure) std::rethrow_exception(failure);
    }
};

enum Outcome : uint8_t { UNCLEAR, OLD, FRESH };  // a table lacks something; the target has a number; it has none yet

struct Successor {
    u32 node, task;  // from where, and who steps
    u64 edge, hash;
    u32 target;      // its number; of a fresh state once it has been added, at the first edge that leads there
    u32 same;        // of a fresh state: the first edge of the batch that leads there
    u32 menu;        // of that: the number of its choices, or where `looked` has them if they have none
    u32 steps;       // invisible ones
    u32 above;       // where `stepped` has the tasks above the one that steps that went on; 0 if there are none
    uint16_t stepped, looked;  // the numbers of these workers
    Outcome outcome;
    bool known;      // whether `menu` is a number
};

struct Worker {
    Walk walk;  // with a copy of the tables
    std::vector<std::vector<Choice>> choices;
    std::vector<std::vector<u32>> above{{}};
    std::vector<u32> slots;  // of the fresh states of one part, by hash: the first edges that lead there
};

class Batch {
    static constexpr size_t GRAIN = 64;  // a thread takes this many edges at a time
    static constexpr size_t AHEAD = 32;  // memory for a fresh state is fetched this many edges before

    Team team;
    std::vector<Worker> workers;
    std::vector<u32> keys;     // the targets, packed
    size_t width = 0;          // the words of each
    u64 version = UINT64_MAX;  // of the copies

    // Let the threads share the edges.
    void share(void (Batch::*what)(unsigned, size_t, size_t)) {
        std::atomic<size_t> next{0};
        team.run([&](unsigned who) {
            for (size_t k; (k = next.fetch_add(GRAIN)) < edges.size();)
                (this->*what)(who, k, std::min(k + GRAIN, edges.size()));
        });
    }

    // Take steps, as `Tables.enter` does.
    void take(unsigned who, size_t begin, size_t end) {
        Worker &worker = workers[who];
        Walk &walk = worker.walk;
        for (size_t k = begin; k < end; k++) {
            Successor &to = edges[k];
            walk.load(to.node);
            size_t tasks = walk.here.size();
            if (!walk.advance(to.task)) continue;
            if (walk.here.size() != tasks && !walk.settle(to.task)) continue;  // otherwise most states are settled
            if (!walk.pack()) continue;
            std::copy(walk.words.begin(), walk.words.end(), &keys[k * width]);
            to.hash = walk.hash;
            walk.store->prefetch(to.hash);
            to.steps = u32(walk.steps), to.stepped = uint16_t(who), to.outcome = FRESH;
            if (!walk.above.empty()) to.above = u32(worker.above.size()), worker.above.push_back(walk.above);
        }
        for (size_t k = begin; k < end; k++) {
            Successor &to = edges[k];
            if (to.outcome != FRESH) continue;
            to.target = walk.store->find(&keys[k * width], width, to.hash);
            if (to.target != NONE) to.outcome = OLD;
        }
    }

    // Find out which fresh states of one part are the same.
    void merge(unsigned part) {
        std::vector<u32> &slots = workers[part].slots;
        size_t count = 0;
        for (const Successor &to : edges) count += to.outcome == FRESH && to.hash % team.size == part;
        size_t room = 64;
        while (room < 2 * count) room *= 2;
        slots.assign(room, NONE);
        for (size_t k = 0; k < edges.size(); k++) {
            Successor &to = edges[k];
            if (to.outcome != FRESH || to.hash % team.size != part) continue;
            size_t at = slot(slots, &keys[k * width], width, to.hash);
            if (slots[at] == NONE) slots[at] = u32(k);
            to.same = slots[at];
        }
    }

    size_t slot(const std::vector<u32> &slots, const u32 *words, size_t count, u64 hash) const {
        size_t at = (hash >> 32) & (slots.size() - 1);
        while (slots[at] != NONE &&
               (edges[slots[at]].hash != hash || !Store::equal(&keys[slots[at] * width], width, words, count)))
            at = (at + 1) & (slots.size() - 1);
        return at;
    }

    // Find out what comes next in fresh states.
    void look(unsigned who, size_t begin, size_t end) {
        Worker &worker = workers[who];
        for (size_t k = begin; k < end; k++) {
            Successor &to = edges[k];
            if (to.same != k) continue;
            worker.walk.load(&keys[k * width], width);
            if (!worker.walk.settle(NONE) || worker.walk.steps) {
                to.same = NONE;
                continue;
            }
            to.menu = worker.walk.find_menu(), to.looked = uint16_t(who), to.known = to.menu != NONE;
            if (!to.known) to.menu = u32(worker.choices.size()), worker.choices.push_back(worker.walk.choices);
        }
    }

  public:
    std::vector<Successor> edges;

    explicit Batch(unsigned threads) : team(threads), workers(threads) {}

    void add(u32 node, u32 task, u64 edge) {
        edges.push_back({node, task, edge, 0, NONE, NONE, NONE, 0, 0, 0, 0, UNCLEAR, false});
    }

    // Compute where the edges lead. The version of the tables is another one whenever something was added to them.
    void compute(const Walk &from, u64 now) {
        width = from.store->width();
        keys.resize(edges.size() * width);
        if (now != version) team.run([&](unsigned who) { workers[who].walk = from; });
        version = now;
        share(&Batch::take);
        team.run([this](unsigned part) { merge(part); });
        share(&Batch::look);
        for (Successor &to : edges)
            if (to.outcome == FRESH && (to.same == NONE || edges[to.same].same == NONE)) to.outcome = UNCLEAR;
    }

    std::vector<u32> above(size_t k) const { return workers[edges[k].stepped].above[edges[k].above]; }

    // Fetch the memory that adding a state takes, some edges ahead.
    void prefetch(size_t k, const Walk &walk) const {
        if (k + AHEAD < edges.size() && edges[k + AHEAD].same == k + AHEAD) walk.store->prefetch(edges[k + AHEAD].hash);
    }

    // Let a walk have a fresh state at hand, to add it.
    void give(size_t k, Walk &walk) const {
        walk.take(&keys[k * width], width, edges[k].hash);
        if (!edges[k].known) walk.choices = workers[edges[k].looked].choices[edges[k].menu];
    }

    // Number the fresh state with these words, if there is one.
    void number(const std::vector<u32> &words, u64 hash, u32 node) {
        const std::vector<u32> &slots = workers[hash % team.size].slots;
        if (slots.empty()) return;
        u32 found = slots[slot(slots, words.data(), words.size(), hash)];
        if (found != NONE) edges[found].target = node;
    }

    // Begin a new batch.
    void clear() {
        edges.clear();
        for (Worker &each : workers) each.slots.clear(), each.choices.clear(), each.above.resize(1);
    }
};

}  // namespace tables
