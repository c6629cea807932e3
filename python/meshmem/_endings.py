# SPDX-License-Identifier: Apache-2.0
"""How a PE's failure ends the job: uncaught exceptions, and Ctrl-C in a call of the library.

A call that waits for other PEs cannot be left half-way. So a thread watches for Ctrl-C: if the main
thread is still in the same call a moment later, it prints where, and ends the job.
"""
from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import traceback
import types
import typing

from . import _core

FAILED, INTERRUPTED = 1, 130
PATIENCE = 0.05  # seconds; oshrun kills PEs 0.25 s after Ctrl-C


def global_exit(status: int) -> typing.NoReturn:
    """Ends the job with this status, from any PE at any time (9.1, shmem_global_exit)."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    _core.global_exit(status)
    raise AssertionError


def _end_job(reason: str, lines: list[str], status: int) -> None:
    head = f"meshmem: PE {_core.my_pe()} of {_core.n_pes()} ends the job: {reason}\n"
    # PyTorch calls the hook with a StringIO as sys.stderr, which it prints when the hook returns.
    stream = (sys.__stderr__ if isinstance(sys.stderr, io.StringIO) else None) or sys.stderr
    try:
        sys.stdout.flush()
        stream.write(head + "".join(lines))
        stream.flush()
    finally:
        global_exit(status)


def _watch(reader: int, main: int) -> None:
    while number := os.read(reader, 1):
        call = _core.call_of_main_thread()
        if number[0] != signal.SIGINT or not call:
            continue
        time.sleep(PATIENCE)
        if _core.call_of_main_thread() != call or not _core.is_initialized():
            continue
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            continue
        stack = traceback.format_stack(sys._current_frames()[main])
        _end_job("interrupted in a call that waits",
                 ["Traceback (most recent call last):\n", *stack, "KeyboardInterrupt\n"],
                 INTERRUPTED)


def _watch_interrupts() -> None:
    main = threading.main_thread()
    if threading.current_thread() is not main:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before != -1:  # an event loop's
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
        return
    # Signals of a child of fork do not interrupt this process.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    threading.Thread(target=_watch, args=(reader, main.ident), daemon=True,
                     name="meshmem-interrupts").start()


def install() -> None:
    """Called by each init(); the second time it changes nothing."""
    if getattr(sys.excepthook, "is_meshmem", False):
        return
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException,
             where: typing.Optional[types.TracebackType]) -> None:
        # An interactive Python goes on after an exception.
        if not _core.is_initialized() or hasattr(sys, "ps1"):
            before(kind, error, where)
            return
        _end_job(f"{kind.__name__} was not caught", traceback.format_exception(kind, error, where),
                 INTERRUPTED if issubclass(kind, KeyboardInterrupt) else FAILED)

    setattr(hook, "is_meshmem", True)
    sys.excepthook = hook
    _watch_interrupts()
