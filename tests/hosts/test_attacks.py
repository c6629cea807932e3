#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers attack the ports by which PEs of several machines reach each other, without effect.
They are on a machine that is not the job's, or are other users of the job's machines.

Invariant: a stranger attacks every port of every PE, also those that only a user of the same
machine reaches. ATTACKS=NAME,... in the environment: only these.
"""
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

import jobs
from jobs import SHMEM_PROGRAM

STRANGER = 65532
ATTACKS_OF_BYTES = ["short_header", "messages_of_ucx", "replay", "garbage"]
ATTACKS_BY_NUMBERS = ["slow_senders", "half_open", "many_connections", "held_connections"]
CHOSEN = os.environ.get("ATTACKS", "").split(",") if os.environ.get("ATTACKS") else None
MOST_GROWTH = 16 << 10  # KiB of memory of a PE
# descriptors that they may have of a PE: those that are kept, and those of one look
MOST_STRANGERS = 128 + 16
with open(os.path.join(jobs.HERE, "stranger.py"), encoding="utf-8") as program:
    PROGRAM = program.read()


class Recorder:
    """The traffic between the machines by nodea's cable, as streams of TCP."""

    def __enter__(self):
        self.packets, self.ends = [], False
        self.cable = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
        self.cable.bind(("port1", 0x0003))
        self.cable.settimeout(0.1)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def listen(self):
        while not self.ends:
            try:
                self.packets.append(self.cable.recv(1 << 17))
            except TimeoutError:
                pass

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
        self.cable.close()

    def streams(self):
        """Each one's bytes from its beginning, the shortest first."""
        parts, machines = {}, {socket.inet_aton(jobs.simulated[name].ip_address)
                               for name in ("nodea", "nodeb")}
        for packet in self.packets:
            if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP or not machines >= {
                    packet[12:16], packet[16:20]}:
                continue
            tcp = packet[4 * (packet[0] & 15):struct.unpack(">H", packet[2:4])[0] or len(packet)]
            flow = packet[12:20] + tcp[:4]
            data = tcp[4 * (tcp[12] >> 4):]
            if data:
                parts.setdefault(flow, {})[struct.unpack(">I", tcp[4:8])[0]] = data
        return sorted((b"".join(data for _, data in sorted(flow.items()))
                       for flow in parts.values()), key=len)


def has_users():
    """Whether processes here can become other users."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return any(int(words[0]) <= STRANGER < int(words[0]) + int(words[2])
                   for words in map(str.split, file))


class Attacks:
    network = None
    recorded = None

    def streams(self):
        """Of another job, recorded once."""
        if type(self).recorded is None:
            with Recorder() as recorder:
                self.assert_right(self.run_job([1, 1], SHMEM_PROGRAM, "ring",
                                               settings={"MESHMEM_NETWORK": self.network}))
            type(self).recorded = [stream.hex()
                                   for stream in recorder.streams() if len(stream) > 20]
            self.assertNotEqual(self.recorded, [], "no connection of another job was recorded")
        return self.recorded

    def commands(self, attack):
        """The words of each stranger who makes this attack."""
        for name in ("nodea", "nodeb"):
            for pid in jobs.simulated[name].processes():
                for ip, port in jobs.listening(pid):
                    words = [sys.executable, "-c", PROGRAM, attack, ip, str(port)]
                    if not ip.startswith("127."):
                        yield jobs.simulated["nodec"].words(*words)
                    if has_users():
                        user = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}",
                                "--clear-groups"]
                        yield jobs.simulated[name].words(*user, *words)

    def attack(self, attack):
        strangers = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, cwd="/")
                     for words in self.commands(attack)]
        self.assertNotEqual(strangers, [], "no PE listens")
        for stranger in strangers:
            stranger.stdin.write(json.dumps(self.recorded).encode())
            stranger.stdin.close()
        deadline, most = time.monotonic() + 60, {}
        while any(stranger.poll() is None
                  for stranger in strangers) and time.monotonic() < deadline:
            for pe, count in self.descriptors().items():
                most[pe] = max(count, most.get(pe, 0))
            time.sleep(0.1)
        for stranger in strangers:
            said = stranger.stdout.read().decode(errors="replace")
            stranger.stdout.close()
            self.assertEqual(stranger.wait(timeout=60), 0, said)
        return most

    def descriptors(self):
        """The number of open descriptors of each PE."""
        return {pe: len(os.listdir(f"/proc/{pid}/fd")) for pe, pid in self.pes().items()}

    def assert_descriptors_are(self, before, attacks):
        deadline = time.monotonic() + 20  # a stranger's may be kept for five seconds
        while (now := self.descriptors()) != before and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(now, before, f"PEs keep descriptors of {attacks}")

    def memory(self):
        """Of all PEs, in KiB."""
        memory = {}
        for pe, pid in self.pes().items():
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                memory[pe] = next(int(line.split()[1])
                                  for line in file if line.startswith("VmRSS:"))
        return memory

    def assert_survives(self, attacks):
        attacks = [attack for attack in attacks if CHOSEN is None or attack in CHOSEN]
        if not attacks:
            self.skipTest("not among ATTACKS")
        self.streams()
        go = os.path.join(self.folder, "go")
        process = self.start([1, 2], SHMEM_PROGRAM, "until",
                             go, settings={"MESHMEM_NETWORK": self.network})
        for _ in range(3):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        before, descriptors = self.memory(), self.descriptors()
        for attack in attacks:
            for pe, count in self.attack(attack).items():
                self.assertLessEqual(count, descriptors[pe] + MOST_STRANGERS,
                                     f"PE {pe} holds too many connections of {attack}")
                if (self.network, attack) == ("tcp", "held_connections"):
                    self.assertGreater(count, descriptors[pe] + 20, "no stranger came")
            self.assertIsNone(process.poll(), f"the job has ended by {attack}")
        self.assert_descriptors_are(descriptors, attacks)
        after = self.memory()
        with open(go, "wb"):
            pass
        result = self.finish(process)
        self.assertEqual(result.status, 0, f"{attacks}: {result}")
        self.assertEqual(after.keys(), before.keys(), f"PEs have ended: {result}")
        for pe, kib in after.items():
            self.assertLess(kib - before[pe], MOST_GROWTH,
                            f"PE {pe} has grown from {before[pe]} KiB by {attacks}")
        self.assert_nothing_left()

    def test_bytes(self):
        self.assert_survives(ATTACKS_OF_BYTES)

    def test_numbers(self):
        self.assert_survives(ATTACKS_BY_NUMBERS)


class OverTcp(Attacks, jobs.JobTest):
    network = "tcp"


@jobs.needs_ucx
class OverUcx(Attacks, jobs.JobTest):
    network = "ucx"


if __name__ == "__main__":
    jobs.main()
