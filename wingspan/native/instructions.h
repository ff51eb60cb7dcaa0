/* The register machine: its instructions, and what runs them on threads of the system.
 *
 * An instruction is a row of six numbers: the opcode, which is its place in WS_INSTRUCTIONS, and the operands r, a, b, c
 * and d. Arguments are trusted: `engine` checks them.
 */
#ifndef WINGSPAN_INSTRUCTIONS_H
#define WINGSPAN_INSTRUCTIONS_H

#include "runtime.h"

#define WS_COLUMNS 6
#define WS_FRAME_HEAD 2           /* the words of a frame before its registers: the code, and the start */
#define WS_PATIENCE (1 << 24)     /* jumps backwards after which private work checks for signals */

/* Within an instruction: the slots that its operands name, and the buffer c of instance a. */
#define R r[row[1]]
#define A r[row[2]]
#define B r[row[3]]
#define C r[row[4]]
#define D r[row[5]]
#define BUFFER (&((ws_instance *)A.p)->buffers[row[4]])
#define WRAPPING(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))
#define GO_TO(number) do { row = table + WS_COLUMNS * (number); goto next; } while (0)
#define UNLESS_GO(condition) do { if (!(condition)) GO_TO(row[1]); } while (0)

/* An operator that may be undefined sets n or v, unless it is. */
#define TRY_INT(success) do { int64_t n = 0; if ((good = (success) || ws_undefined(t))) R.i = n; } while (0)
#define TRY_FLOAT(success) do { double v = 0; if ((good = (success) || ws_undefined(t))) R.f = v; } while (0)
#define PUT(instance) do { ws_instance *const x = (instance); if ((good = x != NULL)) R.p = x; } while (0)

/* Each instruction: its opcode, its name, the meaning of its operands (w: a slot that is written, u: one that is used, .:
 * the number itself), and what it does. `good` becomes false if that fails. */
#define WS_INSTRUCTIONS(each)                                                                                          \
    /* private */                                                                                                      \
    each(MOVE, "move", "wu", R = A)                                                                                    \
    each(SELECT, "select", "wuuu", R = A.i ? B : C)                                                                    \
    each(SELECT_EQ, "select int ==", "wuuuu", R = A.i == B.i ? C : D)                                                  \
    each(SELECT_LT, "select int <", "wuuuu", R = A.i < B.i ? C : D)                                                    \
    each(AND, "and", "wuu", R.i = A.i & B.i)                                                                           \
    each(OR, "or", "wuu", R.i = A.i | B.i)                                                                             \
    each(NOT, "not", "wu", R.i = !A.i)                                                                                 \
    each(TO_FLOAT, "to float", "wu", R.f = (double)A.i)                                                                \
    each(INT_ADD, "int +", "wuu", R.i = WRAPPING(A.i, +, B.i))                                                         \
    each(INT_SUB, "int -", "wuu", R.i = WRAPPING(A.i, -, B.i))                                                         \
    each(INT_MUL, "int *", "wuu", R.i = WRAPPING(A.i, *, B.i))                                                         \
    each(INT_DIV, "int ÷", "wuu", if (!ws_div_i64(A.i, B.i, &R.i)) R.i = B.i ? A.i : 0)                                \
    each(INT_MOD, "int %", "wuu", if (!ws_mod_i64(A.i, B.i, &R.i)) R.i = 0)                                            \
    each(INT_MIN, "int min", "wuu", R.i = B.i < A.i ? B.i : A.i)                                                       \
    each(INT_MAX, "int max", "wuu", R.i = B.i > A.i ? B.i : A.i)                                                       \
    each(INT_EQ, "int ==", "wuu", R.i = A.i == B.i)                                                                    \
    each(INT_NE, "int !=", "wuu", R.i = A.i != B.i)                                                                    \
    each(INT_LT, "int <", "wuu", R.i = A.i < B.i)                                                                      \
    each(INT_LE, "int <=", "wuu", R.i = A.i <= B.i)                                                                    \
    each(INT_GT, "int >", "wuu", R.i = A.i > B.i)                                                                      \
    each(INT_GE, "int >=", "wuu", R.i = A.i >= B.i)                                                                    \
    each(FLOAT_ADD, "float +", "wuu", R.f = A.f + B.f)                                                                 \
    each(FLOAT_SUB, "float -", "wuu", R.f = A.f - B.f)                                                                 \
    each(FLOAT_MUL, "float *", "wuu", R.f = A.f * B.f)                                                                 \
    each(FLOAT_MIN, "float min", "wuu", R.f = ws_min_f64(A.f, B.f))                                                    \
    each(FLOAT_MAX, "float max", "wuu", R.f = ws_max_f64(A.f, B.f))                                                    \
    each(INT_BITS, "int |", "wuu", R.i = A.i | B.i)                                                                    \
    each(INT_COMMON, "int &", "wuu", R.i = A.i & B.i)                                                                  \
    each(INT_DIFFERENT, "int ⊻", "wuu", R.i = A.i ^ B.i)                                                               \
    each(INT_BIT, "int bit", "wu", R.i = ws_bit(A.i))                                                                  \
    each(INT_SINCE, "int since", "wuu", R.i = ws_since(A.i, B.i))                                                      \
    each(INT_FIRST, "int first", "wu", R.i = ws_first(A.i))                                                            \
    each(INT_REST, "int rest", "wu", R.i = ws_rest(A.i))                                                               \
    each(INT_COUNT, "int count", "wu", R.i = ws_count(A.i))                                                            \
    each(FLOAT_MULADD, "float muladd", "wuuu", R.f = ws_muladd_f64(A.f, B.f, C.f))                                     \
    each(FLOAT_ABS, "float abs", "wu", R.f = fabs(A.f))                                                                \
    each(FLOAT_NEG, "float neg", "wu", R.f = -A.f)                                                                     \
    each(FLOAT_SAME, "float same", "wuu", R.i = A.i == B.i)                                                            \
    each(FLOAT_ALIKE, "float alike", "wuu", R.i = ws_alike(A.f, B.f))                                                  \
    each(FLOAT_F32, "float f32", "wu", R.f = (float)A.f)                                                               \
    each(FLOAT_PAIR, "float pair", "wuu", R.i = ws_pair(A.f, B.i))                                                     \
    each(INT_PAIR_FIRST, "int pair_first", "wu", R.f = ws_pair_first(A.i))                                             \
    each(INT_PAIR_SECOND, "int pair_second", "wu", R.i = ws_pair_second(A.i))                                          \
    each(INT_MAXBY, "int maxby", "wuu", R.i = ws_maxby(A.i, B.i))                                                      \
    each(FLOAT_EQ, "float ==", "wuu", R.i = A.f == B.f)                                                                \
    each(FLOAT_NE, "float !=", "wuu", R.i = A.f != B.f)                                                                \
    each(FLOAT_LT, "float <", "wuu", R.i = A.f < B.f)                                                                  \
    each(FLOAT_LE, "float <=", "wuu", R.i = A.f <= B.f)                                                                \
    each(FLOAT_GT, "float >", "wuu", R.i = A.f > B.f)                                                                  \
    each(FLOAT_GE, "float >=", "wuu", R.i = A.f >= B.f)                                                                \
    /* private, or a fault, and then nothing has changed */                                                            \
    each(TRY_INT_ADD, "try int +", "wuu", TRY_INT(!__builtin_add_overflow(A.i, B.i, &n)))                              \
    each(TRY_INT_SUB, "try int -", "wuu", TRY_INT(!__builtin_sub_overflow(A.i, B.i, &n)))                              \
    each(TRY_INT_MUL, "try int *", "wuu", TRY_INT(!__builtin_mul_overflow(A.i, B.i, &n)))                              \
    each(TRY_INT_DIV, "try int ÷", "wuu", TRY_INT(ws_div_i64(A.i, B.i, &n)))                                           \
    each(TRY_INT_MOD, "try int %", "wuu", TRY_INT(ws_mod_i64(A.i, B.i, &n)))                                           \
    each(TRY_INT_LEFT, "try int <<", "wuu", TRY_INT(ws_left_i64(A.i, B.i, &n)))                                        \
    each(TRY_INT_RIGHT, "try int >>", "wuu", TRY_INT(ws_right_i64(A.i, B.i, &n)))                                      \
    each(TRY_INT_GCD, "try int gcd", "wuu", TRY_INT(ws_gcd_i64(A.i, B.i, &n)))                                         \
    each(TRY_INT_MULADD, "try int muladd", "wuuu", TRY_INT(ws_muladd_i64(A.i, B.i, C.i, &n)))                          \
    each(TRY_INT_NEG, "try int neg", "wu", TRY_INT(!__builtin_sub_overflow(0, A.i, &n)))                               \
    each(TRY_INT_ABS, "try int abs", "wu", TRY_INT(!__builtin_mul_overflow(A.i, A.i < 0 ? -1 : 1, &n)))                \
    each(TRY_FLOAT_DIV, "try float ÷", "wuu", TRY_FLOAT(ws_div_f64(A.f, B.f, &v)))                                     \
    each(TRY_FLOAT_MOD, "try float %", "wuu", TRY_FLOAT(ws_mod_f64(A.f, B.f, &v)))                                     \
    each(TRY_FLOAT_OVER, "try float /", "wuu", TRY_FLOAT((v = A.f / B.f, B.f != 0)))                                   \
    each(TRY_ISQRT, "try int isqrt", "wu", TRY_INT(ws_isqrt(A.i, &n)))                                                 \
    each(TRY_TO_INT, "try float int", "wu", TRY_INT(ws_int(A.f, &n)))                                                  \
    each(CHECK, "check", ".u", good = A.i || ws_fail(t, WS_CHECK, NULL, 0, 0))                                         \
    /* control: continue at instruction r; `unless` if a, or a ∘ b, is false; `back` is a jump to an earlier one */    \
    each(JUMP, "jump", ".", GO_TO(row[1]))                                                                             \
    each(UNLESS, "unless", ".u", UNLESS_GO(A.i))                                                                       \
    each(UNLESS_EQ, "unless int ==", ".uu", UNLESS_GO(A.i == B.i))                                                     \
    each(UNLESS_NE, "unless int !=", ".uu", UNLESS_GO(A.i != B.i))                                                     \
    each(UNLESS_LT, "unless int <", ".uu", UNLESS_GO(A.i < B.i))                                                       \
    each(UNLESS_LE, "unless int <=", ".uu", UNLESS_GO(A.i <= B.i))                                                     \
    each(BACK, "back", ".",                                                                                            \
         row = table + WS_COLUMNS * row[1];                                                                            \
         patience -= controlled;                                                                                       \
         if (ws_leaves(t->run) || patience == 0) goto end;                                                             \
         goto next)                                                                                                    \
    /* accesses to buffer c of instance a */                                                                           \
    each(LOAD, "load", "wuu.", R = ws_load(BUFFER, B.i, order)) /* r = buffer[b] */                                    \
    each(LOOK, "look", "wuu.", R = ws_load(BUFFER, B.i, WS_SEQ_CST)) /* the same, in one step with atomic updates */   \
    each(STORE, "store", "uuu.", good = ws_store(t, BUFFER, B.i, R, order)) /* buffer[b] = r */                        \
    /* buffer[b] = buffer[b] ⊕ r; ⊕ is number d of ATOMIC */                                                           \
    each(ATOMIC, "atomic", "uuu..", good = ws_atomic(t, BUFFER, B.i, (ws_reduction)row[5], R))                         \
    /* buffer[b] = buffer[b] + d·r */                                                                                  \
    each(ATOMIC_MULADD, "atomic muladd", "uuu.u", good = ws_atomic_muladd(t, BUFFER, B.i, D.i, R))                     \
    /* r was put there before; if buffer[b] is r to the bit, it becomes d; r = what it was */                          \
    each(SWAP, "swap", "wuu.u", good = ws_swap(t, BUFFER, B.i, &R, D))                                                 \
    /* r = buffer[1]; buffer[1] = r + d if r ≤ b */                                                                    \
    each(CLAIM, "claim", "wuu.u", good = ws_claim(t, BUFFER, B.i, D.i, &R.i))                                          \
    each(ACQUIRE, "acquire", ".uu.", good = ws_acquire(t, BUFFER, B.i)) /* lock buffer[b] */                           \
    each(RELEASE, "release", ".uu.", ws_release(t, BUFFER, B.i))                                                       \
    each(SORT, "sort", ".uu.", good = ws_sort(t, BUFFER, B.i)) /* buffer[1] to buffer[b] */                            \
    /* instances */                                                                                                    \
    /* r = the child of a with key b in group c */                                                                     \
    each(CHILD, "child", "wuu.", PUT(ws_child(t, row[4], A.p, B.i)))                                                   \
    each(FRESH, "fresh", "w...", PUT(ws_fresh(t, row[4]))) /* r = an instance of group c */                            \
    each(DROP, "drop", ".u", ws_drop(t, A.p)) /* a */                                                                  \
    /* tasks */                                                                                                        \
    /* b tasks, r = 1, 2, … from the next instruction on to `done`; then a is next; it is par number c */              \
    each(PAR, "par", "w.u.", if ((good = ws_run_tasks(t, r, code, row))) GO_TO(row[2]))                                \
    each(DONE, "done", "", goto end)                                                                                   \
    each(JOINED, "joined", ".", ) /* next after a par: r is true if it was true at the end of one of the tasks */      \
    each(HALT, "halt", "", goto end)

#define WS_OPCODE(opcode, ...) WS_##opcode##_OPCODE,
#define WS_NAME(opcode, name, ...) name,
#define WS_OPERANDS(opcode, name, operands, ...) operands,
enum { WS_INSTRUCTIONS(WS_OPCODE) WS_OPCODES };
static const char *const ws_names[] = {WS_INSTRUCTIONS(WS_NAME)};
static const char *const ws_operands[] = {WS_INSTRUCTIONS(WS_OPERANDS)};

typedef struct {
    const int64_t *table;
    size_t slots;
    ws_habit *habits; /* of parallel regions, by row of the table */
} ws_code;

WS_API bool ws_undefined(ws_task *t) { return ws_fail(t, WS_OPERATOR, NULL, 0, 0); }

static bool ws_run_tasks(ws_task *t, ws_value *r, const ws_code *code, const int64_t *row);

/* Run a task from instruction pc to its end, and stop the run if it fails; controlled, to its next rest or failure. The
 * number of the instruction at which it stops. */
WS_API int64_t ws_execute(ws_task *t, ws_value *r, const ws_code *code, int64_t pc, bool controlled) {
    const int64_t *const table = code->table, *row = table + WS_COLUMNS * pc;
    const bool watched = controlled || t->run->yields;
    const ws_order order = t->run->order;
    int64_t patience = WS_PATIENCE;
next:
    for (;; row += WS_COLUMNS) {
        bool good = true;
        if (watched && row[0] >= WS_LOAD_OPCODE) {
            if (controlled && row[0] != WS_JOINED_OPCODE) goto end;
            if (row[0] <= WS_SORT_OPCODE) ws_yield(t);
        }
        switch (row[0]) {
#define WS_CASE(opcode, name, operands, ...) case WS_##opcode##_OPCODE: __VA_ARGS__; break;
            WS_INSTRUCTIONS(WS_CASE)
        }
        if (!good) {
            if (!controlled) ws_stop(t, (row - table) / WS_COLUMNS, r, code->slots);
            goto end;
        }
    }
end:
    return (row - table) / WS_COLUMNS;
}

/* Run a task from its frame. */
WS_API void ws_execute_frame(ws_task *t, void *frame) {
    ws_value *const f = frame;
    ws_execute(t, f + WS_FRAME_HEAD, f[0].p, f[1].i, false);
}

/* Run the tasks of a parallel region, each with a copy of the registers. */
static bool ws_run_tasks(ws_task *t, ws_value *r, const ws_code *code, const int64_t *row) {
    const int64_t n = B.i, here = (row - code->table) / WS_COLUMNS;
    const size_t size = WS_FRAME_HEAD + code->slots;
    ws_value *const frames = malloc((size_t)n * size * sizeof *frames);
    if (!frames) return ws_fail(t, WS_SPACE, NULL, 0, 0);
    for (int64_t k = 0; k < n; k++) {
        ws_value *const frame = frames + (size_t)k * size;
        frame[0].p = (void *)(uintptr_t)code;
        frame[1].i = here + 1;
        memcpy(frame + WS_FRAME_HEAD, r, code->slots * sizeof *r);
        frame[WS_FRAME_HEAD + row[1]].i = k + 1;
    }
    const bool good = ws_par(t, n, ws_execute_frame, frames, size * sizeof *frames, &code->habits[here]);
    for (const int64_t *joined = code->table + WS_COLUMNS * row[2]; joined[0] == WS_JOINED_OPCODE; joined += WS_COLUMNS) {
        r[joined[1]].i = 0;
        for (int64_t k = 0; k < n; k++) r[joined[1]].i |= frames[(size_t)k * size + WS_FRAME_HEAD + joined[1]].i;
    }
    free(frames);
    return good;
}

#undef R
#undef A
#undef B
#undef C
#undef D
#undef BUFFER
#undef WRAPPING
#undef GO_TO
#undef UNLESS_GO
#undef TRY_INT
#undef TRY_FLOAT
#undef PUT

#endif
