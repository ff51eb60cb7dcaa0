"""The part of runtime.h that the extension modules use."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from "runtime.h" nogil:
    ctypedef union ws_value:
        int64_t i
        double f
        void *p
    ctypedef int ws_width
    ctypedef int ws_order
    ctypedef int ws_fault
    enum:
        WS_I64, WS_F64, WS_I32, WS_U8, WS_I8, WS_I16, WS_U16, WS_U32, WS_F32, WS_HASHED
        WS_PLAIN, WS_SEQ_CST
        WS_NONE
    ctypedef struct ws_habit:
        pass
    ctypedef struct ws_entry:
        int64_t key, value
    ctypedef struct ws_hash:
        uint64_t mask
        ws_entry *entries
    ctypedef struct ws_buffer:
        unsigned char *data
        uint64_t cells, reserved
        ws_width width
        ws_hash *hash
    ctypedef struct ws_shape:
        ws_width width
        bint hashed
        int64_t bound
        bint kept
    ctypedef struct ws_group:
        int64_t parent, keys, buffers
        const ws_shape *shapes
    ctypedef struct ws_instance:
        ws_group *group
        ws_instance *parent
        ws_instance *made_before
        int64_t key
        bint used
        ws_buffer *buffers
    ctypedef struct ws_run:
        ws_instance *instances
        uint64_t limit, committed, reservation, seed
        uint64_t *spare
        void (*reclaim)() noexcept
        ws_order order
        bint yields
        int (*ask)(void *) noexcept
        void *asked
        ws_fault fault
        int64_t where
        const ws_buffer *buffer
        ws_value *values
        ws_value *registers
    ctypedef struct ws_task:
        ws_run *run
        int64_t number
        ws_fault fault
        ws_value *values
    ctypedef void (*ws_body)(ws_task *, void *) noexcept nogil
    const uint64_t *ws_bytes
    bint ws_charge(ws_run *, uint64_t)
    bint ws_grow(ws_task *, ws_buffer *, int64_t)
    bint ws_store(ws_task *, ws_buffer *, int64_t, ws_value, ws_order)
    ws_instance *ws_root(ws_task *, int64_t)
    ws_instance *ws_child(ws_task *, int64_t, ws_instance *, int64_t)
    void ws_borrow(ws_buffer *, const void *, uint64_t, ws_width, int64_t)
    bint ws_open(ws_run *, ws_group *, int64_t)
    void ws_reset(ws_run *)
    void ws_close(ws_run *)
    void ws_begin(ws_run *, ws_body, void *)
    void ws_dismiss()
    uint64_t __atomic_add_fetch(uint64_t *, uint64_t, int)
    uint64_t __atomic_sub_fetch(uint64_t *, uint64_t, int)
    int __ATOMIC_RELAXED
