#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""meshmem-bench: figures, checked results, arguments that make no sense; and the tables of
MESHMEM_TUNING that it writes."""
import csv
import json
import os
import re
import unittest
import xml.etree.ElementTree

import launching
from launching import SHMEM_PROGRAM

BENCH = os.environ["MESHMEM_BENCH"]
HEADER = "meshmem-tuning 1 cpu\n"


class Bench(launching.LaunchTest):
    def bench(self, pes, *words, **options):
        return self.oshrun("-n", pes, BENCH, "--runs", 1, *words, seconds=60, **options)

    def rows(self, *words, pes=2, **options):
        """The --csv lines as dictionaries; all results have been right."""
        result = self.bench(pes, "--check", "--csv", *words, **options)
        self.assertEqual((result.status, result.err), (0, ""), result)
        head, *lines = [line.split(",") for line in result.out.splitlines()]
        rows = [dict(zip(head, line)) for line in lines]
        self.assertTrue(rows, result)
        for row in rows:
            self.assertEqual(row["wrong"], "0", result)
            self.assertGreater(float(row["us"]), 0, result)
        return rows

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path


class Measuring(Bench):
    def test_sizes_double_and_results_are_right(self):
        rows = self.rows("--max-bytes", "32", pes=3)
        self.assertEqual([row["bytes"] for row in rows], ["8", "16", "32"])
        self.assertEqual({(row["pes"], row["type"], row["op"], row["memory"]) for row in rows},
                         {("3", "float", "sum", "device")})

    def test_bandwidths_follow_from_bytes_and_time(self):
        row = self.rows("--min-bytes", "64K", "--max-bytes", "64K", pes=3)[0]
        bandwidth = 65536 / float(row["us"]) / 1000
        self.assertAlmostEqual(float(row["algbw_gbs"]), bandwidth, delta=0.01 * bandwidth + 0.001)
        self.assertAlmostEqual(float(row["busbw_gbs"]), bandwidth * 4 / 3,
                               delta=0.02 * bandwidth + 0.001)

    def choices(self, option):
        """The words that --help offers for an option."""
        return re.search(rf"--{option} TEXT:{{(.+)}}", self.bench(1, "--help").out)[1].split(",")

    def test_every_type_and_operation(self):
        pairs = [(kind, op) for kind in self.choices("type") for op in self.choices("op")]
        self.assertGreaterEqual(len(pairs), 30)
        for kind, op in pairs:
            row, = self.rows("--type", kind, "--op", op, "--min-bytes", 1024, "--max-bytes", 1024)
            self.assertEqual((row["type"], row["op"], row["memory"], row["bytes"]),
                             (kind, op, "device", "1024"))

    def test_types_of_the_host(self):
        for kind, op in [("float", "avg"), ("double", "max"), ("int", "prod"), ("long", "min")]:
            row, = self.rows("--type", kind, "--op", op, "--memory", "host", "--max-bytes",
                             8, pes=3)
            self.assertEqual((row["type"], row["op"], row["memory"]), (kind, op, "host"))

    def test_odd_counts_misaligned_in_place(self):
        row = self.rows("--count-odd", "--misaligned", "--in-place", "--min-bytes", 4096,
                        "--max-bytes", 4096)[0]
        self.assertEqual(row["bytes"], "4092")

    def test_host_memory_and_half_of_the_pes(self):
        row = self.rows("--memory", "host", "--team", "even", "--min-bytes", 64, "--max-bytes",
                        64, pes=3)[0]
        self.assertEqual((row["pes"], row["memory"]), ("2", "host"))
        self.rows("--team", "even", "--min-bytes", 64, "--max-bytes", 64, pes=3)

    def test_json_and_the_table_for_people(self):
        path = self.path("figures.json")
        result = self.bench(2, "--min-bytes", 8, "--max-bytes", 16, "--json", path)
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(len(result.out.splitlines()), 5, result)
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
        self.assertEqual([row["bytes"] for row in figures["figures"]], [8, 16])
        self.assertEqual(figures["figures"][0]["wrong"], 0)

    def test_arguments_that_make_no_sense(self):
        for words, complaint in ((["--type",
                                   "quaternion"], "quaternion"), (["--max-bytes",
                                                                   "1X"], "'1X' is not a size"),
                                 (["--min-bytes", "2K", "--max-bytes",
                                   "1K"], "is more than"), (["--out", "x"], "--tune"),
                                 (["--type", "half", "--memory",
                                   "host"], "half is for --memory device only"),
                                 (["--tune", "--csv"],
                                  "--tune: writes a table of its own"), (["gossip"], "gossip")):
            result = self.bench(2, *words)
            self.assertEqual((result.status, result.out), (2, ""), result)
            self.assertEqual(result.err.count(complaint), 1, result)

    def test_files_that_cannot_be_written(self):
        result = self.bench(2, "--max-bytes", 8, "--json", "/nowhere/file")
        self.assertNotEqual(result.status, 0, result)
        self.assertIn("/nowhere/file cannot be written", result.err)


class Operations(Bench):
    """All rows of the table: each is compared before it is timed, and a wrong result is status
    1."""
    def table(self):
        """The callers of each operation, as --list has them."""
        head, *lines = self.bench(1, "--list").out.splitlines()
        self.assertEqual(head.split(), ["operation", "called", "from"])
        return {name: callers for name, *callers in (line.split() for line in lines)}

    def every_row(self, table, pes, caller, *words, launcher=(), **options):
        result = self.oshrun("-n", pes, *launcher, BENCH, "all", "--from", caller, "--max-bytes",
                             32, "--runs", 2, "--iterations", 2, "--csv", *words, seconds=60,
                             **options)
        self.assertEqual((result.status, result.err), (0, ""), result)
        rows = list(csv.DictReader(result.out.splitlines()))
        self.assertEqual({row["wrong"] for row in rows}, {"0"}, result)
        self.assertEqual({row["from"] for row in rows}, {caller}, result)
        able = {name for name, callers in table.items() if caller in callers}
        self.assertEqual({row["operation"] for row in rows}, able, result)
        for row in rows:
            self.assertLessEqual(float(row["min_us"]), float(row["us"]), result)
            self.assertLessEqual(float(row["us"]), float(row["max_us"]), result)
            self.assertEqual(row["peer"] != "", row["operation"] in self.OF_TWO, result)
        self.assertEqual([row["bytes"] for row in rows if row["operation"] == "broadcast"
                          or row["operation"] == "get"],
                         ["8", "16", "32"] * len({"broadcast", "get"} & able), result)

    OF_TWO = {"put", "put_nbi", "get", "get_nbi", "p", "g", "fetch_add", "fetch_inc", "fetch",
              "swap", "add", "inc", "set", "compare_swap", "put_signal", "signal"}
    CALLERS = ("host", "thread", "wave", "block", "grid", "stream")

    def test_every_row_on_one_machine(self):
        table = self.table()
        for pes, memory in ((1, "device"), (2, "host"), (3, "device"), (4, "host")):
            for caller in self.CALLERS:
                with self.subTest(pes=pes, memory=memory, caller=caller):
                    self.every_row(table, pes, caller, "--memory", memory)

    @unittest.skipUnless("WITH_NODES" in os.environ, "built with a sanitizer")
    def test_every_row_over_two_nodes(self):
        table = self.table()
        for pes, memory in ((3, "host"), (4, "device")):
            for caller in self.CALLERS:
                with self.subTest(pes=pes, memory=memory, caller=caller):
                    self.every_row(table, pes, caller, "--memory", memory, "--peer", "far",
                                   launcher=("--fake-nodes", 2))

    @unittest.skipUnless("WITH_NODES" in os.environ, "built with a sanitizer")
    def test_the_head_shows_the_nodes_and_the_pair(self):
        def heads(*words, nodes=2):
            result = self.oshrun("-n", 4, "--fake-nodes", nodes, BENCH, "p", "--runs", 1,
                                 "--iterations", 1, *words)
            self.assertEqual((result.status, result.err), (0, ""), result)
            return result.out.splitlines()[:2]
        nodes, pair = heads("--peer", "far")
        self.assertRegex(nodes, r"4 PEs on 2 nodes: 0-1 \S+; 2-3 \S+; median of 1 runs$")
        self.assertEqual(pair, "# p from host, host memory, PE 0 and PE 2")
        self.assertTrue(heads("--peer", "near")[1].endswith("PE 0 and PE 1"))
        self.assertTrue(heads("--peer", 3)[1].endswith("PE 0 and PE 3"))

    def test_words_that_do_not_fit_the_operation(self):
        for words, complaint in ((["p", "--from", "wave"], "has no form for --from wave"),
                                 (["put", "--type", "int"], "--type: works only with allreduce"),
                                 (["put", "--peer",
                                   "left"], "'left' is not a PE"), (["put", "--from",
                                                                     "nowhere"], "nowhere"),
                                 (["allreduce", "--from", "stream", "--memory",
                                   "host"], "host is not for allreduce")):
            result = self.bench(1, *words)
            self.assertEqual((result.status, result.out), (2, ""), result)
            self.assertEqual(result.err.count(complaint), 1, result)

    def test_peers_that_are_not_there(self):
        for words, complaint in ((["--peer", 1], "there is no PE 1 in a job of 1"),
                                 (["--peer", "far"], "no PE is far from PE 0")):
            result = self.bench(1, "put", *words)
            self.assertEqual((result.status, result.out), (1, ""), result)
            self.assertIn(complaint, result.err)

    def test_json_has_the_columns_of_csv(self):
        path = self.path("figures.json")
        result = self.bench(2, "put", "barrier", "--max-bytes", 8, "--iterations", 1, "--csv",
                            "--json", path)
        self.assertEqual((result.status, result.err), (0, ""), result)
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
        self.assertEqual((figures["pes"], figures["memory"], figures["nodes"][:15]),
                         (2, "host", "2 PEs on 1 node"))
        rows = list(csv.DictReader(result.out.splitlines()))
        self.assertEqual(len(rows), 2, result)
        for row, figure in zip(rows, figures["figures"]):
            self.assertEqual(
                row, {name: "" if value is None else row[name] for name, value in figure.items()})
            self.assertAlmostEqual(float(row["us"]), figure["us"])

    def test_a_window_of_calls_is_one_round(self):
        row, = self.rows_of("p", "--window", 3, "--iterations", 5)
        self.assertEqual((row["operation"], row["wrong"]), ("p", "0"))
        self.assertAlmostEqual(float(row["rate"]), 1e6 / float(row["us"]),
                               delta=0.01 * float(row["rate"]))

    def test_results_that_are_wrong_are_told(self):
        """With a library in between whose gets, additions and broadcasts do other things than they
        should."""
        names = ("get", "fetch_add", "broadcast")
        result = self.bench(2, *names, "put", "--max-bytes", 8, "--iterations", 1, "--csv",
                            env={"LD_PRELOAD": os.environ["WRONG_RESULTS"]})
        self.assertEqual(result.status, 1, result)
        self.assertIn("elements were wrong", result.err)
        for row in csv.DictReader(result.out.splitlines()):
            self.assertEqual(row["wrong"] != "0", row["operation"] in names, result)

    def rows_of(self, *words, pes=2):
        result = self.bench(pes, "--csv", *words)
        self.assertEqual((result.status, result.err), (0, ""), result)
        return list(csv.DictReader(result.out.splitlines()))


class Plots(Bench):
    SVG = "{http://www.w3.org/2000/svg}"

    def drawn(self, *words, pes=2):
        """The picture's texts, and how many curves each of its two panels has."""
        path = self.path("figures.svg")
        result = self.bench(pes, "--max-bytes", 64, "--iterations", 1, "--plot", path, *words)
        self.assertEqual((result.status, result.err), (0, ""), result)
        top = xml.etree.ElementTree.parse(path).getroot()
        texts = [text.text for text in top.iter(self.SVG + "text")]
        curves = [line for line in top.iter(self.SVG + "path") if line.get("stroke-width")
                  and "L" in line.get("d")]
        self.assertEqual(len(curves) % 2, 0)
        for curve in curves:
            numbers = [float(number) for number in re.findall(r"[\d.]+", curve.get("d"))]
            self.assertTrue(all(0 < x < float(top.get("width")) for x in numbers[::2]), numbers)
            self.assertTrue(all(0 < y < float(top.get("height")) for y in numbers[1::2]), numbers)
        return texts, len(curves) // 2

    def test_each_operation_that_has_sizes_is_a_curve(self):
        texts, curves = self.drawn("put", "get", "broadcast", "barrier")
        self.assertEqual(curves, 3)
        self.assertTrue({"put", "get", "broadcast", "Bandwidth (MB/s)",
                         "Time of one operation (us)"} <= set(texts), texts)
        self.assertNotIn("barrier", texts)

    def test_shows_the_day_and_all_runs(self):
        texts, _ = self.drawn("put")
        wanted = r" \d{4}-\d\d-\d\d: .*; bands: least to most of \d+ runs"
        self.assertTrue(any(re.search(wanted, text) for text in texts), texts)
        with open(self.path("figures.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read().count("class='band'"), 2)

    def test_one_pe_measures_itself(self):
        self.assertIn("# put from host, host memory, PE 0 with itself\n",
                      self.bench(1, "put", "--max-bytes", 8, "--iterations", 1).out)

    def test_files_of_others_stand_beside(self):
        ours = self.path("before.csv", self.bench(2, "put", "get", "--csv", "--max-bytes",
                                                  64, "--iterations", 1).out)
        theirs = self.path("a<b.csv", "# theirs\nus,bytes\n1.5,8\n\n2.5,16\n")
        texts, curves = self.drawn("put", "--beside", ours, "--beside", theirs)
        self.assertEqual(curves, 4)
        self.assertTrue({"put", "before: put from host", "before: get from host",
                         "a<b"} <= set(texts), texts)

    def test_what_cannot_be_drawn(self):
        bad = self.path("bad.csv", "bytes,us\n8,fast\n")
        for words, status, complaint in ((["--plot", "x.png"], 2,
                                          "'x.png' does not end in .svg"), (["--beside",
                                                                             bad], 2, "--plot"),
                                         (["--plot", self.path("x.svg"), "--beside", bad], 1,
                                          "'fast' is not a number; make one with --csv"), ([
                                              "--plot",
                                              self.path("x.svg"), "--beside",
                                              self.path("no", "a,b\n1,2\n")
                                          ], 1, "the columns bytes and us"), ([
                                              "--plot",
                                              self.path("x.svg"), "--beside", "/nowhere/file"
                                          ], 1, "it cannot be read"),
                                         (["--plot", "/nowhere/x.svg"], 1,
                                          "/nowhere/x.svg cannot be written")):
            result = self.bench(1, "put", "--max-bytes", 8, *words)
            self.assertEqual(result.status, status, result)
            self.assertEqual(result.err.count(complaint), 1, result)


class Tuning(Bench):
    def test_a_table_is_found_and_loads(self):
        path = self.path("tuning.txt")
        result = self.bench(2, "--tune", "--quick", "--max-bytes", 200, "--out", path)
        self.assertEqual((result.status, result.err), (0, ""), result)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, result.out)
        rows = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertRegex(rows[0], r"^meshmem-tuning 1 \w+$")
        self.assertRegex(rows[-1], r"^200 2 (\w+ \d+ \d+|auto)$")
        self.assertEqual(re.findall(r"^# (\w+): ", text, flags=re.MULTILINE),
                         ["8", "32", "128", "200"])
        self.rows("--max-bytes", 8, env={"MESHMEM_TUNING": path})

    def test_sizes_below_those_measured_are_left_to_the_library(self):
        result = self.bench(2, "--tune", "--quick", "--min-bytes", "4K", "--max-bytes", "4K")
        self.assertEqual((result.status, result.err), (0, ""), result)
        rows = [line for line in result.out.splitlines() if not line.startswith("#")]
        self.assertTrue(rows[1] == "2K 2 auto" or rows[1:] == ["4K 2 auto"], result)

    def test_what_is_wrong_with_a_table_is_one_line_that_says_how_to_fix_it(self):
        for text, complaint in (("", "no table can be read there (empty)"),
                                ("8 any one_shot 1 64\n",
                                 "line 1: the first line that is not a comment must be"),
                                ("meshmem-tuning 2 cpu\n", "line 1: the first line"),
                                ("# only\n" + HEADER, "line 3: the file ends without a row"),
                                (HEADER + "\n8X any one_shot 1 64\n",
                                 "line 3: '8X' is not a size; give bytes"),
                                (HEADER + "8 0 one_shot 1 64\n",
                                 "line 2: '0' is not a number of PEs (or any); give"),
                                (HEADER + "8 any no_shot 1 64\n",
                                 "line 2: 'no_shot' is not an algorithm; there are one_shot"),
                                (HEADER + "8 any one_shot 1000 64\n",
                                 "line 2: '1000' is not a number of blocks; give one"),
                                (HEADER + "8 any one_shot 1\n",
                                 "line 2: nothing is not a number of threads; give one"),
                                (HEADER + "8 any one_shot 1 64 1\n",
                                 "line 2: '1' is one word too many; remove it"),
                                (HEADER + "8 -2 one_shot 1 64\n",
                                 "line 2: '-2' is not a number of PEs (or any); give"),
                                (HEADER + "8 any one_shot 1 99999999999\n",
                                 "line 2: '99999999999' is not a number of threads"),
                                (HEADER + "8 any auto 1\n",
                                 "line 2: '1' is one word too many; remove it"),
                                (HEADER + "8 1 one_shot 1 64\n",
                                 "the file has rows for up to 1 PEs, but this job has 2; make"),
                                ("meshmem-tuning 1 gfx1\nany any one_shot 1 64\n",
                                 "the file is for 'gfx1', and the device")):
            path = self.path("bad.txt", text)
            result = self.oshrun("-n", 2, SHMEM_PROGRAM, "ring", env={"MESHMEM_TUNING": path})
            self.assertNotEqual(result.status, 0, result)
            lines = [line for line in result.err.splitlines() if "MESHMEM_TUNING" in line]
            self.assertEqual(len(lines), 1, result)
            self.assertIn(f"MESHMEM_TUNING={path}: {complaint}", lines[0])

    def test_a_missing_table(self):
        result = self.oshrun("-n", 2, SHMEM_PROGRAM, "ring",
                             env={"MESHMEM_TUNING": "/nowhere/table"})
        self.assertNotEqual(result.status, 0, result)
        self.assertIn("MESHMEM_TUNING=/nowhere/table: no table can be read there (No such file or "
                      "directory)", result.err)

    def test_a_folder_is_no_table(self):
        result = self.oshrun("-n", 2, SHMEM_PROGRAM, "ring", env={"MESHMEM_TUNING": "/tmp"})
        self.assertNotEqual(result.status, 0, result)
        self.assertIn("MESHMEM_TUNING=/tmp: no table can be read there (a folder)", result.err)

    def test_what_is_no_file_is_no_table(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        large = self.path("large.txt", "# " + "x" * (1 << 20))
        for path, complaint in (("/proc/self/mem", "empty"), ("/proc/self/maps", "empty"),
                                ("/sys/devices/system/cpu/uevent", "empty"),
                                (fifo, "not a regular file"), ("/dev/zero", "not a regular file"),
                                (large, "more than 1 MiB")):
            result = self.oshrun("-n", 1, SHMEM_PROGRAM, "ring", env={"MESHMEM_TUNING": path})
            self.assertEqual(result.status, 1, result)
            self.assertIn(f"MESHMEM_TUNING={path}: no table can be read there ({complaint}); give",
                          result.err)

    def test_all_pes_must_have_the_same_table(self):
        path = self.path("one.txt", HEADER + "any any one_shot 1 64\n")
        script = f'[ "$PMIX_RANK" = 1 ] || export MESHMEM_TUNING={path}; exec {SHMEM_PROGRAM} ring'
        result = self.oshrun("-n", 3, "sh", "-c", script)
        self.assertNotEqual(result.status, 0, result)
        self.assertIn("MESHMEM_TUNING names another table here than in PE 0; give all PEs the "
                      "same", result.err)

    def test_all_pes_must_choose_reductions_alike(self):
        for setting in ("MESHMEM_REDUCE_ALGORITHM=ring", "MESHMEM_REDUCE_RING_MIN_BYTES=1K",
                        "MESHMEM_REDUCE_BLOCKS=3", "MESHMEM_COPY_MIN_BYTES=7",
                        "MESHMEM_DETERMINISTIC=1", "MESHMEM_DEVICE_FIRST_EPOCH=7"):
            script = f'[ "$PMIX_RANK" = 0 ] || export {setting}; exec {SHMEM_PROGRAM} ring'
            result = self.oshrun("-n", 2, "sh", "-c", script)
            self.assertNotEqual(result.status, 0, result)
            self.assertIn(f"{setting.partition('=')[0]} has another value here than in PE 0; "
                          "give all PEs the same", result.err)


if __name__ == "__main__":
    launching.main()
