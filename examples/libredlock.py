#!/usr/bin/env python3
"""libredlock.py LIBRARY SERVERS [PIECES]: work under a lock that is kept, stopped if it is lost.

  make examples
  python3 examples/libredlock.py build/examples/libredlock.so 10.0.0.1,10.0.0.2,10.0.0.3
"""
import sys, time
from ctypes import CDLL, c_char_p, c_int, c_int64, c_uint32, c_void_p

lib = CDLL(sys.argv[1])
lib.libredlock_new.restype = c_void_p
lib.libredlock_new.argtypes = c_char_p, c_uint32, c_uint32, c_int
lib.libredlock_acquire.argtypes = c_void_p, c_char_p, c_uint32, c_uint32
lib.libredlock_wait.argtypes = c_void_p, c_int64
lib.libredlock_remaining_ms.argtypes = c_void_p,
lib.libredlock_remaining_ms.restype = c_int64
lib.libredlock_release.argtypes = lib.libredlock_free.argtypes = c_void_p,
lib.libredlock_text.restype = c_char_p

TTL_MS, WAIT_MS, MARGIN_MS, PIECE_MS = 5000, 3000, 500, 100
PIECES = int((sys.argv[3:] or [100])[0])

lock = lib.libredlock_new(sys.argv[2].encode(), MARGIN_MS, 0, 0)  # the margin: a piece takes less
status = lib.libredlock_acquire(lock, b'report:2024', TTL_MS, WAIT_MS)
if status: sys.exit('acquire: ' + lib.libredlock_text(status).decode())
for piece in range(PIECES):
    if not lib.libredlock_wait(lock, 0):  # called far more often than every quarter of the ttl
        left_ms = lib.libredlock_remaining_ms(lock)
        sys.exit('the lock cannot be kept: stopped with %d ms left' % left_ms)
    time.sleep(PIECE_MS / 1000)  # the work
lib.libredlock_release(lock)
lib.libredlock_free(lock)
