#!python
# SPDX-License-Identifier: Apache-2.0
"""A program of the wheel, as oshrun, in the folder of Python's programs: starts the one of this
name in the package. It does not import the package, which takes longer than oshrun does."""
import importlib.util
import os
import sys

package = importlib.util.find_spec("meshmem").submodule_search_locations[0]
program = os.path.join(package, "bin", os.path.basename(sys.argv[0]))
with open(program, "rb") as file:
    interpreter = [sys.executable] if file.read(2) == b"#!" else []  # a script
words = [*interpreter, program, *sys.argv[1:]]
os.execv(words[0], words)
