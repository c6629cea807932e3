# SPDX-License-Identifier: Apache-2.0
"""The protocols between threads of a PE, and with kernels: quiet, the proxy and the network."""
from explorer import (ACQUIRE, RELAXED, RELEASE, compare_swap, fence, load, lock, read, require,
                      store, unlock, update, wait, write)
from protocols import add, at_least, is_equal, protocol, read_expected

PENDING = "src/base/waiting/pending_work.hpp"
UNDER_WAY = (PENDING, "bool is_under_way() const {")
ISSUED = UNDER_WAY + ("issued.load(std::memory_order_relaxed)",)
COMPLETED = UNDER_WAY + ("completed.load(std::memory_order_acquire)",)
COUNT = (PENDING, "void count_issued() {", "issued.fetch_add(1, std::memory_order_release)")
NOTE = (PENDING, "void note_completed(")
BEFORE = NOTE + ("completed.load(std::memory_order_relaxed)",)
CHANGE = NOTE + ("compare_exchange_weak(before, count, std::memory_order_release)",)
COMPLETE = "src/one_sided/completion.cpp"
COMPLETE_ALL = "void complete_pending(const char* routine) {"
ALL_ISSUED = (COMPLETE, COMPLETE_ALL, "pending_work.issued.load(std::memory_order_acquire)")
COMPLETE_KERNELS = (COMPLETE, "bool complete_those_of_kernels(const char* routine) {",
                    "complete_kernels.load(std::memory_order_acquire)")


def note_completed(o, count):
    before = yield load("completed", o["before"])
    while before < count:
        seen = yield compare_swap("completed", o["change"], before, count)
        if seen == before:
            return
        before = seen


@protocol("quiet returns when this thread's work is done, also if another thread has completed it",
          {"issued": ISSUED, "completed": COMPLETED, "count": COUNT, "before": BEFORE,
           "change": CHANGE, "all issued": ALL_ISSUED})
def pending(o):
    def issues():
        yield write("request", 1)
        yield add("issued", o["count"])
        issued = yield load("issued", o["issued"])
        if issued == (yield load("completed", o["completed"])):
            yield from read_expected("answer", 1)

    def completes():
        issued = yield load("issued", o["all issued"])
        if issued == 1:
            yield from read_expected("request", 1)
            yield write("answer", 1)
        yield from note_completed(o, issued)

    return [issues, completes]


PROXY = "src/proxy/proxy.cpp"
WAKE = "void Proxy::wake() {"


@protocol("a quiet behind wake() asks the proxy, also if another thread has woken it",
          {"is awake": (PROXY, WAKE, "is_awake_.load(std::memory_order_acquire)"),
           "again": (PROXY, WAKE, "is_awake_.load(std::memory_order_relaxed)"),
           "set": (PROXY, WAKE, "return; woken_proxy = this; complete_kernels.store([](const char* "
                   "routine) { woken_proxy->complete(routine); }, std::memory_order_release)"),
           "awake": (PROXY, WAKE, "is_awake_.store(true, std::memory_order_release)"),
           "count": COUNT, "issued": ISSUED, "completed": COMPLETED, "all issued": ALL_ISSUED,
           "complete": COMPLETE_KERNELS},
          {"completed to relaxed": "see the protocol above",
           "count to relaxed": "is_awake_ publishes it; quiet of others need not ask",
           "all issued to relaxed": "is_awake_ has been acquired",
           "set to relaxed": "is_awake_ publishes it", "complete to relaxed": "the same"})
def wake(o):
    def thread():
        if not (yield load("awake", o["is awake"])):
            yield lock("mutex")
            if not (yield load("awake", o["again"])):
                yield write("woken_proxy", 1)
                yield store("complete", o["set"], 1)
                yield add("issued", o["count"])
                yield store("awake", o["awake"], 1)
            yield unlock("mutex")
        issued = yield load("issued", o["issued"])
        require(issued != (yield load("completed", o["completed"])), "quiet does not look")
        yield load("issued", o["all issued"])
        require((yield load("complete", o["complete"])), "quiet does not ask")
        yield from read_expected("woken_proxy", 1)
    return [thread, thread]


@protocol("a quiet of a thread that has not woken the proxy asks it, or asks again the next time",
          {"set": (PROXY, WAKE, "return; woken_proxy = this; complete_kernels.store([](const char* "
                   "routine) { woken_proxy->complete(routine); }, std::memory_order_release)"),
           "count": COUNT, "all issued": ALL_ISSUED, "complete": COMPLETE_KERNELS})
def quiet_of_other(o):
    def wakes():
        yield write("woken_proxy", 1)
        yield store("complete", o["set"], 1)
        yield add("issued", o["count"])

    def completes():
        issued = yield load("issued", o["all issued"])
        if (yield load("complete", o["complete"])):
            yield from read_expected("woken_proxy", 1)
        else:
            require(issued == 0, "quiet notes work as completed that nobody has asked for")

    return [wakes, completes]


RING = "src/proxy/ring_reader.hpp"
CPU = "device/memory_cpu.hpp"
RELEASE_FENCE = (CPU, "inline void release_fence() {", "thread_fence(__ATOMIC_RELEASE)")
ACQUIRE_FENCE = (CPU, "inline void acquire_fence() {", "thread_fence(__ATOMIC_ACQUIRE)")
PUBLISH = (RING, "static void publish(", "number, __ATOMIC_RELEASE")


@protocol("the proxy takes whole commands, reads their source, and no kernel writes it meanwhile",
          {"word": (RING, "bool try_take(", "&slot.word[i], __ATOMIC_ACQUIRE"),
           "publish": PUBLISH, "release": RELEASE_FENCE, "acquire": ACQUIRE_FENCE})
def ring(o):
    def kernel():  # the ring has one slot
        for lap in (1, 2):
            if lap == 2:
                yield wait("consumed", RELAXED, at_least(1))
                yield fence(o["acquire"])
            yield write("source", lap)
            yield fence(o["release"])
            yield store("word 0", RELAXED, lap)
            yield store("word 1", RELAXED, lap)

    def host():
        for lap in (1, 2):
            yield wait("word 1", o["word"], is_equal(lap))
            yield wait("word 0", o["word"], is_equal(lap))
            yield from read_expected("source", lap)
            yield store("consumed", o["publish"], lap)
    return [kernel, host]


@protocol("a kernel reads the result of its request",
          {"value": (RING, "void answer(", "&result.value, value, __ATOMIC_RELAXED"),
           "publish": PUBLISH, "acquire": ACQUIRE_FENCE})
def result(o):
    def host():
        yield store("value", o["value"], 1)
        yield store("number", o["publish"], 1)

    def kernel():
        yield wait("number", RELAXED, at_least(1))
        yield fence(o["acquire"])
        require((yield load("value", RELAXED)) == 1, "the value is old")
    return [host, kernel]


@protocol("quiet of the host reads what the commands of kernels have done",
          {"completed": (PROXY, "void Proxy::complete(",
                         "&memory.progress->completed, __ATOMIC_ACQUIRE"), "publish": PUBLISH})
def completed(o):
    def proxy():
        yield write("data", 1)
        yield store("completed", o["publish"], 1)

    def asks():
        yield wait("completed", o["completed"], at_least(1))
        yield from read_expected("data", 1)
    return [proxy, asks]


REQUESTS = "src/transport/network/requests.cpp"
STATE = "src/transport/network/state.cpp"


@protocol("a thread that waits for two answers reads both",
          {"ask": (REQUESTS, "std::uint64_t Requests::add(",
                   "missing->fetch_add(1, std::memory_order_relaxed)"),
           "answer": (REQUESTS, "bool Requests::answer(",
                      "missing->fetch_sub(1, std::memory_order_release)"),
           "wait": (STATE, "void NetworkState::wait_for(",
                    "missing.load(std::memory_order_acquire)")})
def answers(o):
    def asks():
        for request in (1, 2):
            yield lock("mutex")
            yield add("missing", o["ask"])
            yield store("asked", RELAXED, request)
            yield unlock("mutex")
        yield wait("missing", o["wait"], is_equal(0))
        yield from read_expected("answer 1", 1)
        yield from read_expected("answer 2", 1)

    def takes_in(request):
        def thread():
            yield wait("asked", RELAXED, at_least(request))
            yield lock("mutex")
            yield write(f"answer {request}", 1)
            yield add("missing", o["answer"], -1)
            yield unlock("mutex")
        return thread
    return [asks, takes_in(1), takes_in(2)]


FLOW = "src/transport/network/flow.cpp"


@protocol("data that the wire reads is not changed before it has left",
          {"lend": (FLOW, "void Flow::send_lone(",
                    "under_way->fetch_add(1, std::memory_order_relaxed)"),
           "left": (FLOW, "void Flow::left(", "under_way->fetch_sub(1, std::memory_order_release)"),
           "held": ("src/transport/network/held.cpp", "bool HeldRecords::release_answers(",
                    "held->under_way.load(std::memory_order_acquire)")})
def lent(o):
    def owner():
        yield write("data", 1)
        yield add("under way", o["lend"])
        yield store("posted", RELEASE, 1)
        yield wait("under way", o["held"], is_equal(0))
        yield write("data", 2)

    def wire():
        yield wait("posted", ACQUIRE, is_equal(1))
        yield from read_expected("data", 1)
        yield add("under way", o["left"], -1)
    return [owner, wire]


STAGED = "src/gpu/staged_access.cpp"


@protocol("a transfer that the device's thread has done is there",
          {"done": (STAGED, "void StagedAccess::finish(DeviceWork& work) {",
                    "work.is_done.store(true, std::memory_order_release)"),
           "look": ("src/transport/network/held.hpp", "bool is_undone_by_device() const {",
                    "work.is_done.load(std::memory_order_acquire)")})
def staged(o):
    def drives():
        yield write("data", 1)
        yield store("done", o["done"], 1)

    def looks():
        if (yield load("done", o["look"])):
            yield from read_expected("data", 1)
    return [drives, looks]


THREAD = "src/transport/network/thread.hpp"


@protocol("a thread that takes in a message wakes the network's thread, or that one does not sleep",
          {"sleeps": (THREAD, "bool sleeps_until_event() const {",
                      "sleep_.load(std::memory_order_relaxed)")})
def sleeping(o):
    def sleeps():  # sleep_until_event(): arm() takes the transport's lock
        yield store("sleep", RELAXED, 1)
        yield lock("mutex")
        has_work = yield read("to answer")
        yield unlock("mutex")
        if not has_work:
            yield wait("timer", RELAXED, is_equal(1))

    def takes_in():
        yield lock("mutex")
        yield write("to answer", 1)
        if (yield load("sleep", o["sleeps"])):
            yield store("timer", RELAXED, 1)
        yield unlock("mutex")
    return [sleeps, takes_in]
