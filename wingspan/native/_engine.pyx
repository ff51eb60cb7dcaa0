"""The register machine: runs the instructions of `assemble` on threads of the system, without the interpreter's lock.

instructions.h has the instructions, runtime.h the runtime. Arguments are trusted: `engine` checks them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from wingspan.runtime._memory cimport Memory
from wingspan.runtime.runtime cimport WS_NONE, ws_habit, ws_run, ws_task, ws_value

cdef extern from "instructions.h" nogil:
    enum:
        WS_COLUMNS, WS_FRAME_HEAD, WS_OPCODES, WS_LOAD_OPCODE
    const char **ws_names
    const char **ws_operands
    ctypedef struct ws_code:
        const int64_t *table
        size_t slots
        ws_habit *habits
    int64_t ws_execute(ws_task *, ws_value *, const ws_code *, int64_t, bint)
    void ws_execute_frame(ws_task *, void *) noexcept

OPCODES = {ws_names[k].decode(): ws_operands[k].decode() for k in range(WS_OPCODES)}
"""The instructions by name, each with the meaning of r, a, b, c, d: `w` a slot that is written, `u` one that is used, `.`
the number itself. An instruction's opcode is its place in this list.
"""


cdef class Program:
    """Instructions over a number of slots: `table` has a row of six numbers for each."""

    cdef ws_code code
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
        cdef ws_value *frame = <ws_value *>malloc(size + WS_FRAME_HEAD * sizeof(ws_value))
        if frame == NULL:
            raise MemoryError
        frame[0].p = &self.code
        frame[1].i = 0
        memcpy(frame + WS_FRAME_HEAD, PyBytes_AS_STRING(registers), size)
        try:
            memory.drive(ws_execute_frame, frame, in_order, yields, seed)
            return PyBytes_FromStringAndSize(<char *>(frame + WS_FRAME_HEAD), size), self.fault(&memory.state)
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
                pc = ws_execute(&task, r, &self.code, pc, True)
            if task.fault != WS_NONE or self.code.table[WS_COLUMNS * pc] >= WS_LOAD_OPCODE:
                return pc, file
            PyErr_CheckSignals()
