#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job refuses settings that differ between machines, a missing library of the network, and
strangers. The doctor's job tells about the machines."""
import os
import re
import time

import jobs
import launching
from jobs import SHMEM_PROGRAM
from launching import INFO_PROGRAM

INTRUDER = os.environ["INTRUDER"]


class Refusals(jobs.JobTest):
    def on_nodeb(self, assignment):
        """A wrapper of the program that changes a variable on nodeb only."""
        return ["sh", "-c",
                f'if [ "$(hostname)" = nodeb ]; then export {assignment}; fi; exec "$0" "$@"']

    def assert_refused(self, result, *patterns):
        self.assertNotIn(result.status, (0, 124), result)
        lines = set(self.meshmem_lines(result))
        self.assertGreater(len(lines), 0, result)
        machines_of_lines = re.findall(r"\(host (\w+), pid", "".join(lines))
        self.assertEqual(len(lines), len(set(machines_of_lines)),
                         f"a machine says it twice: {result}")
        for line in lines:
            for pattern in patterns:
                self.assertRegex(line, pattern, result)
        self.assert_nothing_left()

    def test_settings_that_differ_are_refused_by_name_and_machine(self):
        for assignment, name in (("SHMEM_SYMMETRIC_SIZE=32M", "SHMEM_SYMMETRIC_SIZE"),
                                 ("MESHMEM_DETERMINISTIC=1", "MESHMEM_DETERMINISTIC"),
                                 ("MESHMEM_CHECK=1", "MESHMEM_CHECK"),
                                 ("MESHMEM_NETWORK=ucx", "MESHMEM_NETWORK is ucx here but tcp in")):
            if assignment.endswith("=ucx") and not jobs.MESHMEM_UCX:
                continue
            with self.subTest(assignment=assignment):
                result = self.run_job([2, 2], *self.on_nodeb(assignment), SHMEM_PROGRAM, "ring",
                                      settings={"SHMEM_SYMMETRIC_SIZE": "64M"})
                self.assert_refused(result, name, "nodeb")

    def test_builds_that_differ_are_refused(self):
        build = launching.copy_as_other_build(self.folder)
        result = self.run_job([2, 2], *self.on_nodeb(f"LD_LIBRARY_PATH={self.folder}"),
                              SHMEM_PROGRAM, "ring")
        self.assert_refused(result, "nodeb", rf"this PE runs build {build}-\w+ of meshmem "
                            rf"\({self.folder}/\S+\) and PE 0 "
                                             r"runs build [0-9a-z.-]+; start the same on all PEs")

    @jobs.needs_ucx
    def test_a_missing_library_of_the_network_is_named_with_its_package(self):
        # the first that the loader finds
        with open(os.path.join(self.folder, "libucp.so.0"), "wb"):
            pass
        result = self.run_job([3, 3], SHMEM_PROGRAM, "ring",
                              settings={"LD_LIBRARY_PATH": self.folder, "MESHMEM_NETWORK": "ucx"})
        self.assert_refused(result, r"libmeshmem_ucx\.so", "apt-get install libucx0")

    def test_ethernet_needs_no_library_of_a_network(self):
        with open(os.path.join(self.folder, "libucp.so.0"), "wb"):
            pass
        self.assert_right(self.run_job([3, 3], SHMEM_PROGRAM, "ring",
                                       settings={"LD_LIBRARY_PATH": self.folder}))

    def test_no_network_means_no_job_over_machines(self):
        result = self.run_job([2, 2], SHMEM_PROGRAM, "ring", settings={"MESHMEM_NETWORK": "none"})
        self.assert_refused(result, "MESHMEM_NETWORK")

    def test_an_interface_that_is_not_there_is_refused(self):
        result = self.run_job([2, 2], SHMEM_PROGRAM, "ring",
                              settings={"MESHMEM_NETWORK_DEVICE": "eth7"})
        self.assert_refused(result, '"eth7"', "tcp over eth0")

    def test_an_interface_can_be_chosen(self):
        self.assert_right(self.run_job([2, 1], SHMEM_PROGRAM, "ring",
                                       settings={"MESHMEM_NETWORK_DEVICE": "eth0"}))

    def test_a_range_of_ports_with_too_few_is_refused(self):
        result = self.run_job([1, 3], SHMEM_PROGRAM, "ring",
                              settings={"MESHMEM_TCP_PORT_RANGE": "20000-20001"})
        self.assert_refused(result,
                            r"cannot listen on eth0 \(.*\): no port from 20000 to 20001 is free "
                                    r"\(MESHMEM_TCP_PORT_RANGE\)")


class Networks(jobs.JobTest):
    def networks(self, **settings):
        variables = ["env", *("=".join(item) for item in settings.items())]
        result = self.finish(self.popen(jobs.simulated["nodea"].words(*variables, INFO_PROGRAM)))
        self.assertEqual(result.status, 0, result)
        return dict(re.findall(r"^  tcp over (\w+) +[\d.]+, (.*)$", result.out, re.M))

    def test_the_one_that_would_be_taken_is_told(self):
        only = "used where it reaches a peer"
        near = "used between PEs of this machine alone"
        self.assertEqual(self.networks(), {"eth0": only, "lo": "not used"})
        self.assertEqual(self.networks(MESHMEM_NETWORK_DEVICE="lo"),
                         {"eth0": "not used", "lo": near})
        if jobs.MESHMEM_UCX:
            self.assertEqual(self.networks(MESHMEM_NETWORK="ucx"), {"eth0": only, "lo": near})
        machine = jobs.simulated["nodea"]
        self.addCleanup(machine.ip, "link delete eth1")
        machine.ip("link add eth1 type veth peer name eth1_end", "address add 10.8.0.1/24 dev eth1",
                   "link set eth1 up", "link set eth1_end up")
        self.assertEqual(sorted(self.networks().values()), ["not used", "not used", only])
        if jobs.MESHMEM_UCX:
            end = time.monotonic() + 10  # UCX sees a link once the kernel has told of its carrier
            both = self.networks(MESHMEM_NETWORK="ucx")
            while "eth1" not in both and time.monotonic() < end:
                both = self.networks(MESHMEM_NETWORK="ucx")
            self.assertEqual(both.pop("lo"), near)
            self.assertEqual(sorted(both), ["eth0", "eth1"])
            self.assertEqual(sorted(both.values()),
                             [only, "used where the others do not reach a peer"])
        self.assertEqual(self.networks(MESHMEM_NETWORK_DEVICE="eth0"),
                         {"eth0": only, "eth1": "not used", "lo": "not used"})
        self.assertEqual(set(self.networks(MESHMEM_NETWORK="none").values()), {"not used"})


class Doctor(jobs.JobTest):
    def test_puts_and_gets_between_machines(self):
        result = self.run_job([2, 1], INFO_PROGRAM, "--doctor")
        self.assertEqual(result.status, int("BAD " in result.out), result)
        self.assertIn("the library starts: 3 PEs on 2 nodes\n", result.out, result)
        self.assertRegex(result.out, r"OK +heap +nodea: a put to another PE of the node arrives",
                         result)
        self.assertRegex(result.out, r"OK +heap +nodeb: a put to itself arrives", result)
        for name, other in (("nodea", 2), ("nodeb", 0)):
            self.assertRegex(result.out, rf"OK +to other nodes +{name}: puts to 1 node arrive; a "
                             r"get of 8 bytes takes "
                                         rf"\d+\.\d us at most \(from PE {other}\), by tcp over "
                             r"eth0", result)
        self.assert_nothing_left()

    def test_names_the_machine_that_ails(self):
        root = os.path.join(self.folder, "root")
        os.makedirs(os.path.join(root, "proc/self"))
        with open(os.path.join(root, "proc/self/limits"), "w", encoding="utf-8") as file:
            file.write(f"Max file size             {1 << 20}              {1 << 20}             "
                       " bytes\n")
        script = (f'root=/; [ "$(hostname)" = nodeb ] && root="{root}"; exec "$0" --doctor --root '
                  '"$root"')
        result = self.run_job([1, 1], "sh", "-c", script, INFO_PROGRAM)
        self.assertNotIn(result.status, (0, 124), result)
        self.assertRegex(result.out, r"BAD +file size +nodeb: 1 MiB, and a job", result)
        self.assertRegex(result.out, r"(OK|WARN) +file size +nodea: ", result)
        self.assert_nothing_left()


class Strangers(jobs.JobTest):
    def visit_a_job(self, visit, **options):
        """The result of a job of three PEs, and the answer of visit(machine, ip, port) for each
        place where it listens."""
        go = os.path.join(self.folder, "go")
        process = self.start([1, 2], SHMEM_PROGRAM, "until", go, **options)
        for _ in range(3):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        said = []
        for machine in ("nodea", "nodeb"):
            for pid in jobs.simulated[machine].processes():
                for ip, port in jobs.listening(pid):
                    said += visit(machine, ip, port)
        with open(go, "wb"):
            pass
        return self.finish(process), said

    def test_bytes_to_connections_of_meshmem_do_nothing(self):
        def visit(_, ip, port):
            self.assertNotEqual(ip, "0.0.0.0")
            self.assertIn(port, (20000, 20001))
            return self.intrude(ip, port, "nodec", [])

        result, said = self.visit_a_job(visit, settings={"MESHMEM_TCP_PORT_RANGE": "20000-20001"})
        self.assertEqual(result.status, 0, said)
        self.assertEqual(said, 3 * ["sent raw bytes"])
        self.assert_nothing_left()

    @jobs.needs_ucx
    def test_they_get_nothing_of_ucx_and_the_job_goes_on(self):
        def visit(machine, ip, port):
            if ip.startswith("127."):
                return []
            return self.intrude(ip, port, "nodeb" if machine == "nodea" else "nodea",
                                [jobs.MESHMEM_UCX])

        result, said = self.visit_a_job(visit, settings={"MESHMEM_NETWORK": "ucx"})
        self.assertEqual(result.status, 0, f"{result}; {said}")
        self.assertEqual(len([line for line in said if line == "sent raw bytes"]), 3, said)
        messages = [re.fullmatch(r"sent (\d+) messages, got (\d+), lost (\d+)", line)
                    for line in said]
        messages = [tuple(map(int, found.groups())) for found in messages if found]
        self.assertEqual(len(messages), 3, said)
        for sent, got, _ in messages:
            self.assertGreater(sent, 0, said)
            self.assertEqual(got, 0, said)
        self.assert_nothing_left()

    def intrude(self, ip, port, machine, libraries):
        """From `machine`. UCX takes connections of the job's machines only (test_attacks.py)."""
        stranger = jobs.simulated[machine]
        lines = []
        for words in (["raw", ip, port],
                      *(["wire", ip, port, stranger.ip_address, path] for path in libraries)):
            result = self.finish(self.popen(stranger.words(INTRUDER, *map(str, words))))
            self.assertEqual(result.status, 0, result)
            lines += result.out.splitlines()
        return lines


if __name__ == "__main__":
    jobs.main()
