#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PEs' output comes in whole lines, every byte, promptly, and PE 0 reads standard input."""
import os
import pty
import re
import select
import subprocess
import sys
import time

import launching
from launching import OSHRUN, wait_until

# Writes lines in pieces, as fast as it can, to both outputs.
CHATTER = r"""
import os, random
pe, count = int(os.environ["PMIX_RANK"]), 400
random.seed(pe)
for i in range(count):
    line = b"<%d:%d:%s>\n" % (pe, i, b"x" * random.choice((0, 10, 100, 5000)))
    cut = random.randrange(len(line))
    for fd in (1, 2):
        os.write(fd, line[:cut])
        os.write(fd, line[cut:])
"""

# All byte values, long runs without a line end, and no line end at the end.
BINARY = r"""
import os, sys
data = bytes(range(256)) * 64 + b"\0" * 200000 + b"\r\n\x1b[0m" + os.urandom(1 << 20) + b"end"
open(sys.argv[1], "wb").write(data)
os.write(1, b"")
view = memoryview(data)
while view:
    view = view[os.write(1, view):]
"""


def read_for(fd, seconds):
    """All that comes within `seconds`."""
    data, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                news = os.read(fd, 65536)
            except OSError:  # a terminal whose other side is closed
                break
            if not news:
                break
            data += news
    return data


def read_until(fd, text, seconds=10):
    data, deadline = b"", time.monotonic() + seconds
    while text not in data and time.monotonic() < deadline:
        data += read_for(fd, 0.02)
    return data


class Output(launching.LaunchTest):
    def python(self, pes, code, *words, **options):
        return self.start("-n", pes, sys.executable, "-c", code, *words, **options)

    def assert_chatter_is_whole(self, text, pes, copies=1):
        lines = text.splitlines()
        self.assertEqual(len(lines), copies * pes * 400)
        seen = {}
        for line in lines:
            match = re.fullmatch(r"<(\d+):(\d+):x*>", line)
            self.assertTrue(match, line[:200])
            seen.setdefault(int(match[1]), []).append(int(match[2]))
        for numbers in seen.values():
            if copies == 1:
                self.assertEqual(numbers, list(range(400)), "order within a PE")

    def test_lines_of_many_pes_stay_whole(self):
        result = self.finish(self.python(8, CHATTER), 120)
        self.assertEqual(result.status, 0, result.err[-500:])
        self.assert_chatter_is_whole(result.out, 8)
        self.assert_chatter_is_whole(result.err, 8)

    def test_lines_stay_whole_where_stdout_and_stderr_meet(self):
        result = self.finish(self.python(4, CHATTER, stderr=subprocess.STDOUT), 120)
        self.assert_chatter_is_whole(result.out, 4, copies=2)

    def test_a_slow_reader_loses_nothing(self):
        process = self.python(4, CHATTER)
        time.sleep(1.5)
        self.assert_chatter_is_whole(self.finish(process, 120).out, 4)

    def test_a_file_gets_whole_lines(self):
        path = os.path.join(self.folder, "out")
        with open(path, "wb") as file:
            self.assertEqual(self.finish(self.python(4, CHATTER, stdout=file), 120).status, 0)
        with open(path, encoding="ascii") as file:
            self.assert_chatter_is_whole(file.read(), 4)

    def test_bytes_pass_unchanged(self):
        path = os.path.join(self.folder, "sent")
        process = self.python(1, BINARY, path)
        received = process.communicate(timeout=60)[0]
        with open(path, "rb") as file:
            self.assertTrue(file.read() == received, len(received))

    def test_a_line_longer_than_oshrun_holds_passes(self):
        code = "import os\nfor i in range(40): os.write(1, b'y' * (1 << 20))\nos.write(1, b'\\n')"
        received = self.python(1, code).communicate(timeout=60)[0]
        self.assertTrue(received == b"y" * (40 << 20) + b"\n", len(received))
        tagged = self.start("-n", 1, "--tag-output", sys.executable, "-c",
                            code).communicate(timeout=60)[0]
        self.assertTrue(tagged == b"[0] " + b"y" * (40 << 20) + b"\n", len(tagged))

    def test_stdout_and_stderr_stay_apart(self):
        result = self.oshrun("-n", 2, "sh", "-c", "echo to-out; echo to-err >&2")
        self.assertEqual((result.out, result.err), ("to-out\n" * 2, "to-err\n" * 2))

    def test_an_unfinished_last_line_is_printed(self):
        self.assertEqual(self.oshrun("-n", 1, "printf", "abc").out, "abc")
        # More of them are kept apart.
        self.assertEqual(self.oshrun("-n", 3, "printf", "abc").out, "abc\nabc\nabc")

    def test_a_line_appears_as_soon_as_it_is_complete(self):
        process = self.start("-n", 2, "sh", "-c", "echo now; sleep 60")
        self.assertEqual(read_until(process.stdout.fileno(), b"now\nnow\n"), b"now\nnow\n")
        process.terminate()
        self.finish(process)

    def test_a_prompt_appears_without_its_line_end(self):
        process = self.start("-n", 2, "sh", "-c",
                             "test $PMIX_RANK = 0 && printf 'name? '; sleep 60")
        self.assertEqual(read_until(process.stdout.fileno(), b"name? "), b"name? ")
        process.terminate()
        self.finish(process)

    def test_a_progress_bar_moves(self):
        script = "for i in 1 2 3; do printf '\\r%s0 %%' $i; sleep 0.3; done; sleep 60"
        process = self.start("-n", 1, "sh", "-c", script)
        begin = time.monotonic()
        first = read_until(process.stdout.fileno(), b"\r10 %")
        self.assertEqual(first + read_until(process.stdout.fileno(), b"\r30 %"),
                         b"\r10 %\r20 %\r30 %")
        self.assertGreater(time.monotonic() - begin, 0.3)
        process.terminate()
        self.finish(process)

    def test_halves_of_lines_are_not_mixed(self):
        script = "printf \"<$PMIX_RANK \"; sleep 0.4; printf \"$PMIX_RANK>\\n\""
        for _ in range(2):
            result = self.oshrun("-n", 6, "sh", "-c", script)
            self.assertEqual(sorted(result.out.splitlines()), [f"<{pe} {pe}>" for pe in range(6)])

    def test_a_full_stdio_buffer_is_no_prompt(self):
        code = ("import os, time\n"
                "if os.environ['PMIX_RANK'] == '0': os.write(1, b'a' * 4096); time.sleep(2); "
                "os.write(1, b'a\\n')\n"
                "else: time.sleep(0.7); os.write(1, b'b\\n')")
        self.assertEqual(self.finish(self.python(2, code)).out, "b\n" + "a" * 4097 + "\n")

    def test_an_unfinished_line_does_not_silence_the_others_for_ever(self):
        script = "test $PMIX_RANK = 0 && printf 'working' || { sleep 1; echo news; }; sleep 60"
        process = self.start("-n", 2, "sh", "-c", script)
        self.assertEqual(read_until(process.stdout.fileno(), b"news\n", 20), b"working\nnews\n")
        process.terminate()
        self.finish(process)

    def test_a_very_long_line_does_not_wait_for_an_unfinished_one(self):
        code = ("import os, sys, time\n"
                "if os.environ['PMIX_RANK'] == '0':\n"
                "    os.write(1, b'running ')\n"
                "    while not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"
                "else:\n"
                "    time.sleep(0.5)\n"
                "    for i in range(20): os.write(1, b'y' * (1 << 20))\n"
                "    open(sys.argv[1], 'w').close()\n")
        process = self.python(2, code, os.path.join(self.folder, "written"))
        received = process.communicate(timeout=60)[0]
        self.assertTrue(received == b"running \n" + b"y" * (20 << 20), len(received))

    def test_a_reader_that_leaves_between_empty_lines_ends_the_job(self):
        process = self.start("-n", 1, "--tag-output", "sh", "-c",
                             "echo a; while sleep 0.2; do echo; done")
        self.assertTrue(read_until(process.stdout.fileno(), b"a\n"))
        process.stdout.close()
        self.assertTrue(wait_until(lambda: process.poll() is not None, 20))
        process.stderr.close()

    def test_a_slow_reader_of_the_last_output_costs_no_time(self):
        process = self.python(1, "import os\nos.write(1, b'y' * 300000)")
        read_until(process.stdout.fileno(), b"y")  # some of it, so that the PE can end
        time.sleep(1)

        before = launching.ticks_of(process.pid)
        time.sleep(1)
        self.assertLess(launching.ticks_of(process.pid) - before, 5)
        process.communicate(timeout=60)

    def test_a_reader_that_leaves_ends_the_job_quietly(self):
        process = self.start("-n", 2, "yes")
        self.assertTrue(read_until(process.stdout.fileno(), b"y\n"))
        process.stdout.close()
        self.assertTrue(wait_until(lambda: process.poll() is not None, 10))
        self.assertEqual((process.returncode, process.stderr.read()), (141, b""))
        process.stderr.close()

    def test_a_full_disk_is_said_once_and_no_success(self):
        with open("/dev/full", "wb") as full:
            result = self.oshrun("-n", 2, "sh", "-c", "echo a; sleep 0.3; echo b; echo c >&2",
                                 stdout=full)
            self.assertEqual(result.status, 1, result)
            self.assertEqual(sorted(result.err.splitlines()),
                             ["c", "c",
                              "oshrun: output of the PEs is lost: No space left on device"])
            self.assertEqual(self.oshrun("-n", 2, "sh", "-c", "echo c >&2", stderr=full).status, 1)
            # The job goes on, and its own status counts.
            result = self.oshrun("-n", 1, "sh", "-c", "echo a; sleep 0.3; echo b; exit 3",
                                 stdout=full)
            self.assertEqual(result.status, 3, result)

    def test_text_on_request_that_does_not_fit_is_no_success(self):
        with open("/dev/full", "wb") as full:
            for option in ("--help", "--version"):
                result = self.oshrun(option, stdout=full)
                self.assertEqual(result.status, 1, result)
                self.assertRegex(result.err, r"^oshrun: cannot write all to standard output: .*\n$")

    def test_the_end_does_not_wait_for_a_blocked_reader_after_two_interrupts(self):
        process = self.start("-n", 2, "yes")
        time.sleep(0.5)  # nobody reads: all buffers are full now
        process.send_signal(2)
        time.sleep(0.2)
        process.send_signal(2)
        self.assertTrue(wait_until(lambda: process.poll() is not None, 10))
        self.assertEqual(process.returncode, 130)
        self.finish(process)


class Input(launching.LaunchTest):
    def test_standard_input_goes_to_pe_0(self):
        result = self.oshrun("-n", 3, "sh", "-c", "wc -c | sed s/^/$PMIX_RANK:/",
                             given=b"z" * 300000)
        self.assertEqual(sorted(result.out.split()), ["0:300000", "1:0", "2:0"])

    def test_a_file_as_standard_input(self):
        with open(__file__, "rb") as file:
            result = self.oshrun("-n", 2, "cat", stdin=file)
        with open(__file__, encoding="utf-8") as file:
            self.assertEqual(result.out, file.read())

    def test_an_open_standard_input_does_not_hold_the_job(self):
        process = self.start("-n", 2, "true", stdin=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: process.poll() is not None, 10))
        self.finish(process)


class Terminal(launching.LaunchTest):
    """oshrun at a terminal, which is the test's."""

    def start_at_terminal(self, *words):
        pid, fd = pty.fork()
        if pid == 0:
            os.execvpe(OSHRUN, [OSHRUN, *words], self.environment)
        self.addCleanup(os.close, fd)
        return pid, fd

    def status_of(self, pid):
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_pes_know_whether_they_write_to_a_terminal(self):
        script = "echo tty=${MESHMEM_OUTPUT_TTY-none}${MESHMEM_ERROR_TTY-none}"
        pid, fd = self.start_at_terminal("-n", "2", "sh", "-c", script)
        self.assertEqual(read_for(fd, 20), b"tty=11\r\ntty=11\r\n")
        self.assertEqual(self.status_of(pid), 0)
        result = self.oshrun("-n", 1, "sh", "-c", script,
                             env={"MESHMEM_OUTPUT_TTY": "1", "MESHMEM_ERROR_TTY": "1"})
        self.assertEqual(result.out, "tty=nonenone\n")

    def test_what_is_typed_goes_to_pe_0(self):
        pid, fd = self.start_at_terminal("-n", "2", "cat")
        os.write(fd, b"hello\n")
        # the echo, and cat's
        self.assertEqual(read_until(fd, b"hello\r\nhello\r\n"), b"hello\r\nhello\r\n")
        os.write(fd, b"\x04")  # end of file
        self.assertEqual(self.status_of(pid), 0)

    def test_control_c_ends_the_job(self):
        pid, fd = self.start_at_terminal("-n", "2", "sh", "-c", "echo ready; sleep 60")
        read_until(fd, b"ready\r\nready\r\n")
        os.write(fd, b"\x03")
        self.assertEqual(self.status_of(pid), 130)
        self.assert_nothing_left()

    def test_pe_0_reads_a_terminal_that_is_not_the_controlling_one(self):
        terminal, other_side = pty.openpty()
        process = self.start("-n", 1, "head", "-n", 1, stdin=other_side, start_new_session=True)
        os.write(terminal, b"hello\n")
        self.assertEqual(self.finish(process).out, "hello\n")
        os.close(terminal)
        os.close(other_side)

    def test_a_closed_terminal_ends_the_job(self):
        pid, fd = self.start_at_terminal("-n", "2", "sh", "-c", "echo ready; sleep 60")
        read_until(fd, b"ready\r\nready\r\n")
        os.close(os.dup(fd))
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)  # the terminal's last descriptor goes
        os.waitpid(pid, 0)
        self.assert_nothing_left()


if __name__ == "__main__":
    launching.main()
