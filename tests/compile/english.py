#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the English of pages, comments and commit subjects, as far as a machine can.

english.py TOP          complains of each violation; 1 if there is one
english.py --self-test  plants every kind of violation, and looks for the complaints

A sentence has at most 30 words. No sentence begins with a bare Who or What, unless it is a
question, and no text has a word of WORDS. A subject is `area: verb what` in the imperative.
"""
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import tokenize

# The check reads these pages, and the sources in these folders and below. Both lists grow.
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/tutorials/*.md",
         "docs/measurements/*.md", "python/README.md"]
SOURCES = ["cmake", "device", "docs", "examples", "include", "launcher", "python", "src", "tests"]

MOST_WORDS, MOST_COLUMNS, LAST_COMMITS = 30, 72, 20
# A word or phrase -> what to write.
WORDS = {
    r"ail(s|ing|ed)?": "a problem",
    r"mend(s|ing|ed)?": "to fix",
    r"the like": "similar, or each other's",
    r"so many": "up to N, or this many",
    r"in vain": "without success",
    r"(?<!there )(is|are|was|were) none": "is not, has no",
    r"of no use": "useless, or the reason",
}
VERBS = """accept add adapt allow answer ask avoid bring build call change check choose
    clean clear close combine compare compile copy correct count create define describe
    document drop enable ensure expect explain extend fix find give handle hide improve
    include introduce keep leave let limit load look make measure move name open order
    print prefer put raise read rebuild refactor refuse remove rename replace report
    reset return reword rewrite run save say send set show simplify skip split start
    state stop store support take tell test track try turn unify update use wait warn
    work wrap write""".split()
IRREGULAR = """brought built chose found gave hid kept led left made meant ran said sent
    showed shown split-up taken told took tried went wrote written""".split()
NO_VERBS = """a an the no of what who which that how if when where it its this these all some any
    some new bug""".split()


# ---- Commit subjects
def wrong_forms():
    forms = set(IRREGULAR)
    for verb in VERBS:
        stem = verb[:-1] if verb.endswith("e") else verb
        doubled = stem + stem[-1]
        if re.search(r"[^aeiou]y$", verb):
            forms |= {verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"}
        else:
            forms |= {verb + "s", verb + "es", stem + "ed", stem + "ing", doubled + "ed",
                      doubled + "ing"}
    return forms - set(VERBS)


def subject_complaints(subject, forms=frozenset(wrong_forms())):
    if len(subject) > MOST_COLUMNS:
        yield f"'{subject}' has {len(subject)} columns"
    match = re.match(r"[\w.+/-]+(, [\w.+/-]+)*: (\S+)", subject)
    if not match:
        yield f"'{subject}' is not `area: verb what`"
    elif match[2].lower().strip(",.") in forms:
        yield f"'{subject}': '{match[2]}' is not the imperative"
    elif match[2].lower() in NO_VERBS:
        yield f"'{subject}': '{match[2]}' is no verb"


def git(top, *arguments):
    try:
        ended = subprocess.run(["git", "-C", top, *arguments], capture_output=True, text=True,
                               timeout=60)
    except OSError:
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None


def subjects(top):
    """Those of the commits that the upstream lacks; without an upstream the last ones; None without
    git."""
    if git(top, "rev-parse", "--show-toplevel") != str(top):
        return None
    upstream = git(top, "rev-parse", "--abbrev-ref", "@{upstream}")
    chosen = [f"{upstream}..HEAD"] if upstream else [f"-{LAST_COMMITS}"]
    said = git(top, "log", "--no-merges", "--format=%s", *chosen)
    return None if said is None else said.splitlines()


# ---- Text: of_page() and of_source() give (line, text)
def of_page(lines):
    """Paragraphs, list items and cells of tables, without code."""
    in_code, start, text = False, 0, []

    def piece():
        return [(start, " ".join(text))] if text else []
    for number, line in enumerate([*lines, ""], 1):
        in_code ^= line.lstrip().startswith("```")
        said = "" if in_code or line.lstrip().startswith("```") else line.strip()
        begins_item = re.match(r"([*+-]|\d+\.) ", said)
        if not said or begins_item or said[0] in "|#<":
            yield from piece()
            text = []
        if not said or said[0] == "<":
            continue
        if said[0] == "|":
            yield from ((number, phrase) for phrase in re.split(r"(?<!\\)\||;", said))
        elif said[0] == "#":
            yield number, said.strip("# ") + "?"
        else:
            start = start if text else number
            text.append(said[begins_item.end():] if begins_item else said)


# Comments: these three give (words, whether the line has nothing else) or None, for each line.
def of_c(lines):
    in_block = False
    for line in lines:
        match = None if in_block else re.search(r"(?<![:\"'/])(//[/<!]*|/\*)", line)
        said, is_alone = (line, True) if in_block else (None, False)
        if match:
            said, is_alone = line[match.end():], not line[:match.start()].strip()
            in_block = match[1] == "/*"
        if in_block and "*/" in said:
            said, in_block = said.split("*/")[0], False
        yield None if said is None else (said, is_alone)


def of_script(lines):
    """For shells and CMake, where a # may also stand in a word."""
    for line in lines:
        match = re.search(r"^\s*#(?!!)|\s#(?=\s)", line)
        yield (line[match.end():], not line[:match.start()].strip()) if match else None


def of_python(lines):
    """Comments and docstrings, which are strings that begin a statement."""
    said, before = {}, tokenize.NEWLINE
    for token in tokenize.generate_tokens(iter(line + "\n" for line in lines).__next__):
        (first, column), is_first = token.start, not token.line[:token.start[1]].strip()
        if token.type == tokenize.COMMENT:
            said[first] = token.string[1:], is_first
        elif token.type == tokenize.STRING and before == tokenize.NEWLINE and is_first:
            text = " " * column + token.string.lstrip("fr").strip("\"'")
            said |= {first + i: (line[column:], True) for i, line in enumerate(text.split("\n"))}
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            before = token.type
    yield from (said.get(number) for number in range(1, len(lines) + 1))


# How the names of files end -> what reads their comments.
COMMENTS = {
    (".c", ".h", ".cpp", ".hpp", ".hip", ".cu", ".def", ".cpp.in"): of_c,
    (".sh", ".cmake", "CMakeLists.txt", "mesh", ".cmake.in", "wrapper.in", "device_arguments.in"):
    of_script,
    (".py", "meshmem-trace.in"): of_python,
}


def of_source(comments, lines):
    """Comments and their items, each of the lines that belong together."""
    start, text = 0, []
    for number, comment in enumerate([*comments(lines), None], 1):
        said, is_alone = comment or ("", False)
        words = "" if re.match("!/| ?SPDX-License", said) else said.strip(" */#")
        begins_item = re.match(r"[ */]*(- |\d\. |Invariant\b)| ?[*]?   |.*\S  +\S", said)
        if not is_alone or not words or begins_item:
            if text:
                yield start, " ".join(text)
            text = []
        if words:
            start = start if text else number
            text.append(words)
            if not is_alone:
                yield start, words
                text = []


def sentences(text):
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    yield from re.split(r"(?<=[.!?])[\"')]*\s+", text.replace("**", ""))


def text_complaints(text):
    for sentence in sentences(text.strip()):
        words = re.findall(r"[^\W_][\w.,/'%-]*", sentence)
        begin = " ".join(words[:6]).rstrip(".")
        if len(words) > MOST_WORDS:
            yield f"a sentence of {len(words)} words: '{begin} ...'"
        if re.match(r"[\"'(]?(Who|What)\b", sentence) and "?" not in sentence:
            yield f"a sentence begins with a bare {words[0]}: '{begin} ...'"
        for pattern, instead in WORDS.items():
            if found := re.search(rf"(?<![\"\w]){pattern}\b", sentence, re.IGNORECASE):
                yield f"'{found[0]}' (better: {instead}): '{begin} ...'"


# ---- All of it
def files(top):
    """(path, what reads its texts) of each."""
    for pattern in PAGES:
        yield from ((page, of_page) for page in sorted(top.glob(pattern)))
    sources = [path for folder in SOURCES for path in sorted((top / folder).rglob("*"))]
    for path in [top / "CMakeLists.txt", top / "mesh", *sources]:
        yield from ((path, functools.partial(of_source, comments))
                    for endings, comments in COMMENTS.items()
                    if path.name.endswith(endings) and path.is_file())


def complaints(top):
    for path, texts_of in files(top):
        for line, text in texts_of(path.read_text(encoding="utf-8").splitlines()):
            for what in text_complaints(text):
                yield f"{path.relative_to(top)}:{line}: {what}"
    for subject in subjects(top) or []:
        yield from (f"commit {what}" for what in subject_complaints(subject))


# ---- The test of the test
RIGHT_PAGE = """# What is here

A sentence of `a b c d e f g h i j k l m n o p q r s t u v w x y z` and ten more words. What is it?

```
What is in a block of code, ails nobody.
```

| what | Where there is none |
|---|---|
| one phrase of a cell that has sixteen words to count, and each of them is \
a word; another phrase of that cell, which also has sixteen words, so that \
both have too many |
"""
RIGHT_SCRIPT = f"""#!/usr/bin/env bash{" word" * 30}
# SPDX-License-Identifier: x
[ $# -eq 0 ] || echo '#What' or " #What"
"""
LONG = "one two three four five six seven eight nine ten " * 3
# file -> (text, the complaints about it)
PLANTED = {
    "docs/long.md": (f"Short.\n\n* An item is {LONG.strip()}.\n",
                     ["3: a sentence of 33 words: 'An item is one two three ...'"]),
    "docs/who.md": ("He asks. Who waits\nnaps. **What comes** goes.\n", [
        "1: a sentence begins with a bare Who: 'Who waits naps ...'",
        "1: a sentence begins with a bare What: 'What comes goes ...'"]),
    "README.md": ("It ails.\n\n| a mend | and the like |\n", [
        "1: 'ails' (better: a problem): 'It ails ...'", "3: 'mend' (better: to fix): 'a mend ...'",
        "3: 'the like' (better: similar, or each other's): 'and the like ...'"]),
    "src/base/head.hpp": (f"// SPDX-License-Identifier: x\n//\n// A head of {LONG}\n// words.\nint "
                          f"i;\n// Two more {LONG}\n", [
        "3: a sentence of 34 words: 'A head of one two three ...'",
        "6: a sentence of 32 words: 'Two more one two three four ...'"]),
    "src/base/comments.cpp": ("/* Held in\n * vain. */\nint i;  // Who waits.\n// Races\n// that "
                              "are none.\nint j;\n"
                              "const char* text = \"// What is text\";\n", [
        "1: 'in vain' (better: without success): 'Held in vain ...'",
        "3: a sentence begins with a bare Who: 'Who waits ...'",
        "4: 'are none' (better: is not, has no): 'Races that are none ...'"]),
    "python/doc.py": (f'#!/usr/bin/env python3\n"""What ails.\n\nA text of {LONG}.\n\n'
                      f'doc.py A  {LONG[:99]}\ndoc.py B  {LONG[:99]}\n"""\n'
                      'def f():\n    """Who asks."""\n'
                      '    return """\nWhat is text."""  # What it returns.\n', [
        "2: a sentence begins with a bare What: 'What ails ...'",
        "2: 'ails' (better: a problem): 'What ails ...'",
        "4: a sentence of 33 words: 'A text of one two three ...'",
        "10: a sentence begins with a bare Who: 'Who asks ...'",
        "12: a sentence begins with a bare What: 'What it returns ...'"]),
    "tests/words.sh": ("true  # in vain\n# What\n# waits.\n", [
        "1: 'in vain' (better: without success): 'in vain ...'",
        "2: a sentence begins with a bare What: 'What waits ...'"]),
    "cmake/words.cmake.in": ("# It ails.\n", ["1: 'ails' (better: a problem): 'It ails ...'"]),
    "CMakeLists.txt": ("if(A)  # Who asks.\n", [
        "1: a sentence begins with a bare Who: 'Who asks ...'"]),
}
# subject -> the complaint, or None
SUBJECTS = {
    "oshrun: name the PE that ended the job": None, "base, tcp: use a shorter key": None,
    "CMake: process files": None, "docs: added a page": "'added' is not the imperative",
    "docs: Fixes a page": "'Fixes' is not the imperative", "docs: stopping early": "'stopping' is "
    "not the imperative", "docs: copies pages": "'copies' is not the imperative",
    "docs: the page is new": "'the' is no verb", "fix a page": "is not `area: verb what`",
    "docs: say" + " very" * 14: "has 79 columns",
}


def plant(top, planted):
    for name, text in planted.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")


def self_test_of_git(top):
    """Commits with the subjects above are seen, and without a repository there are none."""
    if git(top, "--version") is None:
        return []
    wrong = [] if subjects(top) is None else ["subjects where there is no repository"]
    git(top, "init", "-q")
    for subject in SUBJECTS:
        git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty",
            "-m", subject)
    found = subjects(top)
    return wrong + ([] if found == list(reversed(SUBJECTS)) else [f"subjects: {found}"])


def self_test():
    wrong = []
    for subject, expected in SUBJECTS.items():
        found = list(subject_complaints(subject))
        if found != [] if expected is None else len(found) != 1 or expected not in found[0]:
            wrong.append(f"{subject}: {found}, not {expected}")
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder).resolve()
        plant(top, {"docs/right.md": RIGHT_PAGE, "mesh": RIGHT_SCRIPT})
        wrong += [f"where all is right: {found}" for found in complaints(top)]
        plant(top, {name: text for name, (text, _) in PLANTED.items()})
        found = sorted(complaints(top))
        expected = sorted(f"{name}:{what}" for name, (_, said) in PLANTED.items() for what in said)
        wrong += [f"not seen: {what}" for what in expected if what not in found]
        wrong += [f"not planted: {what}" for what in found if what not in expected]
        wrong += self_test_of_git(top)
    for what in wrong:
        print(f"english.py: {what}", file=sys.stderr)
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    top = pathlib.Path(sys.argv[1]).resolve()
    if subjects(top) is None:
        print("english.py: no git repository here, so subjects of commits are not looked at")
    found = list(complaints(top))
    for what in found:
        print(f"english.py: {what}", file=sys.stderr)
    print(f"{len(list(files(top)))} files, {len(found)} violations")
    return 1 if found or not list(files(top)) else 0


if __name__ == "__main__":
    sys.exit(main())
