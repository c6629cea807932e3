#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/tutorials compile by the commands on their page, and print what the page
shows.

tutorials.py FOLDER_OF_WRAPPERS PROJECT_FOLDER
tutorials.py --self-test

The test does what a reader does, from the top of a page to its end. A block of C or C++ is a whole
program; the first file that the next block names is where it goes. A diff changes that program, for
the commands of the next block only; its hunks are separated by @@. A block without a language has
commands, each behind "$ ", and below each one what it prints. Commands with --hosts run over the
simulated machines a and b, where these can be made.

Lines that name a PE may come in any order, but those of one PE in the page's. Other lines have an
order of their own. Of a command that fails each kind of line counts once, since nobody knows which
PE sees the problem first. The program's own lines do not count there, since a PE may be ended
before it prints.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from documents import FENCE, FILE, environment

SKIPPED, LIMIT = 77, 120
# Output that differs from run to run or by machine -> what stands for it in comparisons.
MASKS = [(re.compile(pattern), instead) for pattern, instead in (
    (r"\bpid \d+", "pid P"), (r"\(host [^\s,]+,", "(host H,"), (r"\b0x[0-9a-f]+", "0xA"),
    (r" +\d+(\.\d+)? (ns|us|ms|s)\b", r" T \2"), (r"^(oshrun: several machines:) .*", r"\1"))]
# Which PE sees the problem first, which of the others it waits for, a row of a table of PEs, the
# first thread, and how many PEs are left.
ANY_PE = [(re.compile(pattern), instead)
          for pattern, instead in ((r"^(meshmem: |oshrun: |)PE \d+", r"\1PE N"),
                                   (r"\b(waits for|waited T s for|lost) PE \d+", r"\1 PE N"),
                                   (r"^  \d[\d.,]* T s (.*?)(; called in .*)?$", r"  N \1"),
                                   (r"\bblock \([\d, ]+\), thread \([\d, ]+\)",
                                    "block B, thread T"), (r"^(oshrun: .*?); ending .*", r"\1"))]
FAILURE = re.compile(r"^oshrun: .*; ending ", re.MULTILINE)
NOT_OF_PROGRAM = re.compile(r"meshmem: |oshrun: |  ")

# Commands with what each prints; `program` is the text of a block before them, and `change` that
# of a diff.
Step = collections.namedtuple("Step", "where program change commands")


def commands_of(text, where):
    """[(command, output)] of a block."""
    if not text.startswith("$ "):
        raise ValueError(f"{where}: a block without a language begins with a command")
    return [
        tuple(part.partition("\n")[::2]) for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    ]


def steps_of(text, where):
    program = change = None
    for match in FENCE.finditer(text):
        language, block, place = match[1], match[
            2], f"{where}:{text.count(chr(10), 0, match.start()) + 1}"
        if language == "":
            yield Step(place, program, change, commands_of(block, place))
            program = change = None
        elif program or change:
            raise ValueError(
                f"{place}: no commands follow the program or the diff before this block")
        elif language == "diff":
            change = block
        elif language in ("c", "cpp"):
            if "int main" not in block:
                raise ValueError(f"{place}: this is no whole program")
            program = block
    if program or change:
        raise ValueError(f"{where}: no commands follow the last program or diff")


def changed(program, change, where):
    """The program after the change. The lines that a hunk removes must be there once."""
    for hunk in re.split(r"^@@.*\n", change, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old, new = (
            "".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
        if old == new or program.count(old) != 1:
            raise ValueError(
                f"{where}: the program has these lines {program.count(old)} times\n{old}")
        program = program.replace(old, new)
    return program


def masked(line, masks):
    for pattern, instead in masks:
        line = pattern.sub(instead, line)
    return line.rstrip()


def comparable(output, has_errors, fails):
    lines = [masked(line, MASKS + ANY_PE if has_errors else MASKS) for line in output.splitlines()]
    if has_errors:
        return {line for line in lines if not fails or NOT_OF_PROGRAM.match(line)}
    by_speaker = collections.defaultdict(list)
    for line in lines:
        speaker = re.match(r".*?\bPE \d+", line)
        by_speaker[speaker[0] if speaker else ""].append(line)
    return by_speaker


def run(command, folder, wrappers, machines):
    """(status, what it printed), or None without simulated machines or a launcher for them."""
    words = ["bash", "-c", command]
    if " --hosts " in command:
        if not shutil.which("mpirun") and not shutil.which("prterun"):
            return None
        words = [sys.executable, "-B", str(machines), "a", "b", "--", *words]
    try:
        result = subprocess.run(words,
                                cwd=folder,
                                env=environment(wrappers),
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT,
                                text=True,
                                timeout=LIMIT,
                                check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"`{command}` ran longer than {LIMIT} s") from None
    return None if result.returncode == SKIPPED else (result.returncode, result.stdout)


def check_commands(step, folder, wrappers, machines):
    for command, output in step.commands:
        fails = bool(FAILURE.search(output))
        result = run(command, folder, wrappers, machines)
        if result is None:
            print(f"{step.where}: skipped, there are no simulated machines: {command}")
            continue
        status, printed = result
        if (status != 0) != fails:
            raise ValueError(f"{step.where}: `{command}` ended with {status}\n{printed}")
        has_errors = fails or "meshmem: " in output
        if comparable(printed, has_errors, fails) != comparable(output, has_errors, fails):
            raise ValueError(f"{step.where}: `{command}` printed\n{printed}and not\n{output}")
        print(f"{step.where}: {command}")


def check_page(text, where, top, wrappers, machines):
    """`top` holds the folder of all pages, and for a while a copy with a changed program."""
    folder, copy = pathlib.Path(top, "reader"), pathlib.Path(top, "changed")
    folder.mkdir(exist_ok=True)
    name = program = None
    for step in steps_of(text, where):
        if step.program:
            name = FILE.search("\n".join(command for command, _ in step.commands))
            if not name or not any(output for _, output in step.commands):
                raise ValueError(f"{step.where}: the commands name no file, or print nothing")
            name, program = name[0], step.program
            (folder / name).write_text(program, encoding="utf-8")
        if not program:
            raise ValueError(f"{step.where}: there is no program before this")
        if step.change:
            shutil.copytree(folder, copy)
            (copy / name).write_text(changed(program, step.change, step.where), encoding="utf-8")
        check_commands(step, copy if step.change else folder, wrappers, machines)
        if step.change:
            shutil.rmtree(copy)
    if not program:
        raise ValueError(f"{where}: the page has no program")


def check(wrappers, project):
    pages = sorted((project / "docs/tutorials").glob("*.md"))
    if not pages:
        raise ValueError("docs/tutorials has no pages")
    with tempfile.TemporaryDirectory() as top:
        for page, following in zip(pages, [*pages[1:], None]):
            text, where = page.read_text(encoding="utf-8"), str(page.relative_to(project))
            if following and f"]({following.name})" not in text:
                raise ValueError(f"{where}: no link leads to {following.name}")
            check_page(text, where, top, wrappers, project / "tests/hosts/machines.py")


# ---- The test of the test, with programs that cat prints
PROGRAM = "```c\nPE 0: one 3.1 us\nPE 0: two\nPE 1: pid 17\nint main\n```\n"
SHOWN = "```\n$ true a.c\n$ cat a.c\nPE 1: pid 4\nPE 0: one 8 us\nPE 0: two\nint main\n```\n"
CHANGE = "```diff\n PE 0: two\n-PE 1: pid 17\n+PE 2\n```\n```\n$ grep 2 a.c\nPE 2\n```\n"
FAILING = "```\n$ cat a.c; echo 'oshrun: PE 3 (pid 5) ended; ending PE 1'; false\n" + \
    PROGRAM[5:-4] + \
    "oshrun: PE 2 (pid 6) ended; ending PE 1\n```\n"
RIGHT = PROGRAM + SHOWN + CHANGE + FAILING + "```\n$ grep -c 17 a.c\n1\n```\n"
WRONG = {
    "no program":
        "Text.\n",
    "commands without a program":
        SHOWN,
    "a program without commands":
        PROGRAM,
    "a program without output":
        PROGRAM + "```\n$ cat a.c >b.c\n```\n",
    "a piece":
        PROGRAM.replace("int main", "int") + SHOWN,
    "a block without a command":
        RIGHT + "```\nPE 0: one\n```\n",
    "another line":
        PROGRAM + SHOWN.replace("two", "three"),
    "a line too few":
        PROGRAM + SHOWN.replace("PE 1: pid 4\n", ""),
    "another order of a PE's lines":
        PROGRAM + SHOWN.replace("PE 0: one 8 us\nPE 0: two\n", "PE 0: two\nPE 0: one 8 us\n"),
    "another unit":
        PROGRAM + SHOWN.replace("8 us", "8 ms"),
    "a failure that is not shown":
        PROGRAM + SHOWN.replace("$ true", "$ false"),
    "a failure that does not come":
        PROGRAM + SHOWN + FAILING.replace("; false", ""),
    "another failure":
        PROGRAM + SHOWN +
        FAILING.replace(") ended; ending PE 1\n```", ") was killed; ending PE 1\n```"),
    "a diff of other lines":
        PROGRAM + SHOWN + CHANGE.replace("-PE 1", "-PE 7"),
    "a diff that changes nothing":
        PROGRAM + SHOWN + CHANGE.replace("+PE 2", "+PE 1: pid 17"),
    "a diff without commands":
        PROGRAM + SHOWN + CHANGE.partition("```\n```")[0] + "```\n",
}


def complaint(text):
    with tempfile.TemporaryDirectory() as top:
        try:
            check_page(text, "x", top, "/", "/no machines")
        except ValueError as problem:
            return str(problem)
    return None


def self_test():
    wrong = [f"a right page: {complaint(RIGHT)}"] if complaint(RIGHT) else []
    wrong += [f"{what} was taken" for what, text in WRONG.items() if not complaint(text)]
    with tempfile.TemporaryDirectory() as folder:
        tutorials = pathlib.Path(folder, "docs/tutorials")
        tutorials.mkdir(parents=True)
        for pages, right in (({}, False), ({"1.md": RIGHT + "[2](2.md)\n",
                                            "2.md": RIGHT}, True), ({"1.md": RIGHT}, False)):
            for name, text in pages.items():
                (tutorials / name).write_text(text, encoding="utf-8")
            try:
                check("/", pathlib.Path(folder))
            except ValueError:
                wrong += [f"refused: {list(pages)}"] if right else []
            else:
                wrong += [] if right else [f"taken: {list(pages)}"]
    for what in wrong:
        print(f"tutorials.py: {what}", file=sys.stderr)
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    try:
        check(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve())
    except ValueError as problem:
        sys.exit(f"tutorials.py: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
