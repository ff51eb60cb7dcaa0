/* Printed by wingspan with each program, and a part of it.
 *
 * What a printed program is called by, where wingspan does not call it.
 *
 * A printed file defines `ws_printed`. A *session* is the memory of one run of it at a time: open it, set its inputs, run
 * it, look at its buffers; reset it for another run, or close it.
 */
#ifndef WINGSPAN_SESSION_H
#define WINGSPAN_SESSION_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "program.h"

/* Where the run may fail: a place in the source, and a message in which {0}, {1}, … stand for values of these types:
 * i for integers, f for doubles, b for truth values, I for integers that the runtime notes of the fault. */
typedef struct { const char *where, *message, *types; } ws_site;

/* The buffers of a group, and what is printed of their cells: i for integers and truth values, f for doubles, p for
 * pairs. */
typedef struct { const char *tensor, *tag; const char *const *buffers; const char *types; bool output; } ws_title;

typedef struct {
    const ws_group *groups;
    const ws_title *titles; /* of each group */
    int64_t count;
    const ws_site *sites;
    ws_body body;
    const char *const *variables; /* and then what becomes of fill values; NULL ends them */
    const char *types;            /* of the variables and fill values */
    uint64_t identity;            /* what files of its inputs begin with */
} ws_program;

extern const ws_program ws_printed;

/* ----------------------------------------------------------------------------------------------------------- sessions */

typedef struct {
    ws_run run;
    ws_task outside;
    ws_group *groups;
    ws_value *results; /* of variables and fill values */
} ws_session;

void ws_session_close(ws_session *s) {
    if (s->outside.run) ws_close(&s->run);
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
    if (s->groups && s->results) {
        memcpy(s->groups, ws_printed.groups, groups);
        if (ws_open(&s->run, s->groups, ws_printed.count)) s->outside.run = &s->run;
    }
    if (s->outside.run) return s;
    ws_session_close(s);
    return NULL;
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

/* The instance after this one, the first one after NULL; with its group, parent and key. */
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

/* The shortest decimal that rounds to a number of single precision, as Python writes it. */
WS_API void ws_tell_single(double x, char *text, size_t size) {
    int digits = 0;
    if (x != x || x == INFINITY || x == -INFINITY) {
        snprintf(text, size, "%s", x != x ? "NaN" : x > 0 ? "Inf" : "-Inf");
        return;
    }
    do snprintf(text, size, "%.*e", digits, x);
    while ((float)strtod(text, NULL) != (float)x && ++digits < 9);
    const long exponent = strtol(strchr(text, 'e') + 1, NULL, 10);
    const double near = strtod(text, NULL);
    if (exponent < -4 || exponent > 15) snprintf(text, size, "%.*g", digits + 1, near);
    else snprintf(text, size, "%.*f", digits - exponent > 1 ? (int)(digits - exponent) : 1, near);
}

/* Room for any value that ws_tell writes. */
#define WS_TEXT 64

WS_API int ws_tell(char type, ws_value v, char *text, size_t size) {
    if (type == 'p') {
        char first[32];
        ws_tell_single(ws_pair_first(v.i), first, sizeof first);
        return snprintf(text, size, "(%s, %" PRId64 ")", first, ws_pair_second(v.i));
    }
    if (type == 'f') return snprintf(text, size, "%.17g", v.f);
    if (type == 'b') return snprintf(text, size, "%s", v.i ? "true" : "false");
    return snprintf(text, size, "%" PRId64, v.i);
}

/* A text that grows as far as there is room. */
typedef struct { char *text; size_t size, used; } ws_text;

WS_API __attribute__((format(printf, 2, 3))) void ws_add(ws_text *to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(to->text + to->used, to->size - to->used, format, values);
    va_end(values);
    if (n > 0) to->used = (size_t)n < to->size - to->used ? to->used + (size_t)n : to->size - 1;
}

/* The tensor that a buffer is of. */
WS_API const char *ws_tensor(const ws_session *s, const ws_buffer *b) {
    for (const ws_instance *x = s->run.instances; x; x = x->made_before)
        if (b >= x->buffers && b < x->buffers + x->group->buffers) return ws_printed.titles[x->group - s->groups].tensor;
    return "a tensor";
}

/* Which tasks wait for which locks. */
WS_API void ws_add_blocked(ws_text *to, const ws_session *s) {
    const ws_run *run = &s->run;
    const int64_t known = run->stuck < WS_BLOCKED ? run->stuck : WS_BLOCKED;
    int64_t last = 0; /* the task before, by its id */
    for (int64_t told = 0; told < known; told++) {
        const ws_blocked *w = NULL;
        const char *holder = NULL;
        for (const ws_blocked *o = run->blocked; o < run->blocked + known; o++)
            if (o->task > last && (!w || o->task < w->task)) w = o;
        for (const ws_blocked *o = run->blocked; o < run->blocked + known; o++)
            if (o->task == w->holder) holder = o->name;
        last = w->task;
        ws_add(to, "%stask %s waits for the lock of fiber %" PRId64 " of %s, ", told == 0 ? "" : "; ", w->name, w->lock,
               ws_tensor(s, w->buffer));
        if (w->holder == w->task) ws_add(to, "which it holds itself");
        else if (holder) ws_add(to, "held by task %s", holder);
        else if (*w->above) ws_add(to, "held by task %s, which waits for its tasks to end", w->above);
        else ws_add(to, "held by another task");
    }
    if (run->stuck > known) ws_add(to, "; and %" PRId64 " more tasks wait", run->stuck - known);
}

/* The message of a place, with its values. */
WS_API void ws_add_message(ws_text *to, const ws_run *run, const ws_site *site) {
    for (const char *m = site->message; *m; m++) {
        if (*m != '{') {
            ws_add(to, "%c", *m);
            continue;
        }
        char *end, value[WS_TEXT] = "…";
        const long k = strtol(m + 1, &end, 10);
        if (site->types[k] == 'I') ws_tell('i', run->values[k], value, sizeof value);
        else if (run->registers) ws_tell(site->types[k], run->registers[k], value, sizeof value);
        ws_add(to, "%s", value);
        m = end;
    }
}

/* What went wrong, as text. */
const char *ws_session_fault(const ws_session *s, char *text, size_t size) {
    const ws_run *run = &s->run;
    const ws_site *site = run->where < 0 ? &(ws_site){"", "", ""} : &ws_printed.sites[run->where];
    const int64_t x = run->values[0].i;
    const char *tensor = run->buffer ? ws_tensor(s, run->buffer) : "memory";
    ws_text to = {text, size, 0};
    if (*site->where) ws_add(&to, "%s: ", site->where);
    switch (run->fault) {
        case WS_NONE: ws_add(&to, "no fault"); break;
        case WS_OPERATOR:
        case WS_CHECK: ws_add_message(&to, run, site); break;
        case WS_NO_CELL:
            if (x < 1) ws_add(&to, "%s has no cell %" PRId64, tensor, x);
            else ws_add(&to, "%s has outgrown the address space reserved for it at cell %" PRId64, tensor, x);
            break;
        case WS_NARROW: ws_add(&to, "%" PRId64 " does not fit a cell of %s", x, tensor); break;
        case WS_READ_ONLY: ws_add(&to, "%s is read only", tensor); break;
        case WS_MEMORY:
            ws_add(&to, "out of memory: the run needs %" PRId64 " bytes, which is more than its limit", x);
            break;
        case WS_NO_CHILD: ws_add(&to, "there is no copy with number %" PRId64, x); break;
        case WS_THREADS: ws_add(&to, "the system cannot start %" PRId64 " more thread%s", x, x == 1 ? "" : "s"); break;
        case WS_DEADLOCK:
            ws_add(&to, "deadlock: ");
            ws_add_blocked(&to, s);
            break;
        case WS_SPACE: ws_add(&to, "out of memory: the system has no address space left"); break;
        case WS_INTERRUPTED: ws_add(&to, "interrupted"); break;
    }
    return text;
}

/* --------------------------------------------------------------------------------------------------------------- main */

/* How a file of inputs begins; then come the identity of the program, the number of bytes that follow and their sum. */
#define WS_HEAD "Printed by wingspan: inputs of a command\n       "

#define WS_SPOILED "it is spoiled; print it anew by wingspan emit-c --main"

/* The sum of the words of a file of inputs, the k-th times 2k + 1. */
WS_API uint64_t ws_sum(const uint64_t *words, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t k = 0; k < count; k++) sum += words[k] * (2 * k + 1);
    return sum;
}

/* Set one buffer from a record: group, buffer, number of keys, number of cells, keys, cells; each 8 bytes, or ending at
 * a multiple of 8. Of a hash table each cell is a key and a value. How many words that are of `count`; 0 if it is none, or
 * there is no memory, which is noted then. */
WS_API uint64_t ws_record(ws_session *s, const int64_t *words, uint64_t count) {
    if (count < 4) return 0;
    const int64_t group = words[0], buffer = words[1], keys = words[2], cells = words[3];
    if (group < 0 || group >= ws_printed.count || buffer < 0 || buffer >= s->groups[group].buffers || cells < 0) return 0;
    int64_t deep = 0;
    for (int64_t g = group; s->groups[g].parent >= 0; g = s->groups[g].parent) deep++;
    if (keys != deep || (uint64_t)keys > count - 4) return 0;
    const bool hashed = s->groups[group].shapes[buffer].hashed;
    const uint64_t wide = hashed ? 16 : ws_bytes[s->groups[group].shapes[buffer].width], rest = count - 4 - (uint64_t)keys;
    if ((uint64_t)cells > rest * 8 / wide) return 0;
    const int64_t *data = words + 4 + keys;
    ws_instance *x = ws_session_instance(s, group, words + 4, keys);
    bool good = x && (hashed || ws_session_set(s, x, buffer, data, cells, true));
    for (int64_t i = 0; good && hashed && i < cells; i++) good = ws_session_put(s, x, buffer, data[2 * i], data[2 * i + 1]);
    return good ? 4 + (uint64_t)keys + ws_round((uint64_t)cells * wide, 8) / 8 : 0;
}

/* Set the inputs from a file. NULL, or what is wrong with it, or "" with a fault noted. */
WS_API const char *ws_read(ws_session *s, FILE *file) {
    char head[sizeof WS_HEAD - 1];
    uint64_t about[3], at = 0;
    if (fread(head, sizeof head, 1, file) != 1 || memcmp(head, WS_HEAD, sizeof head)) return "it holds no inputs that wingspan printed";
    if (fread(about, sizeof about, 1, file) != 1) return WS_SPOILED;
    if (about[0] != ws_printed.identity) return "it holds inputs of another program, or with other extents; print them anew by wingspan emit-c --main";
    const uint64_t count = about[1] / 8;
    const long here = ftell(file), end = here < 0 || fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (end >= 0 && ((uint64_t)(end - here) != about[1] || fseek(file, here, SEEK_SET)))
        return WS_SPOILED;
    int64_t *words = about[1] < SIZE_MAX ? malloc(about[1] + 1) : NULL;
    if (!words) {
        ws_fail(&s->outside, WS_SPACE, NULL, 0, 0);
        return "";
    }
    const char *wrong = NULL;
    if (fread(words, 1, about[1], file) != about[1]) wrong = ferror(file) ? strerror(errno) : WS_SPOILED;
    else if (fgetc(file) != EOF) wrong = WS_SPOILED;
    else if (about[1] % 8 || ws_sum((const uint64_t *)words, count) != about[2]) wrong = WS_SPOILED;
    while (!wrong && at < count) {
        const uint64_t used = ws_record(s, words + at, count - at);
        const ws_fault fault = s->outside.fault;
        if (used == 0) wrong = fault == WS_MEMORY || fault == WS_SPACE ? "" : WS_SPOILED;
        at += used;
    }
    free(words);
    return wrong;
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
    const ws_title *title = &ws_printed.titles[x->group - s->groups];
    const void *data;
    int64_t n = ws_session_cells(x, k, &data);
    ws_print_path(s, x);
    printf(" %s:", title->buffers[k]);
    if (b->width == WS_HASHED) {
        for (const ws_entry *e = data; n > 0; n--, e++)
            if (e->value) printf(" %" PRId64 ":%" PRId64, e->key, e->value);
    } else {
        const size_t bytes = ws_bytes[b->width];
        while (n > 0 && !memcmp((const char *)data + (size_t)(n - 1) * bytes, "\0\0\0\0\0\0\0", bytes)) n--;
        for (int64_t i = 1; i <= n; i++) {
            char text[WS_TEXT];
            ws_tell(title->types[k], ws_load(b, i, WS_PLAIN), text, sizeof text);
            printf(" %s", text);
        }
    }
    printf("\n");
}

/* Print a text from outside without what a terminal would obey. */
WS_API void ws_print_visible(FILE *to, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        const bool marks = c[0] == 0xe2 && (c[1] == 0x80 || c[1] == 0x81); /* ends of lines and directions are there */
        const int more = c[0] < 0xc3 || c[0] > 0xf4 || marks ? 0 : c[0] < 0xe0 ? 1 : c[0] < 0xf0 ? 2 : 3;
        int there = 0;
        while (there < more && c[there + 1] >= 0x80 && c[there + 1] < 0xc0) there++;
        if (more ? there < more : c[0] < 0x20 || c[0] > 0x7e) {
            fprintf(to, "\\x%02x", c[0]);
            continue;
        }
        fwrite(c, 1, (size_t)more + 1, to);
        c += more;
    }
}

/* What is wrong outside of the program: `about`, and why, if that is not said before it. */
WS_API int ws_quit(const char *before, const char *about, const char *why) {
    fputs(before, stderr);
    ws_print_visible(stderr, about);
    fprintf(stderr, "%s%s\n", *about && *why ? ": " : "", why);
    return 2;
}

WS_API int ws_usage(FILE *to, const char *inputs, int status) {
    if (inputs) {
        fputs("usage: [INPUTS] [--max-memory BYTES]\n  INPUTS  a file of inputs; if none is given, ", to);
        ws_print_visible(to, inputs);
        fputs("\n", to);
    } else {
        fputs("usage: [--max-memory BYTES]\n", to);
    }
    return status;
}

/* A number of bytes; false if the text is none. */
WS_API bool ws_number(const char *text, uint64_t *n) {
    char *end;
    errno = 0;
    *n = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

WS_API int ws_fault_status(const ws_session *s) {
    char text[4096];
    fprintf(stderr, "%s\n", ws_session_fault(s, text, sizeof text));
    return 1;
}

/* Print the variables, and the buffers of the outputs. */
WS_API int ws_print_results(ws_session *s) {
    for (int64_t i = 0; ws_printed.variables[i]; i++) {
        char text[WS_TEXT];
        ws_tell(ws_printed.types[i], s->results[i], text, sizeof text);
        printf("%s = %s\n", ws_printed.variables[i], text);
    }
    for (ws_instance *x = s->run.instances; x; x = x->made_before)
        for (int64_t k = 0; x->used && ws_printed.titles[x->group - s->groups].output && k < x->group->buffers; k++)
            ws_print(s, x, k);
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    return ws_quit("standard output: ", "", strerror(errno));
}

WS_API int ws_command(ws_session *s, int argc, char **argv, const char *inputs) {
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        uint64_t bytes;
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) return ws_usage(stdout, inputs, 0);
        if (!strcmp(argv[i], "--max-memory")) {
            if (i + 1 == argc) return ws_quit("--max-memory needs a number of bytes", "", "");
            if (!ws_number(argv[++i], &bytes)) return ws_quit("--max-memory takes a number of bytes, not ", argv[i], "");
            ws_session_limit(s, bytes);
        } else if (inputs && !path && argv[i][0] != '-') {
            path = argv[i];
        } else {
            ws_quit("there is nothing to do with ", argv[i], "");
            return ws_usage(stderr, inputs, 2);
        }
    }
    if (inputs) {
        if (!path) path = inputs;
        FILE *file = fopen(path, "rb");
        if (!file) return ws_quit("", path, errno == ENOENT ? "no such file; give the path of the inputs" : strerror(errno));
        const char *wrong = ws_read(s, file);
        fclose(file);
        if (wrong && *wrong) return ws_quit("", path, wrong);
        if (wrong) {
            ws_stop(&s->outside, -1, NULL, 0);
            return ws_fault_status(s);
        }
    }
    if (ws_session_run(s)) return ws_fault_status(s);
    return ws_print_results(s);
}

/* Run the program on the inputs in a file, this one unless the arguments name another, and print its results. The exit
 * status is 1 if the run fails, 2 if it cannot begin or its results cannot be printed. */
WS_API int ws_main(int argc, char **argv, const char *inputs) {
    ws_session *s = ws_session_open();
    if (!s) return ws_quit("out of memory: the system has no address space left", "", "");
    const int status = ws_command(s, argc, argv, inputs);
    ws_session_close(s);
    return status;
}

#endif
