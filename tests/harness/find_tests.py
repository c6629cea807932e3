#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds tests of a build by name, and the targets that they need: for `./mesh test NAME`.

find_tests.py BUILD_FOLDER NAME...   prints a regular expression for `ctest -R`, then a target in
                                     each line
find_tests.py --self-test

A test needs what its registration names: every file of the build in its command, ENVIRONMENT and
REQUIRED_FILES. A folder of the build stands for all files in it, unless the test has
REQUIRED_FILES. Ends with status 3 if the build has no test of such a name.
"""
import os
import pathlib
import re
import subprocess
import sys

NO_SUCH_TEST = 3
# CMake writes each of these commands in one line, with the name in long brackets.
REGISTERED = re.compile(r"^(add_test|set_tests_properties)\(\[=*\[(.+?)\]=*\](.*)\)$", re.MULTILINE)
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def registered_words(texts):
    """{test: words of its command and its properties}, from the texts of CTestTestfile.cmake."""
    tests = {}
    for text in texts:
        for _, name, rest in REGISTERED.findall(text):
            rest = rest.partition(" _BACKTRACE_TRIPLES ")[0]
            words = tests.setdefault(name, set())
            words.update({"REQUIRED_FILES"} & set(rest.split()))
            for quoted in QUOTED.findall(rest):
                words.update(re.split(r"[;=]|\\;", quoted))
    return tests


def tests_called(name, tests):
    """Tests of that name, at any number of PEs; if there is none, those whose names begin with it
    and a new word."""
    suffix = r"(\.\d+pe)?"
    exact = [test for test in tests if re.fullmatch(re.escape(name) + suffix, test)]
    return exact or [test for test in tests if re.match(re.escape(name) + r"[._]", test)]


def targets_of(words, outputs, build):
    """The outputs among a test's words, and those in folders among its words."""
    needed = set()
    for word in words:
        relative = os.path.relpath(word, build) if word.startswith("/") else None
        if relative in outputs:
            needed.add(relative)
        elif "REQUIRED_FILES" in words:
            continue
        elif relative == ".":
            return {"all"}
        elif relative is not None and not relative.startswith(".."):
            needed.update(output for output in outputs if output.startswith(relative + "/"))
    return needed


def outputs_of(build):
    """Files that the build makes, relative to it. CMake's own targets, such as install and test,
    have outputs under CMakeFiles."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True,
                             text=True, check=True)
    lines = (line.rpartition(": ") for line in listing.stdout.splitlines())
    return {os.path.relpath(os.path.join(build, path), build)
            for path, _, rule in lines if rule != "phony" and "CMakeFiles/" not in path}


def find(build, names):
    texts = (path.read_text(encoding="utf-8") for path in build.rglob("CTestTestfile.cmake"))
    tests = registered_words(texts)
    chosen = []
    for name in names:
        called = tests_called(name, tests)
        if not called:
            print(f"find_tests.py: no test is called {name}", file=sys.stderr)
            sys.exit(NO_SUCH_TEST)
        chosen += called
    print("^(" + "|".join(re.escape(test) for test in sorted(chosen)) + ")$")
    outputs = outputs_of(build)
    for target in sorted(
            set().union(*(targets_of(tests[test], outputs, str(build)) for test in chosen))):
        print(target)


def self_test():
    text = ('add_test([=[api.rma.3pe]=] "/b/bin/oshrun" "-n" "3" "/b/bin/api_rma")\n'
            'set_tests_properties([=[api.rma.3pe]=] PROPERTIES  ENVIRONMENT "A=/b/lib/x.so;C=1" '
            '_BACKTRACE_TRIPLES "/b/bin/no")\n'
            'add_test([=[api.rma.checked.3pe]=] '
            '"/b/bin/other")\nadd_test([=[examples.03_counter.1pe]=] "/s/t.py" "/b/bin")\n'
            'add_test([=[compile.all]=] "/b" "/b/bin/oshrun")\nadd_test([=[compile.files]=] '
            '"/s/check.py" "/s")\n'
            'add_test([=[compile.page]=] "/s/page.py" "/b/bin")\n'
            'set_tests_properties([=[compile.page]=] PROPERTIES  LABELS "compile" REQUIRED_FILES '
            '"/b/bin/oshrun;/b/lib/x.so")\n')
    tests = registered_words([text])
    assert tests["api.rma.3pe"] >= {"/b/bin/oshrun", "/b/lib/x.so"} and "/b/bin/no" not in tests[
        "api.rma.3pe"], tests
    for name, called in (("api.rma", ["api.rma.3pe"]), ("api.rma.3pe", ["api.rma.3pe"]),
                         ("api.rm", []), ("api.rma.1pe", []),
                         ("api.rma.checked", ["api.rma.checked.3pe"]),
                         ("examples.03", ["examples.03_counter.1pe"]),
                         ("compile", ["compile.all", "compile.files", "compile.page"])):
        assert tests_called(name, tests) == called, (name, tests_called(name, tests))
    outputs = {"bin/oshrun", "bin/api_rma", "lib/x.so", "bin/other"}
    for name, targets in (("api.rma.3pe", {"bin/oshrun", "bin/api_rma", "lib/x.so"}),
                          ("compile.all", {"all"}),
                          ("compile.files", set()), ("compile.page", {"bin/oshrun", "lib/x.so"}),
                          ("examples.03_counter.1pe", {"bin/oshrun", "bin/api_rma", "bin/other"})):
        assert targets_of(tests[name], outputs,
                          "/b") == targets, (name, targets_of(tests[name], outputs, "/b"))


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        find(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])


if __name__ == "__main__":
    main()
