# SPDX-License-Identifier: Apache-2.0
"""Attacks on a port of a PE, by what anybody on the network can send.

    stranger.py ATTACK IP PORT < STREAMS

STREAMS: a JSON list of hexadecimal texts, what PEs of another job have sent on their connections.
Invariant: an attack ends within seconds, whether or not the port takes connections. Run by
test_attacks.py as another user or on another machine; its text is handed to the interpreter, as
that user may be unable to read this file.
"""
import contextlib
import json
import os
import random
import resource
import select
import socket
import struct
import sys
import time

UCX_MAGIC = bytes.fromhex("78563412bebafeca")
PATIENCE = 0.5  # seconds for a connection
dice = random.Random(1)


def open_connections(place, n):
    """Those of n that are there within a while."""
    opening = [socket.socket() for _ in range(n)]
    for connection in opening:
        connection.setblocking(False)
        connection.connect_ex(place)
    deadline, connected = time.monotonic() + PATIENCE, []
    while opening and time.monotonic() < deadline:
        _, writable, _ = select.select([], opening, [], PATIENCE)
        for connection in writable:
            opening.remove(connection)
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                connected.append(connection)
    for connection in opening:
        connection.close()
    return connected


def send_each(place, texts, seconds):
    """Each text on a connection of its own; they stay open so long."""
    connections = open_connections(place, len(texts))
    for connection, text in zip(connections, texts):
        with contextlib.suppress(OSError):
            connection.send(text)
    time.sleep(seconds if connections else 0)
    return len(connections)


def short_header(place, _):
    """The magic number of UCX, and a header of a message without contents."""
    return send_each(place, [UCX_MAGIC + bytes([32, 0, 0, 0, 0])] * 4, 0.5)


def beginning_of(stream):
    """The bytes that a peer sends before its first message, by UCX."""
    return stream[:13 + struct.unpack_from("<I", stream, 9)[0]]


def messages_of_ucx(place, streams):
    """Those that UCX reads itself, full of addresses, after the beginning of a real connection."""
    begin = next((beginning_of(stream) for stream in streams if stream.startswith(UCX_MAGIC)),
                 UCX_MAGIC)
    bodies = [struct.pack("<Q", word) * 16 for word in (0, 0x4141414141414141, 0x10, 2 ** 64 - 1)]
    texts = [begin + struct.pack("<BI", number, len(body)) + body
             for number in (10, 11, 12, 16, 24, 25) for body in bodies]
    return send_each(place, texts, 0.5)


def replay(place, streams):
    return send_each(place, [stream[:1 << 20] for stream in streams][:100], 0.5)


def garbage(place, _):
    return send_each(place, [dice.randbytes(size) for size in (1, 7, 8, 13, 64, 4096, 1 << 20)
                             for _ in range(4)], 0.5)


def slow_senders(place, streams):
    """A byte now and then."""
    text = (streams[0] if streams else UCX_MAGIC)[:20]
    connections = open_connections(place, 50)
    for byte in text if connections else b"":
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(bytes([byte]))
        time.sleep(0.1)
    return len(connections)


def held_connections(place, _):
    """Thousands that stay open: some send nothing, the others a byte, rubbish or an end of the
    stream."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = 5000 if hard == resource.RLIM_INFINITY else min(5000, hard - 100)
    deadline, held = time.monotonic() + 4, []
    while len(held) < most and time.monotonic() < deadline:
        held.append(socket.socket())
        held[-1].setblocking(False)
        held[-1].connect_ex(place)
    sent = 0
    for number, connection in enumerate(held):
        with contextlib.suppress(OSError):  # the PE has ended it, or never took it
            if number % 4 == 1:
                connection.shutdown(socket.SHUT_WR)
            elif number % 4 > 1:
                sent += connection.send(dice.randbytes(1 if number % 4 == 2 else 200))
    time.sleep(1 if sent else 0)
    return f"{len(held)} connections, {sent} bytes"


def many_connections(place, _):
    """Ten thousand, some hundred at a time."""
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    begun = 0
    for _ in range(40):
        batch = [socket.socket() for _ in range(250)]
        for connection in batch:
            connection.setblocking(False)
            begun += connection.connect_ex(place) in (0, 115)  # EINPROGRESS
        time.sleep(0.02)
        for connection in batch:
            connection.close()
    return begun


def checksum(text):
    total = sum(struct.unpack(f">{len(text) // 2}H", text))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def half_open(place, _):
    """Connections of which only the first packet comes, from an address that nobody has."""
    nobody, target = socket.inet_aton("10.9.0.99"), socket.inet_aton(place[0])
    try:
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    except PermissionError:
        return 0  # an ordinary user cannot
    for number in range(2000):
        packet = struct.pack(">HHIIBBHHH", 1024 + number, place[1], number, 0, 5 << 4, 2, 65535,
                             0, 0)
        sum_of = checksum(nobody + target + struct.pack(">HH", 6, len(packet)) + packet)
        packet = packet[:16] + struct.pack(">H", sum_of) + packet[18:]
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(packet), number, 0, 64, 6, 0, nobody,
                         target)
        raw.sendto(ip + packet, (place[0], 0))
        if number % 100 == 0:
            time.sleep(0.01)
    return 2000


def main():
    attack, ip, port = sys.argv[1:4]
    streams = [bytes.fromhex(text) for text in json.load(sys.stdin)]
    print(f"{attack} as user {os.geteuid()}: {globals()[attack]((ip, int(port)), streams)}")


main()
