// Where many steps lead, computed by several threads.
//
// A *batch* is the edges of some nodes, in the order in which one thread follows them. The threads compute the states to
// which these lead; they claim those that are new (`Store.find_or_claim`), and find out what comes next in them. Then one thread
// goes over the edges in their order (`Tables._follow_batch`) and numbers the new states, so that everything is as if
// there were one thread, whatever their number. It takes the steps itself that the threads could not take, since a table
// lacks something. At last the threads write the new states and their edges.
#pragma once

#include <algorithm>
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
    static constexpr int SPINS = 2000;  // a thread looks this often before it sleeps, which it takes longer to end

    std::vector<std::thread> helpers;
    std::mutex mutex;
    std::condition_variable begun, done;
    std::function<void(unsigned)> work;
    std::atomic<unsigned> round{0}, busy{0};
    std::atomic<bool> over{false};
    std::exception_ptr failure;

    template <class Condition> void await(std::condition_variable &changed, Condition holds) {
        for (int k = 0; k < SPINS; k++) {
            if (holds()) return;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, holds);
    }

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
            await(begun, [&] { return over || round != seen; });
            if (over) return;
            seen = round;
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
        if (helpers.empty()) return what(0);
        {
            std::lock_guard<std::mutex> lock(mutex);
            work = std::move(what), busy = unsigned(helpers.size()), failure = nullptr, round++;
        }
        begun.notify_all();
        attempt(0);
        await(done, [&] { return busy == 0; });
        if (failure) std::rethrow_exception(failure);
    }
};

constexpr int32_t UNKNOWN = -1;  // a target that has not been computed: as in _space.pxd

struct Successor {
    u64 hash;
    u32 same;    // the first edge whose thread claimed the target, or this one if it has a number; NONE if a table lacks
                 // something
    u32 number;  // of that edge: the number of the target; NONE if it has none yet
    u32 menu;    // of that edge: the menu of the target; NONE if there is none so far
    u32 moves;   // then, of that edge: where `worker` has what comes next; NONE if it is not settled
    u32 count;   // of them
    u32 slot;    // of that edge: that of the target
    u32 steps;   // invisible ones
    u32 above;   // where `worker` has the tasks above the one that steps that went on; 0 if there are none
    u32 worker;
};

struct alignas(128) Worker {  // see `Apart`
    Walk walk;  // with a copy of the tables
    std::vector<std::vector<u32>> above{{}};
    std::vector<WingspanMove> moves;
    std::vector<u32> packed, fresh;  // edges
    size_t claims = 0;
};

class alignas(128) Batch {  // all threads read it: see `Apart`
    static constexpr size_t GRAIN = 16;   // a thread takes this many nodes at a time
    static constexpr size_t STATES = 64;  // or states
    static constexpr size_t FEW = 512;    // states that one thread writes faster

    Team team;
    std::vector<Worker> workers;
    std::vector<u32> keys;     // the targets, packed
    size_t width = 0;          // the words of each
    u64 version = UINT64_MAX;  // of the copies
    std::vector<u32> fresh;    // edges that lead to new states that have been numbered, but not written
    Store *store = nullptr;
    WingspanNode *node = nullptr;  // the graph
    int32_t *target = nullptr;
    const WingspanMenus *menus = nullptr;
    u64 first = 0;                 // edge 0 of the batch is this one

    // Let the threads share the numbers from `begin` on, some at a time.
    void share(size_t begin, size_t end, size_t grain, void (Batch::*what)(unsigned, size_t, size_t)) {
        std::atomic<size_t> next{begin};
        team.run([&](unsigned who) {
            for (size_t k; (k = next.fetch_add(grain)) < end;) (this->*what)(who, k, std::min(k + grain, end));
        });
    }

    const WingspanMove *moves_of(size_t n) const { return menus->move + menus->menu[node[n].menu].begin; }
    size_t degree(size_t n) const { return menus->menu[node[n].menu + 1].begin - menus->menu[node[n].menu].begin; }

    // Take the steps at some nodes, as `Tables.enter` does.
    void take(unsigned who, size_t begin, size_t end) {
        Worker &worker = workers[who];
        Walk &walk = worker.walk;
        worker.packed.clear(), worker.fresh.clear();
        for (size_t n = begin; n < end; n++)
            for (size_t e = 0; e < degree(n); e++) {
                size_t k = node[n].first - first + e;
                Successor &to = edges[k];
                to.same = to.number = to.menu = to.moves = NONE, to.above = 0;
                if (target[first + k] != UNKNOWN) continue;
                walk.load(u32(n));
                size_t tasks = walk.here.size();
                u32 task = u32(moves_of(n)[e].task);
                if (!walk.advance(task)) continue;
                if (walk.here.size() != tasks && !walk.settle(task)) continue;  // otherwise most states are settled
                if (!walk.pack()) continue;
                std::copy(walk.words.begin(), walk.words.end(), &keys[k * width]);
                to.hash = walk.hash, to.steps = u32(walk.steps), to.worker = who;
                store->prefetch(to.hash);
                if (!walk.above.empty()) to.above = u32(worker.above.size()), worker.above.push_back(walk.above);
                worker.packed.push_back(u32(k));
            }
        for (u32 k : worker.packed) store->prefetch_words(edges[k].hash);
        for (u32 k : worker.packed) {
            Successor &to = edges[k];
            Store::Found found = store->find_or_claim(k, to.hash);
            to.number = found.number, to.slot = found.slot, to.same = found.number == NONE ? found.place : k;
            if (to.number == NONE && to.same == k) worker.fresh.push_back(k);
        }
        for (u32 k : worker.fresh) {
            walk.load(&keys[k * width], width);
            if (!walk.settle(NONE) || walk.steps) continue;
            Successor &to = edges[k];
            to.menu = walk.find_menu();
            if (to.menu != NONE) continue;
            to.moves = u32(worker.moves.size()), to.count = u32(walk.moves.size());
            worker.moves.insert(worker.moves.end(), walk.moves.begin(), walk.moves.end());
        }
        worker.claims += worker.fresh.size();
    }

    void place(unsigned, size_t begin, size_t end) { store->place(u32(begin), u32(end)); }

    // Write some of the new states, and their edges, which nobody has followed.
    void write(unsigned, size_t begin, size_t end) {
        size_t words = store->width();
        for (size_t k = begin; k < end; k++) {
            const Successor &to = edges[fresh[k]];
            u32 *there = written + k * words;
            std::copy_n(&keys[fresh[k] * width], width, there);
            std::fill(there + width, there + words, 0);
            store->number(to.slot, to.hash, to.number);
            for (size_t e = 0; e < degree(to.number); e++)
                target[node[to.number].first + e] = moves_of(to.number)[e].target;
        }
    }
    u32 *written = nullptr;  // where the words of the first one are

  public:
    std::vector<Successor> edges;

    explicit Batch(unsigned threads) : team(threads), workers(threads) {}

    // The arrays of the graph, which move as it grows.
    void set_graph(WingspanNode *nodes, int32_t *targets) { node = nodes, target = targets; }

    // Compute where the edges of some nodes lead. The version of the tables differs whenever something was added to them.
    void compute(const Walk &from, u64 now, size_t begin, size_t end) {
        store = from.store, menus = from.menus, width = store->width(), first = node[begin].first;
        edges.resize(node[end - 1].first + degree(end - 1) - first);
        keys.resize(edges.size() * width);
        while (store->is_small(edges.size())) store->grow(), share(0, store->nodes, STATES, &Batch::place);
        if (now != version)
            team.run([&](unsigned who) {
                workers[who].walk = from;
                workers[who].walk.supply = nullptr;
            });
        version = now;
        for (Worker &each : workers) each.above.resize(1), each.moves.clear(), each.claims = 0;
        reserve();
        store->open(keys.data(), edges.size());
        try {
            share(begin, end, GRAIN, &Batch::take);
        } catch (...) {  // without memory
            store->drop_claims();
            throw;
        }
        for (const Worker &each : workers) store->count_claims(each.claims);
    }

    // Have room for the states that the edges may lead to, so that what is numbered can be written.
    void reserve() {
        fresh.reserve(edges.size());
        store->reserve(edges.size());
    }

    std::vector<u32> above(size_t k) const { return workers[edges[k].worker].above[edges[k].above]; }

    // What comes next in the target of an edge that claims it, if that is no menu.
    const WingspanMove *moves(size_t k) const { return workers[edges[k].worker].moves.data() + edges[k].moves; }

    // Number the target of an edge that claims it.
    void number(size_t k, u32 as) { edges[k].number = as, fresh.push_back(u32(k)); }

    // The target of an edge has been added as a node, which fulfils a claim.
    void fulfil(u32 claim, u32 as) {
        if (claim != NONE) edges[claim].number = as;
    }

    // Write the states that have been numbered.
    void flush() {
        if (fresh.empty()) return;
        written = store->append(u32(fresh.size()));
        if (fresh.size() < FEW)
            write(0, 0, fresh.size());
        else
            share(0, fresh.size(), STATES, &Batch::write);
        fresh.clear();
    }

    // Drop the claims that have not been fulfilled.
    void close() {
        for (size_t k = 0; k < edges.size(); k++)
            if (edges[k].same == k && edges[k].number == NONE) store->drop(edges[k].slot);
        store->close();
    }
};

}  // namespace tables
