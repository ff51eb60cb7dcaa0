/* What the C that a plan is printed as says and is called by, on top of the runtime.
 *
 * A printed file defines `ws_printed`. A *session* is the memory of one run of it at a time: open it, set its inputs, run
 * it, look at its buffers; reset it for another run, or close it.
 */
#ifndef WINGSPAN_PROGRAM_H
#define WINGSPAN_PROGRAM_H

#include <inttypes.h>
#include <stdio.h>

#include "runtime.h"

/* Where the run may fail: a place in the source, and a message in which {0}, {1}, … stand for values of these types:
 * i for integers, f for doubles, b for truth values. */
typedef struct { const char *where, *message, *types; } ws_site;

typedef struct { const char *tensor, *tag; const char *const *buffers; bool output; } ws_title;

typedef struct {
    const ws_group *groups;
    const ws_title *titles; /* of each group */
    int64_t count;
    const ws_site *sites;
    ws_body body;
    const char *const *variables; /* and then what becomes of fill values; NULL ends them */
    const char *types;            /* of the variables and fill values */
} ws_program;

extern const ws_program ws_printed;

/* ------------------------------------------------------------------------------------------------ in printed functions */

/* The cells of buffer k of an instance. They never move. */
#define WS_CELLS(x, k) ((void *)(x)->buffers[k].data)

/* Leave a function, and stop the run, for what the task has noted of its failure. */
#define WS_LEAVE(site, ...)                                                                                            \
    do {                                                                                                               \
        const ws_value told[] = {{.i = 0}, __VA_ARGS__};                                                               \
        ws_stop(t, site, told + 1, sizeof told / sizeof *told - 1);                                                    \
        return;                                                                                                        \
    } while (0)

/* Leave unless a function of the runtime succeeds. */
#define WS_TRY(success, site)                                                                                          \
    do {                                                                                                               \
        if (WS_UNLIKELY(!(success))) WS_LEAVE(site);                                                                   \
    } while (0)

/* Leave unless an operator is defined, or a condition holds, for the values that follow. */
#define WS_DEFINED(success, site, ...)                                                                                 \
    do {                                                                                                               \
        if (WS_UNLIKELY(!(success))) {                                                                                 \
            ws_fail(t, WS_OPERATOR, NULL, 0, 0);                                                                       \
            WS_LEAVE(site, __VA_ARGS__);                                                                               \
        }                                                                                                              \
    } while (0)
#define WS_REQUIRE(condition, site, ...)                                                                               \
    do {                                                                                                               \
        if (WS_UNLIKELY(!(condition))) {                                                                               \
            ws_fail(t, WS_CHECK, NULL, 0, 0);                                                                          \
            WS_LEAVE(site, __VA_ARGS__);                                                                               \
        }                                                                                                              \
    } while (0)

/* Make sure that a cell of buffer k of an instance may be written; `cells` is how many may. */
#define WS_ROOM(cells, x, k, index, site)                                                                              \
    do {                                                                                                               \
        if (WS_UNLIKELY((uint64_t)(index) - 1 >= cells)) {                                                             \
            cells = ws_more(t, &(x)->buffers[k], index);                                                               \
            if (cells == 0) WS_LEAVE(site);                                                                            \
        }                                                                                                              \
    } while (0)

/* Make sure that all cells up to `bound` may be written. */
#define WS_ALL(x, k, bound, site)                                                                                      \
    do {                                                                                                               \
        if (WS_UNLIKELY((x)->buffers[k].cells < (bound))) WS_TRY(ws_more(t, &(x)->buffers[k], bound), site);           \
    } while (0)

/* How many cells of a buffer may be written, once cell `index` may; 0 with a fault noted if it may not. */
WS_API __attribute__((noinline)) uint64_t ws_more(ws_task *t, ws_buffer *b, int64_t index) {
    if ((uint64_t)index - 1 >= __atomic_load_n(&b->cells, __ATOMIC_SEQ_CST) && !ws_grow(t, b, index)) return 0;
    return __atomic_load_n(&b->cells, __ATOMIC_SEQ_CST);
}

/* Leave if the run stops. */
#define WS_GO_ON                                                                                                       \
    do {                                                                                                               \
        if (WS_UNLIKELY(ws_stopped(t->run))) return;                                                                   \
    } while (0)

WS_API inline int64_t ws_min_i64(int64_t x, int64_t y) { return y < x ? y : x; }
WS_API inline int64_t ws_max_i64(int64_t x, int64_t y) { return y > x ? y : x; }
WS_API inline double ws_min_f64(double x, double y) { return y < x ? y : x; }
WS_API inline double ws_max_f64(double x, double y) { return y > x ? y : x; }

/* ÷ and % round down; the divisor is not 0. */
WS_API inline int64_t ws_quotient(int64_t x, int64_t y) {
    int64_t r = x;
    ws_div_i64(x, y, &r);
    return r;
}
WS_API inline int64_t ws_remainder(int64_t x, int64_t y) {
    int64_t r = 0;
    ws_mod_i64(x, y, &r);
    return r;
}

WS_API inline bool ws_add_i64(int64_t x, int64_t y, int64_t *r) { return !__builtin_add_overflow(x, y, r); }
WS_API inline bool ws_sub_i64(int64_t x, int64_t y, int64_t *r) { return !__builtin_sub_overflow(x, y, r); }
WS_API inline bool ws_mul_i64(int64_t x, int64_t y, int64_t *r) { return !__builtin_mul_overflow(x, y, r); }
WS_API inline bool ws_neg_i64(int64_t x, int64_t *r) { return !__builtin_sub_overflow(0, x, r); }
WS_API inline bool ws_abs_i64(int64_t x, int64_t *r) {
    *r = x;
    return x >= 0 || ws_neg_i64(x, r);
}
WS_API inline bool ws_over_f64(double x, double y, double *r) {
    *r = x / y;
    return y != 0;
}

/* ----------------------------------------------------------------------------------------------------------- sessions */

typedef struct {
    ws_run run;
    ws_task outside;
    ws_group *groups;
    ws_value *results; /* of variables and fill values */
} ws_session;

void ws_session_close(ws_session *s) {
    ws_close(&s->run);
    free(s->groups);
    free(s->results);
    free(s);
}

/* A new session; NULL if there is no memory. */
ws_session *ws_session_open(void) {
    ws_session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    size_t groups = (size_t)ws_printed.count * sizeof *s->groups;
    s->groups = malloc(groups + 1);
    s->results = calloc(strlen(ws_printed.types) + 1, sizeof *s->results);
    if (!s->groups || !s->results) return NULL;
    memcpy(s->groups, ws_printed.groups, groups);
    ws_open(&s->run, s->groups, ws_printed.count);
    s->outside.run = &s->run;
    return s;
}

/* How many bytes it may use from now on, inputs that it reads where they are apart; any number unless told. */
void ws_session_limit(ws_session *s, uint64_t bytes) { s->run.limit = bytes; }

/* Make it as new, but for the memory that it has already. */
void ws_session_reset(ws_session *s) { ws_reset(&s->run); }

/* The instance of a group to which the keys lead from its root; NULL if there cannot be one. */
ws_instance *ws_session_instance(ws_session *s, int64_t group, const int64_t *keys, int64_t count) {
    if (s->groups[group].parent < 0) return ws_root(&s->outside, group);
    ws_instance *parent = ws_session_instance(s, s->groups[group].parent, keys, count - 1);
    return parent ? ws_child(&s->outside, group, parent, keys[count - 1]) : NULL;
}

/* Let buffer k of an instance read an array, or hold a copy of it. False if there is no memory. */
bool ws_session_set(ws_session *s, ws_instance *x, int64_t k, const void *data, int64_t cells, bool copied) {
    ws_buffer *b = &x->buffers[k];
    if (!copied) ws_borrow(b, data, (uint64_t)cells, b->width, 0);
    else if (cells > 0 && !ws_more(&s->outside, b, cells)) return false;
    else memcpy(b->data, data, (size_t)cells * ws_bytes[b->width]);
    return true;
}

/* Set one cell of a hash table. False if there is no memory. */
bool ws_session_put(ws_session *s, ws_instance *x, int64_t k, int64_t key, int64_t value) {
    return ws_hash_store(&s->outside, &x->buffers[k], key, value);
}

/* Run the program, its first task in the thread that calls. The number of the fault, 0 if there is none; the runtime
 * says which. */
int ws_session_run(ws_session *s) {
    ws_task first = {.run = &s->run, .id = 1, .number = 1, .random = ws_mix(s->run.seed)};
    s->run.tasks = s->run.running = 1;
    ws_printed.body(&first, s->results);
    return (int)s->run.fault;
}

/* Variables of the outermost scope and fill values, in the order in which they are printed. */
const ws_value *ws_session_results(const ws_session *s) { return s->results; }

/* The instance after this one, the first one after NULL; it tells its group, parent and key. */
ws_instance *ws_session_next(ws_session *s, ws_instance *x, int64_t *group, ws_instance **parent, int64_t *key) {
    for (x = x ? x->made_before : s->run.instances; x && !x->used;) x = x->made_before;
    if (!x) return NULL;
    *group = x->group - s->groups;
    *parent = x->parent;
    *key = x->key;
    return x;
}

/* How many cells buffer k of an instance has, and where they are; of a hash table, how many entries it has room for:
 * pairs of a key, 0 if there is none, and a value. */
int64_t ws_session_cells(const ws_instance *x, int64_t k, const void **data) {
    const ws_buffer *b = &x->buffers[k];
    *data = b->width != WS_HASHED ? (const void *)b->data : b->hash ? b->hash->entries : NULL;
    if (b->width == WS_HASHED) return b->hash ? (int64_t)b->hash->mask + 1 : 0;
    return (int64_t)b->cells;
}

WS_API int ws_tell(char type, ws_value v, char *text, size_t size) {
    if (type == 'f') return snprintf(text, size, "%.17g", v.f);
    if (type == 'b') return snprintf(text, size, "%s", v.i ? "true" : "false");
    return snprintf(text, size, "%" PRId64, v.i);
}

/* What went wrong, as text. */
const char *ws_session_fault(const ws_session *s, char *text, size_t size) {
    const ws_run *run = &s->run;
    const ws_site *site = run->where < 0 ? &(ws_site){"", "", ""} : &ws_printed.sites[run->where];
    size_t n = *site->where ? (size_t)snprintf(text, size, "%s: ", site->where) : 0;
    if (run->fault == WS_MEMORY)
        n += (size_t)snprintf(text + n, size - n, "out of memory: the run needs %" PRId64 " bytes, which is more than its limit",
                              run->values[0].i);
    else if (run->fault == WS_SPACE)
        n += (size_t)snprintf(text + n, size - n, "out of memory: the system has no address space left");
    else if (run->fault != WS_OPERATOR && run->fault != WS_CHECK)
        n += (size_t)snprintf(text + n, size - n, "fault %d of %" PRId64 ": ", (int)run->fault, run->values[0].i);
    for (const char *m = site->message; *m && n + 32 < size; m++) {
        if (m[0] == '{' && run->registers) {
            char *end;
            long k = strtol(m + 1, &end, 10);
            n += (size_t)ws_tell(site->types[k], run->registers[k], text + n, size - n);
            m = end;
        } else {
            text[n++] = *m;
        }
    }
    text[n] = 0;
    return text;
}

/* --------------------------------------------------------------------------------------------------------------- main */

/* Set the inputs from a file of records: group, buffer, number of keys, number of cells, keys, cells; each 8 bytes, or
 * ending at a multiple of 8. Of a hash table each cell is a key and a value. */
WS_API bool ws_read(ws_session *s, FILE *file) {
    int64_t head[4], keys[64];
    while (fread(head, sizeof *head, 4, file) == 4) {
        if (head[2] < 0 || head[2] > 64 || fread(keys, sizeof *keys, (size_t)head[2], file) != (size_t)head[2]) return false;
        ws_instance *x = ws_session_instance(s, head[0], keys, head[2]);
        if (!x) return false;
        const bool hashed = x->buffers[head[1]].width == WS_HASHED;
        size_t bytes = (size_t)ws_round((uint64_t)head[3] * (hashed ? 16 : ws_bytes[x->buffers[head[1]].width]), 8);
        int64_t *data = malloc(bytes + 1);
        bool good = data && fread(data, 1, bytes, file) == bytes;
        if (good && !hashed) good = ws_session_set(s, x, head[1], data, head[3], true);
        for (int64_t i = 0; good && hashed && i < head[3]; i++)
            good = ws_session_put(s, x, head[1], data[2 * i], data[2 * i + 1]);
        free(data);
        if (!good) return false;
    }
    return true;
}

WS_API void ws_print_path(const ws_session *s, const ws_instance *x) {
    const ws_title *title = &ws_printed.titles[x->group - s->groups];
    if (!x->parent) {
        printf("%s", title->tensor);
        return;
    }
    ws_print_path(s, x->parent);
    printf(" %s=%" PRId64, title->tag, x->key);
}

/* Print the cells of a buffer but for the zeros at its end; of a hash table the keys and values. */
WS_API void ws_print(const ws_session *s, const ws_instance *x, int64_t k) {
    const ws_buffer *b = &x->buffers[k];
    const void *data;
    int64_t n = ws_session_cells(x, k, &data);
    ws_print_path(s, x);
    printf(" %s:", ws_printed.titles[x->group - s->groups].buffers[k]);
    if (b->width == WS_HASHED) {
        for (const ws_entry *e = data; n > 0; n--, e++)
            if (e->value) printf(" %" PRId64 ":%" PRId64, e->key, e->value);
    } else {
        const size_t bytes = ws_bytes[b->width];
        while (n > 0 && !memcmp((const char *)data + (size_t)(n - 1) * bytes, "\0\0\0\0\0\0\0", bytes)) n--;
        for (int64_t i = 1; i <= n; i++) {
            char text[32];
            ws_tell(b->width == WS_F64 ? 'f' : 'i', ws_load(b, i, WS_PLAIN), text, sizeof text);
            printf(" %s", text);
        }
    }
    printf("\n");
}

WS_API int ws_quit(const char *problem, const char *about) {
    fprintf(stderr, "%s%s\n", problem, about);
    return 2;
}

/* Run the program on the inputs in a file, this one unless the arguments tell another, and print its variables, and the
 * buffers of its outputs. */
WS_API int ws_main(int argc, char **argv, const char *inputs) {
    ws_session *s = ws_session_open();
    if (!s) return ws_quit("out of memory", "");
    for (int i = 1; i < argc; i++) {
        char *end = "no number";
        if (!strcmp(argv[i], "--max-memory") && i + 1 < argc) ws_session_limit(s, strtoull(argv[++i], &end, 10));
        else if (inputs && argv[i][0] != '-') inputs = argv[i], end = "";
        if (*end) return ws_quit("usage: [INPUTS] [--max-memory BYTES], not ", argv[i]);
    }
    FILE *file = inputs ? fopen(inputs, "rb") : NULL;
    bool good = !inputs || (file && ws_read(s, file));
    if (file) fclose(file);
    if (!good && s->outside.fault == WS_NONE) return ws_quit("cannot read ", inputs);
    if (!good) ws_stop(&s->outside, -1, NULL, 0);
    if (!good || ws_session_run(s)) {
        char text[4096];
        fprintf(stderr, "%s\n", ws_session_fault(s, text, sizeof text));
        return 1;
    }
    for (int64_t i = 0; ws_printed.variables[i]; i++) {
        char text[32];
        ws_tell(ws_printed.types[i], s->results[i], text, sizeof text);
        printf("%s = %s\n", ws_printed.variables[i], text);
    }
    for (ws_instance *x = s->run.instances; x; x = x->made_before)
        for (int64_t k = 0; x->used && ws_printed.titles[x->group - s->groups].output && k < x->group->buffers; k++)
            ws_print(s, x, k);
    ws_session_close(s);
    return 0;
}

#endif
