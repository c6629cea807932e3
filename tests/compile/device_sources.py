# SPDX-License-Identifier: Apache-2.0
"""Tells instructions.py about device code as it is written: its lines, and which of its functions
synchronize.

Invariant: a function synchronizes if it calls one of the verbs below; who only passes a call on to
such functions, by another type or group, need not be read.
"""
import pathlib
import re

# Those of device/memory.hpp, and what algorithms are made of.
VERBS = {"load_relaxed", "store_relaxed", "load_pair", "store_pair", "fetch_add", "exchange",
         "compare_exchange", "release_all", "release_mine", "acquire_all", "acquire_mine",
         "acquire_shared", "complete_all", "acquire_fence", "release_fence", "full_fence",
         "before_get", "load_of_get", "send_line", "receive_line", "receive_from_each",
         "send_blocks", "receive_lines", "begin_packets", "poll_until", "poll_for",
         "poll_and_acquire", "after_test", "meet", "announce", "await", "update_signal",
         "wipe_packets", "apply_atomic"}
# Other targets' code, the verbs themselves, and what checks alone have.
LEFT_OUT = re.compile(
    r"device/(memory\w*|collectives/wide_lines|same_call|late_waits|"
    r"kernels/(line_ends|broadcast_lines|single_wide_line))\.hpp")
CALL = re.compile(r"(?<!\w)(\w+)(?:<[^;(){}]*>)?[({]")
DEFINITION = re.compile(r"^ *(?:\[\[noreturn\]\] )?MESHMEM_DEVICE\w*\s[^;{}()]*?(\w+)\((?!\))?",
                        re.M)


def body_after(text, start):
    """From the first brace to the one that closes it; nothing where the function is only
    declared."""
    opened = text.find("{", start)
    ended = text.find(";", start)
    if opened < 0 or 0 <= ended < opened:
        return ""
    depth = 0
    for at in range(opened, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[opened:at]
    return text[opened:]


class Sources:
    def __init__(self, top):
        self.top, self.lines = pathlib.Path(top), {}

    def line(self, file, number):
        """A line of a file of the repository; nothing of other files."""
        if file not in self.lines:
            path = self.top / (file or "")
            self.lines[file] = path.read_text().splitlines() if path.is_file() else []
        return self.lines[file][number - 1] if 0 < number <= len(self.lines[file]) else ""

    def functions(self):
        """Triples of file, name and body."""
        for path in sorted(self.top.glob("device/**/*.hpp")):
            file = str(path.relative_to(self.top))
            if LEFT_OUT.match(file) or "hip_on_" in file:
                continue
            text = re.sub(r"//.*", "", path.read_text())
            for found in DEFINITION.finditer(text):
                if not found.group(1).startswith("_"):  # a piece of a name, in a macro
                    yield file, found.group(1), body_after(text, found.end())

    def synchronizing(self):
        """Pairs of file and name."""
        return {(file, name)
                for file, name, body in self.functions() if set(CALL.findall(body)) & VERBS}
