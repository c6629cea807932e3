# SPDX-License-Identifier: Apache-2.0
"""The protocols between kernels: packets, and the meeting around which they are wiped."""
from explorer import RELAXED, fence, require, store, wait, write
from protocols import at_least, protocol, read_expected

SYNC = "device/sync.hpp"
WIPE = "void wipe_and_meet("
EACH = "device/memory_each_fences.hpp"
RELEASE_ALL = (EACH, "void release_all(", "release_fence();")
ACQUIRE_ALL = (EACH, "void acquire_all(", "acquire_fence();")


def meet(me, epoch, release, acquire):
    yield fence(release)
    yield store(f"told {1 - me}", RELAXED, epoch)
    yield wait(f"told {me}", RELAXED, at_least(epoch))
    yield fence(acquire)


@protocol("behind a meeting each kernel reads what the other wrote, and writes where it has read",
          {"release": RELEASE_ALL, "acquire": ACQUIRE_ALL})
def meeting(o):
    def make(me):
        def kernel():
            yield write(f"data {me}", 1)
            yield from meet(me, 1, o["release"], o["acquire"])
            yield from read_expected(f"data {1 - me}", 1)
            yield from meet(me, 2, o["release"], o["acquire"])
            yield write(f"data {me}", 2)
        return kernel
    return [make(0), make(1)]


@protocol("a packet line is taken whole, and not filled again before, without any fence", {},
          flaws=("only one half has a flag", "only one row"))
def packets(_, flaw=None):
    def half_of(pe, epoch, number):
        row = 0 if flaw == "only one row" else epoch % 2
        return f"half {number} of row {row} of {pe}"

    def make(me):
        def kernel():  # an operation sends a line to the other PE and takes one
            for epoch in (1, 2, 3):
                for number in (0, 1):
                    yield store(half_of(1 - me, epoch, number), RELAXED, epoch)
                for number in (0, 1):
                    least = 0 if number == 1 and flaw == "only one half has a flag" else epoch
                    found = yield wait(half_of(me, epoch, number), RELAXED, at_least(least))
                    require(found == epoch, "half of a line is not of the operation")
        return kernel
    return [make(0), make(1)]


@protocol("a packet that was there before the wiping is gone, and the next one is not wiped",
          {"release": RELEASE_ALL,
           "acquire before": (SYNC, WIPE, "acquire_fence(); for (int i = first; i < n; i += step) "
                              "wipe_packets"),
           "release wiped": (SYNC, WIPE, "release_fence();"),
           "acquire wiped": (SYNC, WIPE, "[=] { return told; }); } acquire_fence();")})
def wiping(o):
    def sends():
        yield store("packet", RELAXED, 1)  # another thread of the group that wipes has taken it
        yield from meet(0, 1, o["release"], RELAXED)
        yield from meet(0, 2, RELAXED, o["acquire wiped"])
        yield store("packet", RELAXED, 2)

    def wipes():
        yield from meet(1, 1, RELAXED, o["acquire before"])
        yield store("packet", RELAXED, 0)
        yield from meet(1, 2, o["release wiped"], RELAXED)
        found = yield wait("packet", RELAXED, at_least(1))
        require(found == 2, "an old packet is taken for the next one, which has its flag")
    return [sends, wipes]
