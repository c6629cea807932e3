#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A launcher for one machine that speaks PMI-1 and no PMIx, for tests where MPICH's is not
installed.

    pmi_launcher.py -n N [--nodes K] [--no-mapping] [--values BYTES] [--answer CMD TEXT] PROGRAM...

--nodes: says that the PEs are on K machines. --values: as many bytes has the longest value.
--answer: says this to CMD, or nothing at all where TEXT is empty. Invariant: as mpiexec.hydra it
ends all PEs when one of them fails or asks for it; its status is then the first failure's.
"""
import argparse
import os
import selectors
import signal
import socket
import subprocess
import sys


def words_of(line):
    return dict(word.split("=", 1) for word in line.decode().split(" ") if "=" in word)


class Launcher:
    def __init__(self, options):
        self.options = options
        self.answers = dict(options.answer)
        self.store = {}
        if not options.no_mapping:
            self.store["PMI_process_mapping"] = (
                f"(vector,(0,{options.nodes},{-(-options.n // options.nodes)}))")
        self.status = None  # of the first PE that has failed
        self.in_barrier = []
        self.selector = selectors.DefaultSelector()
        self.pes = [self.start(rank) for rank in range(options.n)]

    def start(self, rank):
        ours, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PMI", "OMPI_"))}
        environment.update(PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank),
                           PMI_SIZE=str(self.options.n))
        with theirs:
            process = subprocess.Popen(self.options.program, env=environment,
                                       pass_fds=[theirs.fileno()])
        self.selector.register(ours, selectors.EVENT_READ, (process, bytearray()))
        return process

    def run(self):
        while self.selector.get_map() and self.status is None:
            for key, _ in self.selector.select():
                self.read(key.fileobj, *key.data)
        if self.status is not None:
            self.end_all()
        for process in self.pes:
            self.see_end(process)
        return self.status or 0

    def end_all(self):
        for process in self.pes:
            if process.poll() is None:
                process.terminate()
        for process in self.pes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()

    def read(self, connection, process, received):
        try:
            new = connection.recv(65536)
        except ConnectionResetError:
            new = b""
        received += new
        while b"\n" in received:
            line, _, rest = received.partition(b"\n")
            received[:] = rest
            self.answer(connection, words_of(line))
        if not new:
            self.close(connection)
            self.see_end(process)
            self.fail(1)  # it left without a goodbye

    def close(self, connection):
        self.selector.unregister(connection)
        connection.close()

    def answer(self, connection, words):
        command = words["cmd"]
        text = self.answers.get(command)
        if command == "barrier_in" and text is None:
            self.in_barrier.append(connection)
            if len(self.in_barrier) == self.options.n:
                self.say("cmd=barrier_out", *self.in_barrier)
                self.in_barrier.clear()
        elif command == "abort":
            self.fail(int(words["exitcode"]))
        else:
            self.say(self.text(command, words) if text is None else text, connection)
            if command == "finalize":
                self.close(connection)

    def text(self, command, words):
        if command == "put":
            assert len(words["value"]) < self.options.values and len(words["key"]) < 64, "too long"
            self.store[words["key"]] = words["value"]
        if command == "get":
            value = self.store.get(words["key"])
            return (f"cmd=get_result rc=0 msg=success value={value}" if value
                    else "cmd=get_result rc=-1 msg=no value=unknown")
        return {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 "
                f"vallen_max={self.options.values}",
                "get_my_kvsname": "cmd=my_kvsname kvsname=store_0",
                "put": "cmd=put_result rc=0 msg=success",
                "finalize": "cmd=finalize_ack"}[command]

    @staticmethod
    def say(text, *connections):
        for connection in connections if text else ():
            try:
                connection.sendall(text.encode() + b"\n")
            except OSError:
                pass  # it has gone, which read() sees

    def see_end(self, process):
        status = process.wait()
        if status:
            self.fail(status if status > 0 else 128 - status)

    def fail(self, status):
        if self.status is None:
            self.status = status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, required=True)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--no-mapping", action="store_true")
    parser.add_argument("--values", type=int, default=1024)
    parser.add_argument("--answer", nargs=2, action="append", default=[])
    parser.add_argument("program", nargs=argparse.REMAINDER)
    launcher = Launcher(parser.parse_args())

    def interrupt(number, _):
        for process in launcher.pes:
            process.kill()
        os._exit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    sys.exit(launcher.run())


if __name__ == "__main__":
    main()
