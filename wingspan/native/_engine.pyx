"""The register machine: runs the instructions of `assemble` on threads of the system, without the interpreter's lock.

`code.OPCODES` defines the instructions, runtime.h the runtime. Arguments are trusted:
`engine` checks them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset


from wingspan.runtime._memory cimport Memory
from wingspan.runtime.runtime cimport *


cdef enum:  # in the order of code.OPCODES
    MOVE, SELECT, SELECT_EQ, SELECT_LT, AND, OR, NOT, TO_FLOAT
    INT_ADD, INT_SUB, INT_MUL, INT_DIV, INT_MOD, INT_MIN, INT_MAX
    INT_EQ, INT_NE, INT_LT, INT_LE, INT_GT, INT_GE
    FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, FLOAT_MIN, FLOAT_MAX
    INT_BITS, INT_COMMON, INT_DIFFERENT, INT_BIT, INT_SINCE, INT_FIRST, INT_REST, INT_COUNT
    FLOAT_MULADD, FLOAT_ABS, FLOAT_NEG, FLOAT_SAME, FLOAT_ALIKE
    FLOAT_F32
    FLOAT_PAIR, INT_PAIR_FIRST, INT_PAIR_SECOND, INT_MAXBY
    FLOAT_EQ, FLOAT_NE, FLOAT_LT, FLOAT_LE, FLOAT_GT, FLOAT_GE
    TRY_INT_ADD, TRY_INT_SUB, TRY_INT_MUL, TRY_INT_DIV, TRY_INT_MOD, TRY_INT_LEFT, TRY_INT_RIGHT, TRY_INT_GCD
    TRY_INT_MULADD, TRY_INT_NEG, TRY_INT_ABS
    TRY_FLOAT_DIV, TRY_FLOAT_MOD, TRY_FLOAT_OVER, TRY_ISQRT, TRY_INT
    CHECK, JUMP, UNLESS, UNLESS_EQ, UNLESS_NE, UNLESS_LT, UNLESS_LE, BACK
    LOAD, LOOK, STORE, ATOMIC, ATOMIC_MULADD, SWAP, CLAIM, ACQUIRE, RELEASE, SORT
    CHILD, FRESH, DROP
    PAR, DONE, JOINED, HALT
    COUNT_OF_OPCODES

OPCODE_COUNT = COUNT_OF_OPCODES

cdef enum:
    COLUMNS = 6
    HEAD = 2  # the words of a frame before its registers: the code, and the start
    PATIENCE = 1 << 24  # jumps backwards after which private work checks for signals

cdef struct Instructions:
    const int64_t *table
    size_t slots
    ws_habit *habits  # of parallel regions, by row of the table


cdef inline ws_buffer *buffer(const ws_value *r, const int64_t *row) noexcept nogil:
    return &(<ws_instance *>r[row[2]].p).buffers[row[4]]


cdef inline bint undefined(ws_task *t) noexcept nogil:
    return ws_fail(t, WS_OPERATOR, NULL, 0, 0)


cdef int64_t perform(ws_task *t, ws_value *r, const Instructions *code, int64_t pc, bint controlled) noexcept nogil:
    """Run a task from instruction pc to its end, and stop the run if it fails; controlled, to its next rest or failure.

    Returns the number of the instruction at which it stops.
    """
    cdef const int64_t *table = code.table
    cdef const int64_t *row = table + COLUMNS * pc
    cdef int64_t op, patience = PATIENCE
    cdef bint watched = controlled or t.run.yields
    cdef ws_order order = t.run.order
    cdef bint good
    while True:
        op = row[0]
        good = True
        if watched and op >= LOAD:
            if controlled and op != JOINED:
                break
            if op <= SORT:
                ws_yield(t)
        if op == MOVE:
            r[row[1]] = r[row[2]]
        elif op == SELECT:
            r[row[1]] = r[row[3]] if r[row[2]].i else r[row[4]]
        elif op == SELECT_EQ:
            r[row[1]] = r[row[4]] if r[row[2]].i == r[row[3]].i else r[row[5]]
        elif op == SELECT_LT:
            r[row[1]] = r[row[4]] if r[row[2]].i < r[row[3]].i else r[row[5]]
        elif op == AND:
            r[row[1]].i = r[row[2]].i & r[row[3]].i
        elif op == OR:
            r[row[1]].i = r[row[2]].i | r[row[3]].i
        elif op == NOT:
            r[row[1]].i = not r[row[2]].i
        elif op == TO_FLOAT:
            r[row[1]].f = <double>r[row[2]].i
        elif op == INT_ADD:
            r[row[1]].i = <int64_t>(<uint64_t>r[row[2]].i + <uint64_t>r[row[3]].i)
        elif op == INT_SUB:
            r[row[1]].i = <int64_t>(<uint64_t>r[row[2]].i - <uint64_t>r[row[3]].i)
        elif op == INT_MUL:
            r[row[1]].i = <int64_t>(<uint64_t>r[row[2]].i * <uint64_t>r[row[3]].i)
        elif op == INT_DIV:
            if not ws_div_i64(r[row[2]].i, r[row[3]].i, &r[row[1]].i):
                r[row[1]].i = r[row[2]].i if r[row[3]].i else 0
        elif op == INT_MOD:
            if not ws_mod_i64(r[row[2]].i, r[row[3]].i, &r[row[1]].i):
                r[row[1]].i = 0
        elif op == INT_MIN:
            r[row[1]].i = r[row[3]].i if r[row[3]].i < r[row[2]].i else r[row[2]].i
        elif op == INT_MAX:
            r[row[1]].i = r[row[3]].i if r[row[3]].i > r[row[2]].i else r[row[2]].i
        elif op == INT_EQ:
            r[row[1]].i = r[row[2]].i == r[row[3]].i
        elif op == INT_NE:
            r[row[1]].i = r[row[2]].i != r[row[3]].i
        elif op == INT_LT:
            r[row[1]].i = r[row[2]].i < r[row[3]].i
        elif op == INT_LE:
            r[row[1]].i = r[row[2]].i <= r[row[3]].i
        elif op == INT_GT:
            r[row[1]].i = r[row[2]].i > r[row[3]].i
        elif op == INT_GE:
            r[row[1]].i = r[row[2]].i >= r[row[3]].i
        elif op == FLOAT_ADD:
            r[row[1]].f = r[row[2]].f + r[row[3]].f
        elif op == FLOAT_SUB:
            r[row[1]].f = r[row[2]].f - r[row[3]].f
        elif op == FLOAT_MUL:
            r[row[1]].f = r[row[2]].f * r[row[3]].f
        elif op == FLOAT_MIN:
            r[row[1]].f = ws_min_f64(r[row[2]].f, r[row[3]].f)
        elif op == FLOAT_MAX:
            r[row[1]].f = ws_max_f64(r[row[2]].f, r[row[3]].f)
        elif op == INT_BITS:
            r[row[1]].i = r[row[2]].i | r[row[3]].i
        elif op == INT_COMMON:
            r[row[1]].i = r[row[2]].i & r[row[3]].i
        elif op == INT_DIFFERENT:
            r[row[1]].i = r[row[2]].i ^ r[row[3]].i
        elif op == INT_BIT:
            r[row[1]].i = ws_bit(r[row[2]].i)
        elif op == INT_SINCE:
            r[row[1]].i = ws_since(r[row[2]].i, r[row[3]].i)
        elif op == INT_FIRST:
            r[row[1]].i = ws_first(r[row[2]].i)
        elif op == INT_REST:
            r[row[1]].i = ws_rest(r[row[2]].i)
        elif op == INT_COUNT:
            r[row[1]].i = ws_count(r[row[2]].i)
        elif op == FLOAT_SAME:
            r[row[1]].i = r[row[2]].i == r[row[3]].i
        elif op == FLOAT_ALIKE:
            r[row[1]].i = ws_alike(r[row[2]].f, r[row[3]].f)
        elif op == FLOAT_MULADD:
            r[row[1]].f = ws_muladd_f64(r[row[2]].f, r[row[3]].f, r[row[4]].f)
        elif op == FLOAT_ABS:
            r[row[1]].f = fabs(r[row[2]].f)
        elif op == FLOAT_NEG:
            r[row[1]].f = -r[row[2]].f
        elif op == FLOAT_F32:
            r[row[1]].f = <float>r[row[2]].f
        elif op == FLOAT_PAIR:
            r[row[1]].i = ws_pair(r[row[2]].f, r[row[3]].i)
        elif op == INT_PAIR_FIRST:
            r[row[1]].f = ws_pair_first(r[row[2]].i)
        elif op == INT_PAIR_SECOND:
            r[row[1]].i = ws_pair_second(r[row[2]].i)
        elif op == INT_MAXBY:
            r[row[1]].i = ws_maxby(r[row[2]].i, r[row[3]].i)
        elif op == FLOAT_EQ:
            r[row[1]].i = r[row[2]].f == r[row[3]].f
        elif op == FLOAT_NE:
            r[row[1]].i = r[row[2]].f != r[row[3]].f
        elif op == FLOAT_LT:
            r[row[1]].i = r[row[2]].f < r[row[3]].f
        elif op == FLOAT_LE:
            r[row[1]].i = r[row[2]].f <= r[row[3]].f
        elif op == FLOAT_GT:
            r[row[1]].i = r[row[2]].f > r[row[3]].f
        elif op == FLOAT_GE:
            r[row[1]].i = r[row[2]].f >= r[row[3]].f
        elif op == CHECK:
            good = r[row[2]].i or ws_fail(t, WS_CHECK, NULL, 0, 0)
        elif op == JUMP:
            row = table + COLUMNS * row[1]
            continue
        elif op == UNLESS:
            if not r[row[2]].i:
                row = table + COLUMNS * row[1]
                continue
        elif op == UNLESS_EQ:
            if r[row[2]].i != r[row[3]].i:
                row = table + COLUMNS * row[1]
                continue
        elif op == UNLESS_NE:
            if r[row[2]].i == r[row[3]].i:
                row = table + COLUMNS * row[1]
                continue
        elif op == UNLESS_LT:
            if r[row[2]].i >= r[row[3]].i:
                row = table + COLUMNS * row[1]
                continue
        elif op == UNLESS_LE:
            if r[row[2]].i > r[row[3]].i:
                row = table + COLUMNS * row[1]
                continue
        elif op == BACK:
            row = table + COLUMNS * row[1]
            patience -= controlled
            if ws_leaves(t.run) or patience == 0:
                break
            continue
        elif op == LOAD:
            r[row[1]] = ws_load(buffer(r, row), r[row[3]].i, order)
        elif op == LOOK:
            r[row[1]] = ws_load(buffer(r, row), r[row[3]].i, WS_SEQ_CST)
        elif op == STORE:
            good = ws_store(t, buffer(r, row), r[row[3]].i, r[row[1]], order)
        elif op == ATOMIC:
            good = ws_atomic(t, buffer(r, row), r[row[3]].i, <ws_reduction>row[5], r[row[1]])
        elif op == ATOMIC_MULADD:
            good = ws_atomic_muladd(t, buffer(r, row), r[row[3]].i, r[row[5]].i, r[row[1]])
        elif op == SWAP:
            good = ws_swap(t, buffer(r, row), r[row[3]].i, &r[row[1]], r[row[5]])
        elif op == CLAIM:
            good = ws_claim(t, buffer(r, row), r[row[3]].i, r[row[5]].i, &r[row[1]].i)
        elif op == ACQUIRE:
            good = ws_acquire(t, buffer(r, row), r[row[3]].i)
        elif op == RELEASE:
            ws_release(t, buffer(r, row), r[row[3]].i)
        elif op == SORT:
            good = ws_sort(t, buffer(r, row), r[row[3]].i)
        elif op == CHILD:
            good = put(&r[row[1]], ws_child(t, row[4], <ws_instance *>r[row[2]].p, r[row[3]].i))
        elif op == FRESH:
            good = put(&r[row[1]], ws_fresh(t, row[4]))
        elif op == DROP:
            ws_drop(t, <ws_instance *>r[row[2]].p)
        elif op == PAR:
            good = par(t, r, code, row)
            if good:
                row = table + COLUMNS * row[2]
                continue
        elif op == JOINED:
            pass
        elif op == DONE or op == HALT:
            break
        else:
            good = attempt(r, row) or undefined(t)
        if not good:
            if not controlled:
                ws_stop(t, (row - table) // COLUMNS, r, code.slots)
            break
        row += COLUMNS
    return (row - table) // COLUMNS


cdef bint attempt(ws_value *r, const int64_t *row) noexcept nogil:
    """Run an operator that may be undefined; false if it is, and then nothing has changed."""
    cdef int64_t op = row[0], x = r[row[2]].i, y = r[row[3]].i, n = 0
    cdef double v = r[row[2]].f, w = r[row[3]].f
    cdef bint good
    if op >= TRY_FLOAT_DIV and op <= TRY_FLOAT_OVER:
        if op == TRY_FLOAT_DIV:
            return ws_div_f64(v, w, &r[row[1]].f)
        elif op == TRY_FLOAT_MOD:
            return ws_mod_f64(v, w, &r[row[1]].f)
        if w == 0:
            return False
        r[row[1]].f = v / w
        return True
    if op == TRY_INT_ADD:
        good = not __builtin_add_overflow(x, y, &n)
    elif op == TRY_INT_SUB:
        good = not __builtin_sub_overflow(x, y, &n)
    elif op == TRY_INT_MUL:
        good = not __builtin_mul_overflow(x, y, &n)
    elif op == TRY_INT_DIV:
        good = ws_div_i64(x, y, &n)
    elif op == TRY_INT_MOD:
        good = ws_mod_i64(x, y, &n)
    elif op == TRY_INT_LEFT:
        good = ws_left_i64(x, y, &n)
    elif op == TRY_INT_RIGHT:
        good = ws_right_i64(x, y, &n)
    elif op == TRY_INT_MULADD:
        good = ws_muladd_i64(x, y, r[row[4]].i, &n)
    elif op == TRY_INT_NEG:
        good = not __builtin_sub_overflow(0, x, &n)
    elif op == TRY_INT_ABS:
        good = not __builtin_sub_overflow(0, x, &n)
        if x >= 0:
            n, good = x, True
    elif op == TRY_ISQRT:
        good = ws_isqrt(x, &n)
    elif op == TRY_INT_GCD:
        good = ws_gcd_i64(x, y, &n)
    else:
        good = ws_int(v, &n)
    if good:
        r[row[1]].i = n
    return good


cdef inline bint put(ws_value *r, ws_instance *x) noexcept nogil:
    if x != NULL:
        r.p = x
    return x != NULL


cdef bint par(ws_task *t, ws_value *r, const Instructions *code, const int64_t *row) noexcept nogil:
    """Run the tasks of a parallel region, each with a copy of the registers."""
    cdef int64_t n = r[row[3]].i, k
    cdef size_t size = HEAD + code.slots
    cdef const int64_t *joined = code.table + COLUMNS * row[2]
    cdef ws_value *frames = <ws_value *>malloc(<size_t>n * size * sizeof(ws_value))
    cdef bint good
    if frames == NULL:
        return ws_fail(t, WS_SPACE, NULL, 0, 0)
    for k in range(n):
        frames[k * size].p = <void *>code
        frames[k * size + 1].i = (row - code.table) // COLUMNS + 1
        memcpy(&frames[k * size + HEAD], r, code.slots * sizeof(ws_value))
        frames[k * size + HEAD + row[1]].i = k + 1
    good = ws_par(t, n, begin, frames, size * sizeof(ws_value), &code.habits[(row - code.table) // COLUMNS])
    while joined[0] == JOINED:
        r[joined[1]].i = 0
        for k in range(n):
            r[joined[1]].i |= frames[k * size + HEAD + joined[1]].i
        joined += COLUMNS
    free(frames)
    return good


cdef void begin(ws_task *t, void *frame) noexcept nogil:
    """Run a task from its frame."""
    cdef ws_value *f = <ws_value *>frame
    perform(t, f + HEAD, <const Instructions *>f[0].p, f[1].i, False)


cdef class Program:
    """Instructions over a number of slots: `table` has a row of six numbers for each."""

    cdef Instructions code
    cdef const int64_t[:, ::1] table

    def __cinit__(self, const int64_t[:, ::1] table, size_t slots):
        self.table = table
        self.code.table = &table[0, 0]
        self.code.slots = slots
        self.code.habits = <ws_habit *>calloc(table.shape[0], sizeof(ws_habit))
        if self.code.habits == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.code.habits)

    def run(self, Memory memory, bytes registers, bint in_order, bint yields, uint64_t seed):
        """Run all; the register file at the end, and the fault: (what, values, instruction, registers), or None.

        See `Memory.drive` for the others.
        """
        cdef size_t size = 8 * self.code.slots
        cdef ws_value *frame = <ws_value *>malloc(size + HEAD * sizeof(ws_value))
        if frame == NULL:
            raise MemoryError
        frame[0].p = &self.code
        frame[1].i = 0
        memcpy(frame + HEAD, PyBytes_AS_STRING(registers), size)
        try:
            memory.drive(begin, frame, in_order, yields, seed)
            return PyBytes_FromStringAndSize(<char *>(frame + HEAD), size), self.fault(&memory.state)
        finally:
            free(frame)

    cdef fault(self, ws_run *run):
        if run.fault == WS_NONE:
            return None
        registers = b""
        if run.registers != NULL:
            registers = PyBytes_FromStringAndSize(<char *>run.registers, 8 * self.code.slots)
        values = PyBytes_FromStringAndSize(<char *>run.values, 2 * sizeof(ws_value))
        return run.fault, values, run.where, registers

    def settle(self, int64_t pc, bytes registers):
        """Run private instructions: where and with what registers it stops, before a rest, a need of help or a fault."""
        cdef ws_run run
        cdef ws_task task
        cdef bytes file = PyBytes_FromStringAndSize(PyBytes_AS_STRING(registers), 8 * self.code.slots)
        cdef ws_value *r = <ws_value *><char *>PyBytes_AS_STRING(file)
        memset(&run, 0, sizeof(run))
        memset(&task, 0, sizeof(task))
        task.run = &run
        while True:
            with nogil:
                pc = perform(&task, r, &self.code, pc, True)
            if task.fault != WS_NONE or self.code.table[COLUMNS * pc] >= LOAD:
                return pc, file
            PyErr_CheckSignals()
