#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs and pieces of programs that the documents show do what they say.

documents.py FOLDER_OF_WRAPPERS PROJECT_FOLDER
documents.py --self-test

A block of code with a main is run by the command in the block behind it, and has to print the rest
of that block, in any order. Programs of MPI are run where there is an MPI. A diff is run too,
beside the program that it changes: the last one before it. Other blocks are pieces, which
documents.hip has a frame for: a program that uses the piece and looks at the result.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DOCUMENTS = ["README.md", "docs/experts.md", "docs/fused_collectives.md", "docs/gpu.md",
             "docs/memory_model.md", "docs/performance.md", "docs/porting.md"]
# Open MPI's mpirun starts as root, and more processes than there are cores.
OF_MPIRUN = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_odls_base_num_threads": "0"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRAME = re.compile(r"^//// ([^:]+): (.*)\n", re.MULTILINE)
# The beginning of a piece, which stands outside of functions: #include, and whole functions.
DECLARATION = re.compile(r"^(?:#include [^\n]*\n|__global__ .*?^}\n)\s*", re.MULTILINE | re.DOTALL)

FILE = re.compile(r"\S+\.(?:c|cpp|hip|diff)\b")

# `files`: name and text of each file that the command reads.
Program = collections.namedtuple("Program", "where files command output")
Piece = collections.namedtuple("Piece", "where text")


def blocks_of(text, where):
    """Programs and pieces in a document."""
    blocks = [(match[1], match[2], text.count("\n", 0, match.start()) + 1)
              for match in FENCE.finditer(text)]
    last = {}
    for (language, source, line), behind in zip(blocks, blocks[1:] + [("", "", 0)]):
        place = f"{where}:{line}"
        if language == "diff" or (language in ("c", "cpp") and "int main" in source):
            command, _, output = behind[1].partition("\n")
            if behind[0] or not command.startswith("$ "):
                raise ValueError(f"{place}: no block with a command follows the program")
            names = FILE.findall(command)
            if language == "diff":
                changes = next((name for name in names if name.endswith(".diff")), None)
                if not changes or not last:
                    raise ValueError(
                        f"{place}: the command names no diff, or there is no program before it")
                yield Program(place, {**last, changes: source}, command[2:], output)
            else:
                last = {names[0]: source}
                yield Program(place, last, command[2:], output)
        elif language in ("c", "cpp"):
            yield Piece(place, source)


def frames_of(text):
    """[(document, words that the piece holds, program)], from the text of documents.hip."""
    parts = FRAME.split(text)[1:]
    return list(zip(parts[::3], parts[1::3], parts[2::3]))


def framed(piece, frames):
    """The program that the piece becomes, and which frame that was."""
    document = piece.where.split(":")[0]
    fitting = [number for number, (place, words, _) in enumerate(frames) if place == document
               and words in piece.text]
    if len(fitting) != 1:
        raise ValueError(f"{piece.where}: {len(fitting)} frames in documents.hip fit this piece")
    program = frames[fitting[0]][2]
    for place, text in (("declarations", "".join(DECLARATION.findall(piece.text))),
                        ("statements", DECLARATION.sub("", piece.text))):
        program = re.sub(rf"^ *// @{place}\n", lambda _, text=text: text, program,
                         flags=re.MULTILINE)
    return program, fitting[0]


def environment(wrappers):
    """Of a reader who has installed meshmem."""
    return {
        **os.environ, "PATH": f"{wrappers}:{os.environ['PATH']}", "MESHMEM_TIMEOUT": "60",
        **OF_MPIRUN
    }


def run(command, folder, wrappers):
    result = subprocess.run(command,
                            shell=True,
                            cwd=folder,
                            env=environment(wrappers),
                            capture_output=True,
                            text=True,
                            timeout=300)
    if result.returncode != 0:
        raise ValueError(
            f"`{command}` ended with {result.returncode}\n{result.stdout}{result.stderr[:3000]}")
    return result.stdout


def check_program(program, folder, wrappers):
    if program.command.startswith("mpicc ") and not (shutil.which("mpicc")
                                                     and shutil.which("mpirun")):
        print(f"{program.where}: skipped, there is no MPI")
        return
    for name, text in program.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    printed = run(program.command, folder, wrappers)
    if sorted(printed.splitlines()) != sorted(program.output.splitlines()):
        raise ValueError(
            f"{program.where}: `{program.command}` printed\n{printed}and not\n{program.output}")
    print(f"{program.where}: {program.command}")


def check_piece(piece, source, folder, wrappers):
    (folder / "piece.hip").write_text(source, encoding="utf-8")
    try:
        run("oshhip piece.hip -o piece && oshrun -n 2 --timeout 90 ./piece", folder, wrappers)
    except ValueError as problem:
        raise ValueError(f"{piece.where}: {problem}") from None
    print(f"{piece.where}: a piece")


def check(wrappers, project):
    frames = frames_of((project / "tests/compile/documents.hip").read_text(encoding="utf-8"))
    unused = set(range(len(frames)))
    for document in DOCUMENTS:
        for block in blocks_of((project / document).read_text(encoding="utf-8"), document):
            with tempfile.TemporaryDirectory() as folder:
                if isinstance(block, Program):
                    check_program(block, pathlib.Path(folder), wrappers)
                else:
                    source, number = framed(block, frames)
                    unused.discard(number)
                    check_piece(block, source, pathlib.Path(folder), wrappers)
    if unused:
        raise ValueError("documents.hip: no piece is for the frame "
                         f"of {[frames[number][1] for number in unused]}")


def self_test():
    text = ("```c\nint main(void) {}\n```\nso:\n```\n$ oshcc a.c -o a && "
            "./a\nhello\n```\n```cpp\n#include <a>\n\nsum = 1;\n```\n")
    program, piece = blocks_of(text, "README.md")
    assert program == ("README.md:1", {"a.c": "int main(void) {}\n"}, "oshcc a.c -o a && ./a",
                       "hello\n"), program
    diff = "```diff\n-int\n```\n```\n$ patch a.c b.diff\n```\n"
    _, _, changed = blocks_of(text + diff, "README.md")
    assert changed.files == {"a.c": "int main(void) {}\n", "b.diff": "-int\n"}, changed
    frames = frames_of("//// README.md: sum\n// @declarations\nint main() {\n  // "
                       "@statements\n}\n//// docs/gpu.md: sum\n")
    assert framed(piece, frames) == ("#include <a>\n\nint main() {\nsum = 1;\n}\n",
                                     0), framed(piece, frames)
    for wrong in ("```c\nint main(void) {}\n```\n",
                  "```c\nint main(void) {}\n```\n```\nno command\n```\n", diff,
                  text + diff.replace("b.diff", "")):
        try:
            list(blocks_of(wrong, "x"))
        except ValueError:
            continue
        sys.exit(f"documents.py: {wrong!r} was taken")
    for wrong in ("true && echo 1", "false"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                check_program(Program("x", {}, wrong, "2\n"), pathlib.Path(folder), "/")
            except ValueError:
                continue
        sys.exit(f"documents.py: {wrong!r} was taken")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    try:
        check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
    except ValueError as problem:
        sys.exit(f"documents.py: {problem}")


if __name__ == "__main__":
    main()
