#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MESHMEM_TRACE: what is in the file, whose arrows lead where, and what is left of jobs that
fail."""
import glob
import json
import os
import signal
import subprocess
import time
import unittest

import launching

PROGRAM = os.environ.get("TRACE_PROGRAM", "")
BOUND_PROGRAM = os.environ.get("BOUND_TRACE_PROGRAM", "")
STREAMS = os.environ.get("TRACE_STREAMS", "")
KERNELS = os.environ.get("STATUS_KERNELS", "")
MESHMEM_TRACE = os.path.join(os.path.dirname(launching.OSHRUN), "meshmem-trace")


class Trace:
    """The events of a file, by kind."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.events = json.load(file)["traceEvents"]
        self.spans = [event for event in self.events if event["ph"] == "X"]

    def named(self, name, pe=None):
        return [span for span in self.spans if span["name"] == name and pe in (None, span["pid"])]

    def holder(self, event):
        """The span that an end of an arrow belongs to."""
        inside = [span for span in self.spans if (span["pid"], span["tid"]) == (event["pid"],
                                                                                event["tid"])
                  and span["ts"] <= event["ts"] <= span["ts"] + span["dur"]]
        return max(inside, key=lambda span: span["ts"])

    def arrows(self):
        """Pairs of spans, from the one that ended a wait to the wait."""
        begins = {event["id"]: event for event in self.events if event["ph"] == "s"}
        ends = {event["id"]: event for event in self.events if event["ph"] == "f"}
        assert begins.keys() == ends.keys()
        for number, begin in begins.items():
            assert begin["ts"] <= ends[number]["ts"]
            yield self.holder(begin), self.holder(ends[number])

    def cause(self, name, pe):
        """(name, PE) of what ended the PE's one wait of this name."""
        found = [(begin["name"], begin["pid"]) for begin, end in self.arrows()
                 if end["name"] == name and end["pid"] == pe]
        return found[0] if len(found) == 1 else found


class TraceTest(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, "trace.json")
        self.environment["MESHMEM_TRACE"] = self.file

    def parts(self):
        return glob.glob(self.file + ".pe*.part")

    def traced(self, *words, **options):
        result = self.oshrun(*words, **options)
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(sorted(os.listdir(self.folder)), ["tmp", "trace.json"], "parts were left")
        return Trace(self.file)

    def meshmem_trace(self, *words, status=0):
        """The output of meshmem-trace, also its errors."""
        result = subprocess.run([MESHMEM_TRACE, *words], capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, status, result)
        return result.stderr if status else result.stdout


class TestSpans(TraceTest):
    def check_job(self, n, *words, program=PROGRAM):
        trace = self.traced("-n", n, *words, program)
        for pe in range(n):
            before, after = (pe - 1) % n, (pe + 1) % n
            (put,) = trace.named("shmem_int_put", pe)
            self.assertEqual((put["args"]["nelems"], put["args"]["bytes"], put["args"]["pe"]),
                             (3, 12, after))
            self.assertRegex(put["args"]["dest"], r"^statics\+0x")
            (with_signal,) = trace.named("shmem_int_put_signal", pe)
            self.assertRegex(with_signal["args"]["dest"], r"^heap\+0x")
            self.assertEqual(with_signal["args"]["sig_op"], "add")
            (wait,) = trace.named("shmem_long_wait_until", pe)
            self.assertEqual((wait["args"]["cmp"], wait["args"]["cmp_value"]), ("==", 7))
            self.assertEqual(wait["args"]["waited_for"], f"PE {before}")
            self.assertAlmostEqual(wait["args"]["waited_us"], wait["dur"], delta=0.002)
            self.assertLessEqual(wait["args"]["returned_after_us"], wait["dur"] + 0.002)
            (reduce,) = trace.named("shmem_long_sum_reduce", pe)
            self.assertEqual(reduce["args"]["team"], "WORLD")
            self.assertEqual(len(trace.named("shmem_init", pe)), 1)
            self.assertEqual(len(trace.named("shmem_finalize", pe)), 1)
            self.assertEqual(trace.named("shmem_int_g", pe), [], "while shmem_pcontrol(0) held")
            self.assertEqual(trace.cause("shmem_long_wait_until", pe), ("shmem_long_p", before))
            self.assertEqual(trace.cause("shmem_signal_wait_until", pe),
                             ("shmem_int_put_signal", before))
            successes = [test for test in trace.named("shmem_long_test", pe)
                         if test["args"]["result"] == 1]
            self.assertEqual(len(successes), 1)
            self.assertIn(("shmem_long_atomic_fetch_add", before),
                          [(begin["name"], begin["pid"])
                           for begin, end in trace.arrows() if end is successes[0]])
        for sync in trace.named("shmem_team_sync"):
            self.assertEqual(sync["pid"] % 2, 0)
            self.assertEqual(sync["args"]["team"],
                             "PEs " + ", ".join(str(pe) for pe in range(0, n, 2)))
        # Of a barrier the arrows begin at the one that came last.
        last = max(trace.named("shmem_barrier_all"), key=lambda span: span["ts"])
        for begin, end in trace.arrows():
            if end["name"] == "shmem_barrier_all":
                self.assertIs(begin, last)
                self.assertEqual(end["args"]["waited_for"], f"PE {last['pid']}")

    def test_of_one_pe(self):
        self.check_job(1)

    def test_of_two_pes(self):
        self.check_job(2)

    def test_of_four_pes(self):
        self.check_job(4)

    def test_of_a_program_whose_tables_are_read_only(self):
        self.check_job(2, program=BOUND_PROGRAM)

    def test_of_two_nodes(self):
        self.check_job(4, "--fake-nodes", 2)

    def test_of_far_pes(self):
        self.environment["MESHMEM_NETWORK"] = "ucx"
        self.check_job(3, "--fake-nodes", 2)

    def test_calls_that_are_alike_make_one_span(self):
        trace = self.traced("-n", 3, PROGRAM, "alike")
        for pe in range(3):
            (get,) = trace.named("shmem_long_g", pe)
            self.assertEqual((get["args"]["calls"], get["args"]["bytes"]), (3, 24))
            fetches = trace.named("shmem_long_atomic_fetch_nbi", pe)
            self.assertEqual(["calls" in fetch["args"] for fetch in fetches], [False, False])
            tests = trace.named("shmem_long_test", pe)
            self.assertEqual([(test["args"]["cmp"], "calls" in test["args"]) for test in tests],
                             [("==", False), (">", False)] * 3)

    def test_a_test_that_finds_the_first_variable_has_a_cause(self):
        trace = self.traced("-n", 3, PROGRAM, "alike")
        for pe in range(3):
            found = trace.named("shmem_long_test_any", pe)[-1]
            self.assertEqual(found["args"]["result"], 0)
            self.assertIn(("shmem_long_p", (pe - 1) % 3),
                          [(begin["name"], begin["pid"])
                           for begin, end in trace.arrows() if end is found])
            (wait,) = trace.named("shmem_long_wait_until", pe)
            self.assertNotIn("ended_by", wait["args"])

    def test_the_root_of_an_active_set_is_a_pe_of_the_set(self):
        trace = self.traced("-n", 3, PROGRAM, "alike")
        roots = [call["args"]["root"] for call in trace.named("shmem_broadcast64")]
        self.assertEqual(roots, ["PE 2", "PE 2"])

    def test_a_full_file_counts_later_calls(self):
        result = self.oshrun("-n", 1, PROGRAM, "full")
        self.assertEqual(result.status, 0, result)
        self.assertRegex(result.err,
                         r"the trace is full, and \d+ later calls are not in it; shmem_pcontrol")
        self.assertGreater(len(Trace(self.file).named("shmem_long_p")), 1000000)


    def test_threads_share_tracks_with_threads_that_have_ended(self):
        trace = self.traced("-n", 1, PROGRAM, "threads")
        self.assertEqual(len(trace.named("shmem_long_p")), 1100)
        self.assertEqual([event["args"]["name"] for event in trace.events
                          if event["name"] == "thread_name"],
                         ["main", "xf??denf??denf?", "trace_program"])


class TestCost(TraceTest):
    def test_a_call_takes_no_longer_than_a_few_readings_of_the_clock(self):
        """A ratio of two minima, which other programs do not change: 0.9 where this was written."""
        result = self.oshrun("-n", 1, PROGRAM, "ratio")
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertLess(float(result.out), 5)


class TestOwnThreads(TraceTest):
    """The library's own threads have tracks."""

    def setUp(self):
        super().setUp()
        self.environment["MESHMEM_NETWORK"] = "ucx"

    def check_track(self, trace, pe, work, thread):
        spans = trace.named(work, pe)
        self.assertTrue(spans, f"PE {pe} did nothing of {work}")
        names = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace.events
                 if event["name"] == "thread_name"}
        self.assertEqual({names[span["pid"], span["tid"]] for span in spans}, {thread})
        self.assertEqual([span for span in spans if "returned" in span["args"]], [])
        return spans

    def test_what_takes_in_messages_while_a_pe_is_in_no_call(self):
        trace = self.traced("-n", 2, "--fake-nodes", 2, PROGRAM, "away")
        self.check_track(trace, 0, "(take in messages)", "meshmem network")

    @unittest.skipUnless(KERNELS, "no kernels whose end shows on this target")
    def test_what_serves_kernels(self):
        process = self.start("-n", 2, "--fake-nodes", 2, KERNELS, "far_variable")
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        (pid,) = [pid
                  for pid in self.processes() if b"PMIX_RANK=0" in launching.environment_of(pid)]
        os.kill(pid, signal.SIGUSR1)
        result = self.finish(process, 60)
        self.assertEqual((result.status, result.err), (0, ""), result)
        spans = self.check_track(Trace(self.file), 1, "(serve kernels)", "meshmem proxy")
        self.assertGreater(sum(span["args"].get("commands", 0) for span in spans), 0)


class TestStreams(TraceTest):
    """Each stream has a track of what it does, apart from the calls that put it there."""
    RUNS = " (runs)"

    def check_job(self, n, *words):
        trace = self.traced("-n", n, *words, STREAMS)
        names = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace.events
                 if event["name"] == "thread_name"}
        for pe in range(n):
            before = (pe - 1) % n
            tracks = {}
            for span in trace.spans:
                if span["pid"] == pe:
                    tracks.setdefault(names[pe, span["tid"]], []).append(span["name"])
            put, wait, reduce = ("shmemx_putmem_signal_on_stream",
                                 "shmemx_signal_wait_until_on_stream",
                                 "shmemx_float_sum_reduce_on_stream")
            for call in (put, wait, reduce):
                self.assertEqual(tracks["main"].count(call), 1, tracks)
            runs = sorted(spans for name, spans in tracks.items() if name.startswith("stream "))
            self.assertEqual(
                runs, sorted([[put + self.RUNS], [wait + self.RUNS], 3 * [reduce + self.RUNS]]))
            self.assertEqual(trace.cause(wait + self.RUNS, pe), (put + self.RUNS, before))
            (span,) = trace.named(wait + self.RUNS, pe)
            self.assertEqual((span["args"]["waited_for"], span["args"]["cmp_value"]),
                             (f"PE {before}", 7))
            (called,) = trace.named(reduce, pe)
            self.assertNotIn("waited_us", called["args"])
            for run in trace.named(reduce + self.RUNS, pe):
                self.assertEqual((run["args"]["team"], run["args"]["bytes"]), ("WORLD", 16))
                self.assertGreaterEqual(run["ts"], called["ts"])
        # The n-th runs belong together: all but the last PE's waited for that.
        runs = [trace.named(reduce + self.RUNS, pe) for pe in range(n)]
        for together in zip(*runs):
            last = max(together, key=lambda span: span["ts"])
            for run in together:
                self.assertEqual(run["args"].get("waited_for"),
                                 None if run is last else f"PE {last['pid']}")

    def test_of_one_pe(self):
        self.check_job(1)

    def test_of_three_pes(self):
        self.check_job(3)

    def test_of_two_nodes(self):
        self.environment["MESHMEM_NETWORK"] = "ucx"
        self.check_job(3, "--fake-nodes", 2)


class TestFailures(TraceTest):
    def test_a_folder_that_is_not_there(self):
        self.environment["MESHMEM_TRACE"] = "/nowhere/trace.json"
        result = self.oshrun("-n", 2, PROGRAM)
        self.assertNotEqual(result.status, 0)
        lines = [line for line in result.err.splitlines() if line.startswith("meshmem:")]
        self.assertEqual(len(lines), 1, result)
        self.assertIn("MESHMEM_TRACE=/nowhere/trace.json: No such file or directory; name a file "
                      "in a folder in which "
                      "every PE may write", lines[0])

    def test_a_folder_in_place_of_the_file(self):
        os.mkdir(self.file)
        result = self.oshrun("-n", 1, PROGRAM)
        self.assertNotEqual(result.status, 0)
        self.assertIn("it exists and is not an ordinary file", result.err)

    def check_parts_of(self, how, expected):
        with open(self.file, "w", encoding="utf-8") as older:
            older.write("older")
        result = self.oshrun("-n", 2, PROGRAM, how)
        self.assertNotEqual(result.status, 0)
        self.assertFalse(os.path.exists(self.file), "an older trace would pass for this one")
        self.assertEqual(len(self.parts()), 2)
        self.assertEqual(result.err.count(f"meshmem-trace join {self.file}"), expected, result)

    def join(self):
        joined = self.meshmem_trace("join", self.file)
        self.assertIn("has the calls of 2 PEs", joined)
        return Trace(self.file)

    def test_an_error_leaves_the_parts_and_says_so(self):
        self.check_parts_of("error", 1)
        self.assertEqual(len(self.join().named("shmem_long_p", 1)), 1)

    def test_parts_of_a_larger_job_before_are_not_joined(self):
        for job in ("-n", 5, PROGRAM, "error"), ("-n", 2, PROGRAM, "error"):
            self.assertNotEqual(self.oshrun(*job).status, 0)
        self.join()

    def test_a_job_leaves_no_parts_of_a_larger_one_before(self):
        self.assertNotEqual(self.oshrun("-n", 5, PROGRAM, "error").status, 0)
        self.assertEqual(len(self.parts()), 5)
        self.traced("-n", 2, PROGRAM)

    def test_what_a_killed_pe_has_done_can_be_read(self):
        self.check_parts_of("killed", 1)
        (waiting,) = [span for span in self.join().named("shmem_barrier_all", 0)
                      if "returned" in span["args"]]
        self.assertEqual(waiting["args"]["waited_for"], "PE 1")

    def check_wait(self, least_us):
        (waiting,) = [span for span in self.join().named("shmem_barrier_all", 0)
                      if "returned" in span["args"]]
        self.assertGreater(waiting["dur"], least_us)

    def test_a_wait_lasts_until_the_time_is_up(self):
        self.environment["MESHMEM_TIMEOUT"] = "2"
        self.check_parts_of("hangs", 1)
        self.check_wait(1.9e6)

    def test_a_wait_lasts_until_the_job_is_ended(self):
        result = self.oshrun("--timeout", 4, "-n", 2, PROGRAM, "hangs")
        self.assertEqual(result.status, 124, result)
        self.check_wait(0.5e6)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for part in self.parts():
                os.remove(part)
            process = self.start("-n", 2, PROGRAM, "hangs")
            self.assertTrue(launching.wait_until(lambda: len(self.parts()) == 2))
            time.sleep(2)
            process.send_signal(number)
            self.assertEqual(self.finish(process).status, 128 + number)
            self.check_wait(0.5e6)

    def test_handlers_of_the_program_may_hand_a_signal_on(self):
        for how in ("chained", "restored", "late"):
            result = self.oshrun("-n", 1, PROGRAM, f"ended_{how}")
            self.assertEqual(result.status, 128 + signal.SIGTERM, result)
            self.assertNotIn("Segmentation fault", result.err, result)

    def test_a_child_of_fork_does_not_change_when_its_parent_ended(self):
        self.oshrun("-n", 1, PROGRAM, "outlived")
        time.sleep(2)
        self.meshmem_trace("join", self.file)
        for waiting in Trace(self.file).named("shmem_long_wait_until", 0):
            self.assertLess(waiting["dur"], 0.9e6)

    def test_there_is_nothing_to_join(self):
        self.assertIn("there are no parts", self.meshmem_trace("join", self.file, status=1))


class TestSummary(TraceTest):
    def test_rows_add_up_calls_bytes_and_waits(self):
        self.traced("-n", 2, PROGRAM)
        rows = {row["routine"]: row
                for row in json.loads(self.meshmem_trace("summary", "--json", self.file))}
        put, wait = rows["shmem_int_put"], rows["shmem_long_wait_until"]
        self.assertEqual((put["calls"], put["bytes"], put["for"]), (2, 24, None))
        self.assertEqual({wait["by"], wait["for"]}, {"PE 0", "PE 1"})
        self.assertGreater(wait["longest_wait_us"], 0)
        self.assertLessEqual(wait["longest_wait_us"], wait["waited_us"])
        times = [row["time_us"] for row in rows.values()]
        self.assertEqual(times, sorted(times, reverse=True))
        table = self.meshmem_trace("summary", self.file)
        self.assertRegex(table, r"(?m)^ +2 +24 +[\d.]+ +0.000 +0.000  shmem_int_put$")
        self.assertRegex(table, r"(?m)shmem_long_wait_until +PE [01] for PE [01]$")

    def check_waits(self, *words):
        self.traced(*words, PROGRAM)
        rows = json.loads(self.meshmem_trace("waits", "--json", self.file))
        self.assertEqual(rows, sorted(rows, key=lambda row: -row["waited_us"]))
        found = {(row["routine"], row["for"], row["ended_by"]): row for row in rows}
        for before in range(4):
            for name, ended_by in (("shmem_long_wait_until", "shmem_long_p"),
                                   ("shmem_signal_wait_until", "shmem_int_put_signal")):
                row = found[name, f"PE {before}", ended_by]
                self.assertEqual((row["waits"], row["by"]), (1, f"PE {(before + 1) % 4}"), row)
                self.assertEqual(row["waited_us"], row["longest_wait_us"], row)
        self.assertEqual({key[2] for key in found if key[0] == "shmem_barrier_all"},
                         {"shmem_barrier_all"})
        text = self.meshmem_trace("waits", self.file)
        self.assertRegex(text, r"\n *waits +waited ms +longest ms +in +for +ended by +longest by\n")
        self.assertIn(text.splitlines()[2], self.meshmem_trace("summary", self.file))

    def test_of_waits_by_cause(self):
        self.check_waits("-n", 4)

    def test_of_waits_by_cause_over_two_nodes(self):
        self.check_waits("-n", 4, "--fake-nodes", 2)

    def test_a_wait_of_unknown_cause(self):
        """The program's own store ends a wait."""
        self.traced("-n", 1, PROGRAM, "own_store")
        (row,) = json.loads(self.meshmem_trace("waits", "--json", self.file))
        self.assertEqual((row["routine"], row["for"], row["ended_by"], row["waits"]),
                         ("shmem_long_wait_until", None, None, 1))
        self.assertRegex(self.meshmem_trace("waits", self.file),
                         r"(?m)shmem_long_wait_until +\? +\? +PE 0$")

    def test_a_finalize_after_main_writes_the_file(self):
        for options in ((), ("--fake-nodes", 2)):
            self.traced("-n", 2, *options, PROGRAM, "finalize_last")
            self.assertIn("shmem_long_sum_reduce", self.meshmem_trace("summary", self.file))

    def test_without_waits_a_line_says_so(self):
        self.traced("-n", 1, PROGRAM, "ratio")
        self.assertEqual(self.meshmem_trace("waits", self.file), "no call has waited\n")

    def test_a_full_disk_is_named(self):
        self.traced("-n", 1, PROGRAM, "alike")
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([MESHMEM_TRACE, "summary", self.file], stdout=full,
                                    stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(
            result.stderr,
            "meshmem-trace: cannot write to the standard output: No space left on device\n")

    def test_missing_and_broken_files_are_refused(self):
        self.assertIn("cannot read", self.meshmem_trace("summary", self.file, status=1))
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("[1, 2")
        self.assertIn("is not a trace", self.meshmem_trace("summary", self.file, status=1))

    def test_files_of_other_programs_are_refused(self):
        span = {"ph": "X", "name": "work", "pid": 1, "dur": 2.5}
        for change in ({"name": None}, {"pid": "a"}, {"dur": "long"}, {"args": [1]},
                       {"args": {"bytes": "many"}},
                       {"args": {"waited_us": 1}}, {"args": {"waited_us": 1, "waited_for": 3}}):
            with open(self.file, "w", encoding="utf-8") as file:
                json.dump({"traceEvents": [span, {**span, **change}]}, file)
            for command in ("summary", "waits"):
                line = self.meshmem_trace(command, self.file, status=1)
                self.assertRegex(
                    line, r"^meshmem-trace: \S+ is not a trace of meshmem: a span has no .+\n$")
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump([span, {**span, "cat": "wait"}], file)  # of such spans it tells what there is
        self.assertIn("work", self.meshmem_trace("summary", self.file))


if __name__ == "__main__":
    launching.main()
