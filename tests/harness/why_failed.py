#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says at the end of a long log why tests failed: for `./mesh test --all`.

why_failed.py BUILD_FOLDER OUTPUT   OUTPUT is what ctest has printed (--output-log); its last lines
                                    are printed again below the reasons
why_failed.py --self-test

The reasons are the lines of BUILD_FOLDER/Testing/Temporary/LastTest.log that say what was expected;
for a test that says nothing of that kind, its last lines.
"""
import pathlib
import re
import sys
import tempfile

MOST_TESTS, MOST_LINES, MOST_COLUMNS, LAST_LINES = 10, 12, 300, 6
SUMMARY = re.compile(r"^\d+% tests passed", re.MULTILINE)
# In ctest's summary: a number, the name, how it ended.
FAILED = re.compile(r"^\s*\d+ - (\S+) \(([^)]*)\)", re.MULTILINE)
TEST = re.compile(r"^\d+/\d+ Testing: (\S+)\n.*?^Output:\n-+\n(.*?)^<end of output>",
                  re.MULTILINE | re.DOTALL)
REASON = re.compile(r"^(FAIL|ERROR): |^\w*(Error|Exception)\b|Sanitizer: |runtime error: |: error: "
                    r"|^(oshrun|meshmem|mesh|CMake Error|[\w-]+\.(py|sh)): |[Aa]ssertion|Timeout"
                    r"|^SKIPPED")
FAILURE = re.compile(r"Failure$")  # GoogleTest's, with what was expected in the lines below
BELOW_FAILURE = 4


def reasons(output):
    lines = [line for line in output.splitlines() if line.strip()]
    chosen = []
    place, below = None, 0
    for line in lines:
        if line.lstrip().startswith('File "'):  # the last one of a traceback is nearest
            place = line
        if FAILURE.search(line):
            below = BELOW_FAILURE + 1
        if REASON.search(line) or below > 0:
            if place and not line.startswith(("FAIL", "ERROR")):
                chosen.append(place)
                place = None
            chosen.append(line)
        below -= below > 0
    chosen = list(dict.fromkeys(chosen)) or lines[-LAST_LINES:]
    return [line[:MOST_COLUMNS] for line in chosen[:MOST_LINES]]


def summary_of(output):
    """The part of ctest's output that begins with its last count of the tests."""
    starts = [found.start() for found in SUMMARY.finditer(output)]
    return output[starts[-1]:].replace("[ERROR_MESSAGE] \n", "") if starts else ""


def report(build, output):
    log = pathlib.Path(build, "Testing/Temporary/LastTest.log")
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    said = dict(TEST.findall(text))
    summary = summary_of(output)
    failed = FAILED.findall(summary)
    for name, how in failed[:MOST_TESTS]:
        yield f"---- {name}: {how}"
        yield from reasons(said.get(name, ""))
    if len(failed) > MOST_TESTS:
        yield f"---- and {len(failed) - MOST_TESTS} more"
    yield ""
    yield summary.rstrip("\n")


def logged(name, output):
    return (f"1/9 Testing: {name}\n1/9 Test: {name}\nCommand: \"x\"\nOutput:\n" + "-" * 58 +
            f"\n{output}<end of output>\nTest time =   0.11 sec\n" + "-" * 58 + "\nTest Failed.\n")


def self_test():
    google = ("[ RUN      ] Put.Copies\n/a/put_test.cpp:7: Failure\n"
              "Expected equality of these values:\n  got\n    Which is: 1\n  2\nnoise\n")
    unit = ("test_a (__main__.A.test_a) ... FAIL\n\n=====\nFAIL: test_a (__main__.A.test_a)\n"
            'Traceback (most recent call last):\n  File "b.py", line 1, in c\n    d()\n'
            '  File "a.py", line 2, in b\n    e()\nAssertionError: 3 != 4 : status 1\n')
    silent = "".join(f"line {number}\n" for number in range(9))
    log = logged("api.put", google) + logged("launch.a", unit) + logged("silent", silent)
    log += logged("loud", "".join(f"oshrun: {number}\n" for number in range(99)))
    log += logged("right", "oshrun: nothing of this is shown\n")
    summary = ("50% tests passed, 4 tests failed out of 8\n\nThe following tests FAILED:\n"
               "\t  1 - api.put (Failed)\n\t  2 - launch.a (Failed)\n\t  3 - silent (Timeout)\n"
               "\t  4 - loud (Failed)\n")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "Testing/Temporary")
        path.mkdir(parents=True)
        (path / "LastTest.log").write_text(log)
        lines = "\n".join(report(folder, "1/9 Test #1: api.put ... Failed\n" + summary +
                                        "[ERROR_MESSAGE] \n")).split("\n")
        assert lines[:6] == ["---- api.put: Failed", "/a/put_test.cpp:7: Failure",
                             "Expected equality of these values:", "  got", "    Which is: 1",
                             "  2"], lines
        assert lines[6:10] == ["---- launch.a: Failed", "FAIL: test_a (__main__.A.test_a)",
                               '  File "a.py", line 2, in b',
                               "AssertionError: 3 != 4 : status 1"], lines
        assert lines[10:17] == ["---- silent: Timeout"] + [f"line {n}" for n in range(3, 9)], lines
        assert lines[17:30] == ["---- loud: Failed"] + [f"oshrun: {n}" for n in range(12)], lines
        assert "\n".join(lines[31:]) + "\n" == summary, lines
        many = "0% tests passed, 12 tests failed out of 12\n" + "".join(
            f"\t {n} - gone{n} (Not Run)\n" for n in range(12))
        lines = "\n".join(report(folder, many)).split("\n")
        assert lines[9:11] == ["---- gone9: Not Run", "---- and 2 more"], lines
        assert list(report("/nowhere", "no summary")) == ["", ""]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    build, output = sys.argv[1:]
    text = pathlib.Path(output).read_text(encoding="utf-8", errors="replace")
    print("\n".join(report(build, text)))


if __name__ == "__main__":
    main()
