# SPDX-License-Identifier: Apache-2.0
"""Reads assembly of AMD GPUs for instructions.py.

A function becomes a graph of instructions. If the compiler ran with -gline-tables-only, each
instruction also has its frames. These are the function of the source that it was made of, and the
calls through which that function was inlined.

Invariant: this file does not know which instructions are right or wrong.

amd_assembly.py --self-test  reads assembly whose debug information has numbers in every form
"""
import collections
import functools
import re
import sys

PLAIN_STORE = re.compile(r"(global|flat)_store_")
ATOMIC = re.compile(r"(global|flat)_atomic_")
STORE = re.compile(r"(global|flat)_(store|atomic)_")
LOAD = re.compile(r"(global|flat)_load_")
SCALAR_LOAD = re.compile(r"s_(buffer_)?load_")
REGISTERS = re.compile(r"\b([svat])(?:\[(\d+):(\d+)\]|(\d+)\b)")
LABEL = re.compile(r"[.\w]+:")
JUMP = re.compile(r"s_c?branch\w* (\S+)")
NEVER_ON = ("s_branch", "s_endpgm", "s_trap", "s_setpc")
# The value and the comment of a line. A semicolon in quotation marks does not begin the comment.
DEBUG_LINE = re.compile(r'((?:[^;"]+|"(?:[^"\\]|\\.)*")*);?(.*)')
SCALAR_UNCHANGED = re.compile(r"s_(cmp|bitcmp|c?branch|waitcnt)")

# A function of the source that an instruction was made of, and the place in it.
Frame = collections.namedtuple("Frame", "name file line")


@functools.cache  # the same few thousand operands are asked about millions of times
def registers_of(operand, kind="s"):
    return frozenset(number for letter, first, last, single in REGISTERS.findall(operand)
                     if letter == kind
                     for number in range(int(first or single), int(last or single) + 1))


def bits_of(operands):
    return sum(1 << number for number in registers_of(operands)) if "s" in operands else 0


class Function:
    """The instructions of a function or kernel, as a graph. Calls are written `call NAME`."""

    def __init__(self, name, lines, origins):
        """lines: pairs of a line's number and its text."""
        self.name = name
        self.code, self.line_of, self.labels = ["(entry)"], [lines[0][0] if lines else 0], {}
        callee = ""
        for number, line in lines:
            if line.startswith(("\t.", ";", " ")):
                continue
            if "rel32@lo" in line and (found := re.search(r"(\w+)@(?:gotpc)?rel32@lo", line)):
                callee = found.group(1)
            if line.startswith("\ts_swappc"):
                line = f"call {callee}"
            if LABEL.match(line):
                self.labels[line.split(":")[0]] = len(self.code)
            elif line := " ".join(line.split(";")[0].split()):
                parts = line.split(" :: ")  # two instructions that are issued as one
                self.code += parts
                self.line_of += [number] * len(parts)
        self.after = [self.followers(at) for at in range(len(self.code))]
        self.before = [[] for _ in self.code]
        for at, followers in enumerate(self.after):
            for follower in followers:
                self.before[follower].append(at)
        self.frames = [origins.get(number, ()) for number in self.line_of]

    def base_name(self):
        """Returns the name that the source has, without template arguments."""
        return next((frames[-1].name for frames in self.frames if frames), self.name)

    def in_clauses(self):
        """Returns the memory accesses of each clause but its first. Debug information gives them
        the first one's place in the source, not their own."""
        found = set()
        for at, code in enumerate(self.code):
            if clause := re.match(r"s_clause (0x\w+)", code):
                found |= set(range(at + 2, at + 2 + int(clause.group(1), 16)))
        return found

    def followers(self, at):
        code = self.code[at]
        if not code.startswith("s_"):
            return [at + 1] if at + 1 < len(self.code) else []
        found = [at + 1] if not code.startswith(NEVER_ON) and at + 1 < len(self.code) else []
        target = JUMP.match(code)
        if target and target.group(1) in self.labels:
            found.append(self.labels[target.group(1)])
        return found

    def find_scalar_data(self):
        """Returns the scalar loads through a pointer that was itself loaded. They load data, not
        the kernel's arguments. The address of a variable, which comes from the linker's table, does
        not count as such a pointer."""
        every = range(len(self.code))
        is_load = [bool(SCALAR_LOAD.match(code)) for code in self.code]
        reads = [bits_of(code.partition(" ")[2].partition(",")[2]) for code in self.code]
        in_table = self.spread([at for at in every if "@gotpcrel32@" in self.code[at]], reads,
                               lambda at: not is_load[at])
        sources = [at for at in every if is_load[at] and not reads[at] & in_table[at]
                   or self.code[at].startswith("v_readfirstlane")]
        loaded = self.spread(sources, reads, lambda at: not reads[at] & in_table[at])
        return {at for at in every if is_load[at] and reads[at] & loaded[at]}

    def spread(self, sources, reads, passes_on):
        """Returns for each instruction, as bits, the scalar registers that hold a certain value
        before it. `sources` write such values, and so does an instruction that reads one if
        passes_on(at) is true."""
        written = [0 if SCALAR_UNCHANGED.match(code)
                   else bits_of(code.partition(" ")[2].partition(",")[0])
                   for code in self.code]
        always, held, todo = set(sources), [0] * len(self.code), list(range(len(self.code)))[::-1]
        while todo:
            at = todo.pop()
            makes = at in always or reads[at] & held[at] and passes_on(at)
            after = held[at] & ~written[at] | (written[at] if makes else 0)
            for follower in self.after[at]:
                if after & ~held[follower]:
                    held[follower] |= after
                    todo.append(follower)
        return held


def follow(starts, onwards, step):
    """Follows all paths from `starts`, pairs of an instruction and a state, in one direction.
    step(state, at) returns the state after an instruction. Text with a blank is a violation, and
    None ends the path. Returns the first violation as a pair of text and instruction, or None; and
    the states in which paths end."""
    seen, todo, at_end = set(), list(starts), set()
    while todo:
        at, state = todo.pop()
        if (at, state) in seen:
            continue
        seen.add((at, state))
        neighbours = onwards[at]
        if not neighbours:
            at_end.add(state)
        for neighbour in neighbours:
            after = step(state, neighbour)
            if after is not None and " " in after:
                return (after, neighbour), at_end
            if after is not None:
                todo.append((neighbour, after))
    return None, at_end


def loops_without(function, is_barred):
    """Returns for each instruction the number of its loop, or None. A loop through a barred
    instruction does not count."""
    number_of, low, on_stack, stack, loop = {}, {}, set(), [], [None] * len(function.code)
    onwards = [[n for n in function.after[at] if not is_barred[n]] if not is_barred[at] else []
               for at in range(len(function.code))]
    for root in range(len(function.code)):
        if root in number_of or is_barred[root]:
            continue
        # Tarjan's strongly connected components, without recursion
        work = [(root, iter(onwards[root]))]
        number_of[root] = low[root] = len(number_of)
        stack.append(root)
        on_stack.add(root)
        while work:
            at, rest = work[-1]
            for neighbour in rest:
                if neighbour not in number_of:
                    number_of[neighbour] = low[neighbour] = len(number_of)
                    stack.append(neighbour)
                    on_stack.add(neighbour)
                    work.append((neighbour, iter(onwards[neighbour])))
                    break
                if neighbour in on_stack:
                    low[at] = min(low[at], number_of[neighbour])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == number_of[at]:
                    members = []
                    while not members or members[-1] != at:
                        members.append(stack.pop())
                        on_stack.discard(members[-1])
                    if len(members) > 1 or at in onwards[at]:
                        for member in members:
                            loop[member] = at
    return loop


# ---- What the lines of the assembly were made of

def sections_in(lines):
    """Returns the lines of each section of the debug information."""
    found, section = collections.defaultdict(list), None
    for line in lines:
        if line.startswith(("\t.section", "\t.text")):
            name = re.match(r"\t\.section\s+\.(debug_\w+)", line)
            section = found[name.group(1)] if name else None
        elif section is not None:
            section.append(line)
    return found


def names_of_strings(sections):
    strings = dict(re.findall(r"^(\.Linfo_string\d+):\n\s*\.asciz\s+\"(.*)\"",
                              "\n".join(sections["debug_str"]), re.M))
    order = re.findall(r"\.long\s+(\.Linfo_string\d+)", "\n".join(sections["debug_str_offsets"]))
    return [strings.get(label, "") for label in order]


def number_in(value):
    """Returns a number, which may also be written as quoted bytes of seven bits each (LEB128)."""
    if not value.startswith('"'):
        return int(value)
    octets = value[1:-1].encode().decode("unicode_escape").encode("latin-1")
    return sum((octet & 0x7f) << 7 * index for index, octet in enumerate(octets))


def base_name(name):
    """Returns the name without template arguments and scopes."""
    return re.sub(r"<.*", "", name).split("::")[-1]


class Entry:
    """An entry of the debug information, such as a function, or a call that was inlined."""

    def __init__(self, parent, tag):
        self.parent, self.tag, self.fields = parent, tag, {}


def entries_of(sections):
    """Returns the entries of the debug information, and a dictionary of them by offset: entries
    refer to others by offset."""
    with_children = set()
    code = None
    for line in sections["debug_abbrev"]:
        if "Abbreviation Code" in line:
            code = line.split()[1]
        elif "DW_CHILDREN_yes" in line:
            with_children.add(code)
    entries, by_offset, parents, latest = [], {}, [None], None
    for line in sections["debug_info"]:
        value, comment = DEBUG_LINE.match(line).groups()
        opened = re.match(r"\s*Abbrev \[(\d+)\] (0x[0-9a-f]+):\S+ (\w+)", comment)
        if opened:
            latest = Entry(parents[-1], opened.group(3))
            entries.append(latest)
            by_offset[int(opened.group(2), 16)] = latest
            if opened.group(1) in with_children:
                parents.append(latest)
        elif "End Of Children Mark" in comment:
            parents.pop()
        elif "DW_AT_" in comment and latest:
            latest.fields[comment.split()[0]] = (value.strip().split(None, 1) or [""])[-1].strip()
    return entries, by_offset


def origins_in(lines):
    """Returns the frames of each line of the assembly, the innermost first; an empty dictionary if
    there is no debug information."""
    sections = sections_in(lines)
    names, (entries, by_offset) = names_of_strings(sections), entries_of(sections)
    if not entries:
        return {}
    label_at = {line.split(":")[0]: number
                for number, line in enumerate(lines) if line.startswith(".L")}
    span = re.compile(r"(\.L\w+)-(\.L\w+)")
    spans_of_list, label = collections.defaultdict(list), None
    for line in sections["debug_rnglists"]:
        if line.startswith(".Ldebug_ranges"):
            label, base = int(re.search(r"\d+", line).group()), None
        elif (found := span.search(line)) and label is not None:
            if "starting" in line:
                base = found.group(1)
            elif "ending" in line:
                spans_of_list[label].append((base, found.group(1)))
            elif "length" in line:
                spans_of_list[label].append((found.group(2), found.group(1)))

    def name_of(entry):
        origin = by_offset.get(number_in(entry.fields.get("DW_AT_abstract_origin", "-1")), entry)
        index = origin.fields.get("DW_AT_name")
        return base_name(names[number_in(index)]) if index else ""

    files = {}
    for number, folder, file in re.findall(r'^\s*\.file\s+(\d+) "([^"]*)" (?:"([^"]*)")?',
                                           "\n".join(lines), re.M):
        files[int(number)] = file if number == "0" or file.startswith(
            "/") else f"{folder}/{file}".removeprefix("./")
    entry_at = {}
    for entry in entries:
        if entry.tag not in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
            continue
        entry.name = name_of(entry)
        # Each list belongs to one entry. A number that was read wrongly is that of no list, or of a
        # list that has been taken already, so pop() fails.
        spans = spans_of_list.pop(
            number_in(entry.fields["DW_AT_ranges"])) if "DW_AT_ranges" in entry.fields else []
        if found := span.match(entry.fields.get("DW_AT_high_pc", "")):
            spans = [(found.group(2), found.group(1))]
        for first, last in spans:
            for number in range(label_at[first], label_at[last]):
                entry_at[number] = entry

    def outer_frames(entry):
        frames = []
        while entry.tag == "DW_TAG_inlined_subroutine":
            fields = entry.fields
            parent = entry.parent
            frames.append(Frame(parent.name,
                                files.get(number_in(fields.get("DW_AT_call_file", "0"))),
                                number_in(fields.get("DW_AT_call_line", "0"))))
            entry = parent
        return tuple(frames)

    outer, origins, file, source_line = {}, {}, None, 0
    for number, line in enumerate(lines):
        if line.startswith("\t.loc\t"):
            place = line.split(None, 3)
            file, source_line = files.get(int(place[1])), int(place[2])
        if number in entry_at:
            entry = entry_at[number]
            if id(entry) not in outer:
                outer[id(entry)] = outer_frames(entry)
            origins[number] = (Frame(entry.name, file, source_line), *outer[id(entry)])
    return origins


def functions_in(assembly):
    """Returns the kernels, and a dictionary of the other functions by name."""
    lines = assembly.splitlines()
    origins = origins_in(lines)
    kernels = set(re.findall(r"^\s*\.amdhsa_kernel (\w+)", assembly, re.M))
    found, name, body = {}, None, []
    for number, line in enumerate(lines):
        if name is None and "; @" in line and (opened := re.match(r"(\w+):\s*; @\w+", line)):
            name, body = opened.group(1), []
        elif line.startswith(".Lfunc_end") and name:
            found[name] = Function(name, body, origins)
            name = None
        elif name:
            body.append((number, line))
    return [function for name, function in found.items() if name in kernels], \
        {name: function for name, function in found.items() if name not in kernels}


# A kernel of two instructions, of which one comes from an inlined function. The function's list of
# ranges says which one.
EXAMPLE = """
kernel:                                 ; @kernel
.Lfunc_begin0:
	.file	0 "/top" "a.cpp"
	.loc	0 7 1                           ; a.cpp:7:1
	global_load_dword v0, v[0:1], off
.Ltmp0:
	.loc	0 3 1                           ; a.cpp:3:1
	global_store_dword v[2:3], v0, off
.Ltmp1:
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel kernel
	.section	.debug_abbrev,"",@progbits
	.byte	1                               ; Abbreviation Code
	.byte	1                               ; DW_CHILDREN_yes
	.byte	2                               ; Abbreviation Code
	.byte	0                               ; DW_CHILDREN_no
	.section	.debug_info,"",@progbits
	.byte	2                               ; Abbrev [2] 0x10:0x2 DW_TAG_subprogram
	.byte	0                               ; DW_AT_name
	.byte	1                               ; Abbrev [1] 0x20:0x15 DW_TAG_subprogram
	.long	.Lfunc_end0-.Lfunc_begin0       ; DW_AT_high_pc
	.byte	1                               ; DW_AT_name
	.byte	2                               ; Abbrev [2] 0x30:0xd DW_TAG_inlined_subroutine
	.long	16                              ; DW_AT_abstract_origin
	.ascii	"QUOTED"                        ; DW_AT_ranges
	.byte	0                               ; DW_AT_call_file
	.byte	8                               ; DW_AT_call_line
	.byte	0                               ; End Of Children Mark
	.section	.debug_rnglists,"",@progbits
.Ldebug_ranges26:
	.byte	4                               ; DW_RLE_offset_pair
	.uleb128 .Lfunc_begin0-.Lfunc_begin0    ;   starting offset
	.uleb128 .Ltmp0-.Lfunc_begin0           ;   ending offset
.Ldebug_rangesNUMBER:
	.byte	4                               ; DW_RLE_offset_pair
	.uleb128 .Ltmp0-.Lfunc_begin0           ;   starting offset
	.uleb128 .Ltmp1-.Lfunc_begin0           ;   ending offset
	.section	.debug_str_offsets,"",@progbits
	.long	.Linfo_string0
	.long	.Linfo_string1
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"in_line"                       ; string offset=0
.Linfo_string1:
	.asciz	"kernel"                        ; string offset=8
"""


def self_test():
    # The second bytes of these numbers are \001, a semicolon, a quotation mark and a backslash.
    for number, quoted in ((200, r"\310\001"), (7635, r"\323;"), (4435, r"\323\""),
                           (11859, r"\323\\")):
        (kernel,), functions = functions_in(EXAMPLE.replace("QUOTED", quoted).replace("NUMBER",
                                                                                      str(number)))
        assert not functions and kernel.base_name() == "kernel", kernel.base_name()
        of_kernel = (Frame("kernel", "a.cpp", 7),)
        assert kernel.frames[kernel.code.index("global_load_dword v0, v[0:1], off")] == of_kernel, (
            quoted, kernel.frames)
        assert kernel.frames[kernel.code.index("global_store_dword v[2:3], v0, off")] == (
            Frame("in_line", "a.cpp", 3), Frame("kernel", "a.cpp", 8)), (quoted, kernel.frames)
    for wrong in (r"\311\001", ";"):
        try:
            functions_in(EXAMPLE.replace("QUOTED", wrong).replace("NUMBER", "200"))
        except KeyError:
            continue
        raise AssertionError(f"{wrong} was taken for the number of a list")
    print("all frames found")
    return 0


if __name__ == "__main__":
    sys.exit(self_test())
