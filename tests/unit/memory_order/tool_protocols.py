# SPDX-License-Identifier: Apache-2.0
"""The protocols of the status board, of calls that PEs compare, and of the race checker."""
from explorer import (ACQUIRE, RELAXED, compare_swap, fence, load, lock, require, store, unlock,
                      update, wait, write)
from protocols import is_equal, protocol, read_expected

BOARD = "src/base/status/status_board.cpp"
WRITE = "void WaitRow::write("
READ = "bool read_row("
VERSION_0 = (BOARD, WRITE, "version.store(before + 1, std::memory_order_relaxed)")
VERSION_1 = (BOARD, WRITE, "version.store(before + 2, std::memory_order_release)")


def write_row(o, number):
    yield store("version", o["odd"], 2 * number - 1)
    yield store("since", o["since"], number)
    yield store("what", o["text"], number)
    yield store("version", o["even"], 2 * number)


@protocol("a row of the status board is read whole",
          {"odd": VERSION_0, "since": (BOARD, WRITE, "store(since, std::memory_order_release)"),
           "text": (BOARD, "void SharedText<bytes>::store(",
                    "words_[i].store(word, std::memory_order_release)"), "even": VERSION_1,
           "look": (BOARD, READ, "row.version.load(std::memory_order_acquire)"),
           "read since": (BOARD, READ, "since_ns.load(std::memory_order_acquire)"),
           "read text": (BOARD, "std::string SharedText<bytes>::load() const",
                         "words_[i].load(std::memory_order_acquire)"),
           "look again": (BOARD, READ, "row.version.load(std::memory_order_relaxed)")})
def row(o):
    def writer():
        yield from write_row(o, 1)
        yield from write_row(o, 2)

    def reader():
        version = yield load("version", o["look"])
        if version % 2 != 0:
            return
        since = yield load("since", o["read since"])
        what = yield load("what", o["read text"])
        if version == (yield load("version", o["look again"])):
            require(since == what == version // 2, "the row is of two waits")
    return [writer, reader]


@protocol("the next owner of a row goes on with its version",
          {"before": (BOARD, WRITE, "version.load(std::memory_order_relaxed)"),
           "even": VERSION_1,
           "take": (BOARD, "WaitRow* PeStatus::take_row(",
                    "compare_exchange_strong(free, 1, std::memory_order_acquire)"),
           "give back": (BOARD, "void PeStatus::give_row_back(",
                         "taken.store(0, std::memory_order_release)")},
          {"even to relaxed": "see the protocol above"})
def owners(o):
    def first():
        yield store("version", o["even"], 2)
        yield store("is free", o["give back"], 1)

    def second():
        if (yield compare_swap("is free", o["take"], 1, 0)) == 1:
            require((yield load("version", o["before"])) == 2, "the version is old")
    return [first, second]


MAKE = "StatusBoard StatusBoard::make("
OPEN = "StatusBoard::StatusBoard(void* memory"


@protocol("a PE that finds a board finds its head",
          {"pes": (BOARD, MAKE, "(n_pes), std::memory_order_relaxed"),
           "start": (BOARD, MAKE, "started_ns.store(monotonic_ns(), std::memory_order_relaxed)"),
           "publish": (BOARD, MAKE, "kMagic, std::memory_order_release"),
           "find": (BOARD, OPEN, "magic.load(std::memory_order_acquire)"),
           "read": (BOARD, OPEN, "n_pes.load(std::memory_order_relaxed)")})
def head_of_board(o):
    def makes():
        yield store("n_pes", o["pes"], 1)
        yield store("magic", o["publish"], 1)

    def opens():
        if (yield load("magic", o["find"])):
            require((yield load("n_pes", o["read"])) == 1, "the board has no PEs")
    return [makes, opens]


OWN = "src/base/status/own_status.cpp"


NOTE = (BOARD, "void SharedPeSet::store(", "words_[i].store(words[i], std::memory_order_release)")
FIND = (BOARD, "std::vector<int> SharedPeSet::load() const", "load(std::memory_order_acquire)")
LOOK = ("src/base/status/deadlock.cpp", "OnlyWait row_of_only_wait(",
        "row.version.load(std::memory_order_acquire)")


@protocol("a PE that finds for whom another waits finds that its wait before has ended",
          {"note": NOTE, "find": FIND, "even": VERSION_1, "look": LOOK},
          {"even to relaxed": "see the protocol of rows", "look to relaxed": "the same"})
def awaited_pes(o):
    def waits():
        yield store("version", o["even"], 2)
        yield store("awaited", o["note"], 1)

    def finds():
        if (yield load("awaited", o["find"])):
            require((yield load("version", o["look"])) == 2, "the wait before goes on")
    return [waits, finds]


@protocol("a PE that finds a row written again finds the PEs of that look, or of a later one",
          {"note": NOTE, "find": FIND, "even": VERSION_1, "look": LOOK},
          {"note to relaxed": "see the protocol above", "find to relaxed": "the same"})
def awaited_pes_of_row(o):
    def waits():
        for look in (1, 2):
            yield store("awaited", o["note"], look)
            yield store("version", o["even"], 2 * look)

    def finds():
        version = yield load("version", o["look"])
        require((yield load("awaited", o["find"])) >= version // 2, "the PEs are of a look before")
    return [waits, finds]


@protocol("a thread that finds this PE's row of the board finds the board",
          {"publish": (OWN, "void use(const StatusBoard& found, int pe) {",
                       "own_pe.store(&own, std::memory_order_release)"),
           "find": (OWN, "PeStatus* own_place() {", "own_pe.load(std::memory_order_acquire)")})
def own_board(o):
    def opens():
        yield write("board", 1)
        yield store("own_pe", o["publish"], 1)

    def uses():
        if (yield load("own_pe", o["find"])):
            yield from read_expected("board", 1)
    return [opens, uses]


SAME = "src/collectives/same_call.cpp"
SAY = "void say(const SaidCall& call, std::uint64_t number) {"
TRY = "bool try_read(SaidCall& call, std::uint64_t number) {"
SAID = {"none": (SAME, SAY, "epoch.store(0, std::memory_order_relaxed)"),
        "word": (SAME, SAY, "word.store(call.words[i], std::memory_order_release)"),
        "said": (SAME, SAY, "epoch.store(number, std::memory_order_seq_cst)"),
        "look": (SAME, TRY, "epoch.load(std::memory_order_seq_cst)"),
        "read": (SAME, TRY, "word.load(std::memory_order_acquire)"),
        "look again": (SAME, TRY, "epoch.load(std::memory_order_relaxed)")}


def say(o, me, number):
    yield store(f"epoch {me}", o["none"], 0)
    yield store(f"word {me}", o["word"], number)
    yield store(f"epoch {me}", o["said"], number)


def try_read(o, pe, number):
    if (yield load(f"epoch {pe}", o["look"])) != number:
        return 0
    word = yield load(f"word {pe}", o["read"])
    if (yield load(f"epoch {pe}", o["look again"])) != number:
        return 0
    require(word == number, "the call is another one")
    return 1


@protocol("of two PEs that say their calls at once, one finds the other's", SAID,
          {"word to relaxed": "the words do not change: see the next protocol",
           "read to relaxed": "the same"})
def said_at_once(o):
    def make(me):
        def pe():
            yield from say(o, me, 1)
            found = yield from try_read(o, 1 - me, 1)
            yield store(f"found {me}", RELAXED, found + 1)
            if me == 0 and not found:
                yield wait("found 1", RELAXED, is_equal(2))
        return pe
    return [make(0), make(1)]


@protocol("a PE reads another's call whole, or not at all", SAID,
          {f"{place} to {order}": "acquire and release suffice here: see the protocol above"
           for place, orders in (("said", ("acq_rel", "release")), ("look", ("acq_rel", "acquire")))
           for order in orders})
def said_whole(o):
    def says():
        yield from say(o, 0, 1)
        yield from say(o, 0, 2)

    def reads():
        yield from try_read(o, 0, 1)
        yield from try_read(o, 0, 2)
    return [says, reads]


RACES = "src/tools/races/board.hpp"
STORE = "void store(const Words& words) {"
CONTAINS = "[[gnu::always_inline]] bool contains("
CROWD = "void crowd() {"


@protocol("a PE that finds its own access in a cell has not read another's",
          {"keep crowded": (RACES, STORE, "rest_.load(std::memory_order_relaxed)"),
           "none": (RACES, STORE, "numbers_.store(0, std::memory_order_relaxed)"),
           "rest": (RACES, STORE, "is_crowded, std::memory_order_release"),
           "numbers": (RACES, STORE, "numbers_.store(words.numbers, std::memory_order_release)"),
           "read crowded": (RACES, CROWD, "rest_.load(std::memory_order_relaxed)"),
           "crowd": (RACES, CROWD, "Rest::kIsCrowded, std::memory_order_release"),
           "look": (RACES, CONTAINS, "numbers_.load(std::memory_order_acquire)"),
           "read": (RACES, CONTAINS, "rest_.load(std::memory_order_acquire)"),
           "look again": (RACES, CONTAINS, "numbers_.load(std::memory_order_relaxed)")})
def cell(o):
    crowded = 16

    def keeps():
        for number in (1, 2):
            rest = yield load("rest", o["keep crowded"])
            yield store("numbers", o["none"], 0)
            yield store("rest", o["rest"], number | rest & crowded)
            yield store("numbers", o["numbers"], number)
        rest = yield load("rest", o["read crowded"])
        yield store("rest", o["crowd"], rest | crowded)

    def contains():
        if (yield load("numbers", o["look"])) != 1:
            return
        rest = yield load("rest", o["read"])
        if (yield load("numbers", o["look again"])) == 1:
            require(rest & ~crowded == 1, "the rest is another access's")
    return [keeps, contains]


@protocol("the cells of one lock belong to one PE at a time",
          {"take": (RACES, "bool try_take() {", "exchange(1, std::memory_order_acquire)"),
           "leave": (RACES, "~HeldCells() {", "lock_.store(0, std::memory_order_release)")})
def held_cells(o):
    def pe():
        yield update("lock", o["take"], lambda _: 1, is_equal(0))
        yield write("cell", 1)
        yield store("lock", o["leave"], 0)
    return [pe, pe]


NOTED = "src/tools/races/noted.cpp"
KEEP = "void keep("
RACE = "std::optional<Access> race_with("


@protocol("an access that a thread has noted is read whole",
          {"none": (NOTED, KEEP, "last.epoch.store(0, std::memory_order_relaxed)"),
           "order": (NOTED, KEEP, "atomic_thread_fence(std::memory_order_release)"),
           "cell": (NOTED, KEEP, "last.cell.store(piece.cell, std::memory_order_relaxed)"),
           "stored": (NOTED, KEEP, "piece.bytes : 0, std::memory_order_relaxed); last.epoch"),
           "epoch": (NOTED, KEEP, "last.epoch.store(epoch, std::memory_order_release)"),
           "look": (NOTED, RACE, "noted.epoch.load(std::memory_order_acquire)"),
           "read stored": (NOTED, RACE, "noted.stored.load(std::memory_order_relaxed)"),
           "read cell": (NOTED, RACE, "noted.cell.load(std::memory_order_relaxed)"),
           "before again": (NOTED, RACE, "atomic_thread_fence(std::memory_order_acquire)"),
           "look again": (NOTED, RACE, "noted.epoch.load(std::memory_order_relaxed)")})
def noted(o):
    def notes():
        for number in (1, 2):
            yield store("epoch", o["none"], 0)
            yield fence(o["order"])
            yield store("cell", o["cell"], number)
            yield store("stored", o["stored"], number)
            yield store("epoch", o["epoch"], number)

    def finds():
        epoch = yield load("epoch", o["look"])
        stored = yield load("stored", o["read stored"])
        cell = yield load("cell", o["read cell"])
        yield fence(o["before again"])
        if epoch != 0 and (yield load("epoch", o["look again"])) == epoch:
            require(stored == cell == epoch, "the access is of two")
    return [notes, finds]


@protocol("of a buffer and an access of the program, one finds the other",
          {"buffer first": ("src/tools/races/accesses.cpp", "void access_own(",
                            "atomic_thread_fence(std::memory_order_seq_cst)"),
           "note first": ("src/tools/races/program.cpp", "void note_own(",
                          "atomic_thread_fence(std::memory_order_seq_cst)"),
           "epoch": (NOTED, KEEP, "last.epoch.store(epoch, std::memory_order_release)"),
           "look": (NOTED, RACE, "noted.epoch.load(std::memory_order_acquire)")},
          {"epoch to relaxed": "see the protocol above", "look to relaxed": "the same"})
def buffers(o):
    def adds():
        yield store("bounds", RELAXED, 1)
        yield fence(o["buffer first"])
        epoch = yield load("epoch", o["look"])
        yield store("found", RELAXED, epoch + 1)

    def notes():
        yield store("epoch", o["epoch"], 1)
        yield fence(o["note first"])
        if not (yield load("bounds", RELAXED)):
            yield wait("found", RELAXED, is_equal(2))
    return [adds, notes]


@protocol("of several PEs that would report something, one does, and the others wait for its end",
          {"begin": (BOARD, "bool OneReport::begin() {",
                     "compare_exchange_strong(state, kBegun, std::memory_order_relaxed)"),
           "end": (BOARD, "void OneReport::end() {", "store(kMade, std::memory_order_release)"),
           "wait": (BOARD, "void OneReport::await_end(", "load(std::memory_order_acquire)")})
def report(o):
    def pe():
        if (yield compare_swap("state", o["begin"], 0, 1)) == 0:
            yield write("report", 1)
            yield store("state", o["end"], 2)
        else:
            yield wait("state", o["wait"], is_equal(2))
            yield from read_expected("report", 1)
    return [pe, pe]


LEDGER = "src/base/hooks/ledger.hpp"
ADD = "[[gnu::always_inline]] bool add("
NUMBER = "std::uint32_t number(std::size_t i) const {"
OPEN = ("src/tools/races/phases.cpp", "void open_ledger() {")
CLOSE = ("src/tools/races/phases.cpp", "void close_ledger() {")
MEET = ("src/tools/races/parts.cpp", "std::optional<Access> meet_ledger(")
NEWCOMER = ("src/tools/races/parts.cpp", "void tell_of_newcomer(")
OPENED = (*OPEN, "atomic_thread_fence(std::memory_order_seq_cst)")
MARKED = (*MEET, "end - whole.offset)}; std::atomic_thread_fence(std::memory_order_seq_cst)")
STATE = (*MEET, "part.ledger.load(std::memory_order_acquire)")
TELL = (*NEWCOMER, "n_newcomers.store(n + 1, std::memory_order_relaxed)")
TOLD = (*MEET, "phase, last}); std::atomic_thread_fence(std::memory_order_seq_cst)")
NOTE = (LEDGER, ADD, "static_cast<typename Word::Numbers>(now), __ATOMIC_RELEASE")
FIND = (LEDGER, NUMBER, "__atomic_load_n(&numbers[i], __ATOMIC_ACQUIRE)")
BEFORE_STORE = (LEDGER, ADD, "atomic_thread_fence(std::memory_order_release)")


@protocol("of an access in the ledger and another PE's, one finds the other",
          {"open": (*OPEN, "LedgerState::open, std::memory_order_relaxed"),
           "opened": OPENED,
           "look": (LEDGER, "[[gnu::always_inline]] bool passes_in(",
                    "&area.unsettled[offset / 8], __ATOMIC_RELAXED"),
           "note": NOTE,
           "noted": (*CLOSE, "atomic_thread_fence(std::memory_order_seq_cst)"),
           "newcomers": (*CLOSE, "n_newcomers.load(std::memory_order_relaxed)"),
           "close": (*CLOSE, "LedgerState::closed, std::memory_order_relaxed"),
           "mark": ("src/tools/races/shadow.cpp", "void mark(",
                    "static_cast<std::uint8_t>(old | bits), __ATOMIC_RELAXED"),
           "marked": MARKED,
           "state": STATE,
           "newcomer": TELL,
           "told": TOLD,
           "find": FIND},
          {"note to relaxed": "see ledger_site", "find to relaxed": "the same"})
def ledger(o):
    is_open, is_closed = 1, 2

    def notes():
        yield store("ledger", o["open"], is_open)
        yield fence(o["opened"])
        if (yield load("unsettled", o["look"])):
            return
        yield store("number", o["note"], 1)
        yield fence(o["noted"])
        if (yield load("newcomers", o["newcomers"])):
            return
        yield store("ledger", o["close"], is_closed)
        yield wait("found", RELAXED, is_equal(2))

    def adds():
        yield store("unsettled", o["mark"], 1)
        yield fence(o["marked"])
        state = yield load("ledger", o["state"])
        if state == is_open:
            yield store("newcomers", o["newcomer"], 1)
            yield fence(o["told"])
        found = yield load("number", o["find"])
        yield store("found", RELAXED, found + 1)
    return [notes, adds]


@protocol("an access in the ledger is not missed for a newcomer that seems to be of another phase",
          {"phase": (*OPEN, "mine.phase.store(phase, std::memory_order_relaxed)"),
           "open": (*OPEN, "LedgerState::open, std::memory_order_relaxed"),
           "opened": OPENED,
           "marked": MARKED,
           "state": STATE,
           "read phase": (*MEET, "part.phase.load(std::memory_order_relaxed)"),
           "told": TOLD},
          {"state to relaxed": "see the protocol before"})
def newcomer_of_phase(o):
    def notes():
        for phase in (1, 2):
            yield store("phase", o["phase"], phase)
            yield store("ledger", o["open"], phase)
            yield fence(o["opened"])
        if (yield load("unsettled", RELAXED)):
            return
        yield store("number", RELAXED, 2)
        yield fence("seq_cst")
        if (yield load("newcomer of", RELAXED)) == 2:
            return
        yield wait("found", RELAXED, is_equal(3))

    def adds():
        yield store("unsettled", RELAXED, 1)
        yield fence(o["marked"])
        if (yield load("ledger", o["state"])):
            yield store("newcomer of", RELAXED, (yield load("phase", o["read phase"])))
            yield fence(o["told"])
        yield store("found", RELAXED, (yield load("number", RELAXED)) + 1)
    return [notes, adds]


@protocol("an entry of the ledger has the place of its access, or of a later one",
          {"site": (LEDGER, ADD, "(site << 16 | site), __ATOMIC_RELAXED"),
           "note": NOTE,
           "find": FIND,
           "read site": (LEDGER, "std::uint16_t site(std::size_t i) const {", "__ATOMIC_RELAXED")})
def ledger_site(o):
    def notes():
        for number in (1, 2):
            yield store("site", o["site"], number)
            yield store("number", o["note"], number)

    def finds():
        number = yield load("number", o["find"])
        require((yield load("site", o["read site"])) >= number, "the place of an access before")
    return [notes, finds]


@protocol("a write takes an access of the ledger out that is before what its PE has seen",
          {"before store": BEFORE_STORE,
           "take": ("src/tools/races/shadow.cpp", "void take_from_ledger(",
                    "0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED")})
def handed_over(o):
    def hands_over():
        yield store("number", RELAXED, 1)
        yield fence(o["before store"])
        yield store("flag", RELAXED, 1)
        yield lock("mutex")
        if (yield load("newcomers", RELAXED)):
            require((yield load("number", RELAXED)) == 0, "the access is of the phase")
        yield unlock("mutex")

    def takes():
        yield wait("flag", ACQUIRE, is_equal(1))
        require((yield compare_swap("number", o["take"], 1, 0)) == 1, "the access is not there")
        yield lock("mutex")
        yield store("newcomers", RELAXED, 1)
        yield unlock("mutex")
    return [hands_over, takes]
