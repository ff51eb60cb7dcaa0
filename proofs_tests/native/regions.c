// Regions of tasks, run by runtime.h: a line of numbers for each region, of which the first argument says what it does.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Nanoseconds, which pass by as the tasks say, so that a busy machine makes no region long. */
static int64_t elapsed;

static int read_elapsed(struct timespec *at) {
    const int64_t now = __atomic_load_n(&elapsed, __ATOMIC_SEQ_CST);
    *at = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}

#define clock_gettime(clock, at) read_elapsed(at)
#include "runtime.h"

enum { TASKS = 4 };
typedef struct { pthread_t by; int times, number; int64_t id, takes; } frame;

static int begun; /* tasks of the region that have begun */

/* Work for `takes` nanoseconds; if these are below 0, until all tasks of the region have begun. */
static void work(ws_task *t, void *at) {
    frame *f = at;
    f->by = pthread_self();
    f->times++;
    f->number = (int)t->number;
    f->id = t->id;
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    if (f->takes < 0)
        while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < TASKS) sched_yield();
    else
        __atomic_add_fetch(&elapsed, f->takes, __ATOMIC_SEQ_CST);
}

static ws_habit habit;

/* How many of the tasks have run once, under their numbers and names, and how many of them in this thread. */
static void region(ws_task *t, int64_t n, int64_t takes) {
    frame frames[TASKS] = {{0}};
    for (int k = 0; k < n; k++) frames[k].takes = takes;
    const int64_t before = t->run->tasks;
    begun = 0;
    const bool good = ws_par(t, n, work, frames, sizeof(frame), &habit);
    int once = 0, here = 0;
    for (int k = 0; k < n; k++) {
        once += frames[k].times == 1 && frames[k].number == k + 1 && frames[k].id == before + k + 1;
        here += pthread_equal(frames[k].by, pthread_self()) != 0;
    }
    printf("%d %d %d %d %d\n", good, once, here, habit.shorts, (int)t->run->running);
}

static void all(ws_task *t, void *order) {
    const int64_t LONG = 2 * WS_SHORT;
    t->run->order = *(ws_order *)order;
    region(t, 1, LONG);
    habit.shorts = 0;
    region(t, TASKS, -1); /* all meet, so each has a thread */
    region(t, TASKS, LONG);
    habit.shorts = WS_SHORTS;
    region(t, TASKS, 0);
    region(t, TASKS, LONG);
    habit.shorts = WS_SHORTS - 1;
    region(t, TASKS, LONG);
}

int main(int count, char **words) {
    (void)words;
    ws_run run;
    if (!ws_open(&run, NULL, 0)) return 1;
    ws_order order = count > 1 ? WS_SEQ_CST : WS_PLAIN;
    ws_begin(&run, all, &order);
    ws_close(&run);
    ws_dismiss();
    return 0;
}
