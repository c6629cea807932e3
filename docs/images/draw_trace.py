#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a piece of a trace of MESHMEM_TRACE, as Perfetto shows it, for docs/tracing.md and
docs/performance.md.

draw_trace.py TRACE FROM_US LENGTH_US OUTPUT.svg

A row is a thread of a PE; what lies between the calls, in grey, is the program's own work, with its
time where there is room for it. Calls shorter than a pixel are a line, one for those of a kind that
share the pixel. Times in the picture count from its left edge.
"""
import html
import json
import sys

WIDTH, LEFT, RIGHT, ROW, GAP, TOP = 960, 70, 20, 40, 34, 66
COLORS = {"wait": "#e5743b", "collective": "#c9a227", "transfer": "#2f74c0", "signal": "#2f74c0",
          "variable": "#2f74c0", "order": "#6b54a8", "memory": "#5b8a3c", "lock": "#b0407a",
          "other": "#8c959f", "enqueue": "#c9a227", "work": "#eaeef2", "library": "#3b8a8a"}
LEGEND = [("work", "the program's own work"), ("wait", "waits for a variable"),
          ("collective", "collectives"),
          ("transfer", "puts, gets, signals"), ("order", "fence and quiet"),
          ("memory", "memory, start and end"),
          ("other", "other calls"), ("library", "the library's own threads")]
STYLE = """\
text { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328; }
.in { fill: #ffffff; font-size: 11px; }
.work { fill: #57606a; font-size: 11px; text-anchor: middle; }
.axis { fill: #57606a; font-size: 11px; }
.arrow { fill: none; stroke: #1f2328; stroke-width: 1.2; marker-end: url(#head); }"""


class Picture:
    def __init__(self, events, begin, length):
        self.events, self.begin, self.length = events, begin, length
        self.spans = [event for event in events if event["ph"] == "X"
                      and event["ts"] < begin + length and event["ts"] + event["dur"] > begin]
        rows = sorted({(span["pid"], span["tid"]) for span in self.spans})
        self.tops = {row: TOP + number * (ROW + GAP) for number, row in enumerate(rows)}
        self.height = TOP + len(rows) * (ROW + GAP) + 26
        self.parts = []
        self.lines = set()  # (row, color, pixel) of the calls that are lines

    def x(self, time):
        inside = min(max(time - self.begin, 0), self.length)
        return LEFT + inside / self.length * (WIDTH - LEFT - RIGHT)

    def add(self, text):
        self.parts.append(text)

    def draw_legend(self):
        x, shown = LEFT, {COLORS[span["cat"]] for span in self.spans} | {COLORS["work"]}
        for category, text in (entry for entry in LEGEND if COLORS[entry[0]] in shown):
            self.add(f'<rect x="{x}" y="14" width="14" height="14" fill="{COLORS[category]}"/>')
            self.add(f'<text x="{x + 20}" y="25">{text}</text>')
            x += 48 + 6.6 * len(text)

    def draw_rows(self):
        names = {(event["pid"], event["tid"]): event["args"]["name"] for event in self.events
                 if event["name"] == "thread_name"}
        for (pe, tid), top in self.tops.items():
            self.add(f'<text x="12" y="{top + ROW / 2 + 4}">PE {pe}</text>')
            if "stream" in names.get((pe, tid), ""):
                self.add(f'<text class="axis" x="12" '
                         f'y="{top + ROW / 2 + 18}">{names[pe, tid]}</text>')
            self.add(f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{ROW}" '
                     f'fill="{COLORS["work"]}"/>')

    def draw_span(self, span):
        left, right = self.x(span["ts"]), self.x(span["ts"] + span["dur"])
        top, arguments = self.tops[span["pid"], span["tid"]], span["args"]
        if right - left < 1:
            line = (top, COLORS[span["cat"]], round(left))
            if line in self.lines:
                return
            self.lines.add(line)
        title = html.escape(f"{span['name']}: {span['dur']:.1f} us")
        self.add(f'<rect x="{left:.1f}" y="{top}" width="{max(right - left, 1):.1f}" '
                 f'height="{ROW}" '
                 f'fill="{COLORS[span["cat"]]}"><title>{title}</title></rect>')
        name = span["name"].replace("shmem_", "", 1)
        lines = [name, f"{span['dur'] / 1000:.2f} ms" +
                 (f" for {arguments['waited_for']}" if "waited_for" in arguments else "")]
        if right - left > 6.6 * max(len(line) for line in lines):
            for number, line in enumerate(lines):
                self.add(f'<text class="in" x="{left + 4:.1f}" '
                         f'y="{top + 16 + 15 * number}">{line}</text>')

    def draw_work(self):
        """The time between calls that both are in the picture."""
        for row, top in self.tops.items():
            calls = sorted((span["ts"], span["ts"] + span["dur"])
                           for span in self.spans if (span["pid"], span["tid"]) == row)
            for (_, begin), (end, _) in zip(calls, calls[1:]):
                text = f"{(end - begin) / 1000:.2f} ms"
                if self.x(end) - self.x(begin) > 6.6 * len(text):
                    self.add(f'<text class="work" x="{self.x((begin + end) / 2):.1f}" '
                             f'y="{top + ROW / 2 + 4}">{text}</text>')

    def draw_arrows(self):
        ends = {event["id"]: event for event in self.events if event["ph"] == "f"}
        for start in (event for event in self.events if event["ph"] == "s"):
            end = ends[start["id"]]
            times = (start["ts"], end["ts"])
            if min(times) < self.begin or max(times) > self.begin + self.length or start[
                    "pid"] == end["pid"]:
                continue
            top, bottom = self.tops[start["pid"], start["tid"]], self.tops[end["pid"], end["tid"]]
            from_y, to_y = (top + ROW, bottom - 2) if top < bottom else (top, bottom + ROW + 2)
            x1, x2, middle = self.x(times[0]), self.x(times[1]), (from_y + to_y) / 2
            self.add(f'<path class="arrow" d="M{x1:.1f},{from_y} C{x1:.1f},{middle} '
                     f'{x2:.1f},{middle} {x2:.1f},{to_y}"/>')

    def draw_axis(self):
        y = self.height - 12
        for tick in range(6):
            time = self.begin + self.length * tick / 5
            anchor = "end" if tick == 5 else "middle"
            self.add(f'<text class="axis" text-anchor="{anchor}" x="{self.x(time):.1f}" y="{y}">'
                     f'{self.length * tick / 5000:.1f} ms</text>')

    def svg(self):
        self.draw_legend()
        self.draw_rows()
        for span in self.spans:
            self.draw_span(span)
        self.draw_work()
        self.draw_arrows()
        self.draw_axis()
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" '
                f'height="{self.height}" role="img">\n<title>A piece of '
                f'a trace</title>\n<style>\n{STYLE}\n</style>\n'
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                'markerHeight="7" orient="auto">'
                '<path d="M0,0 L8,4 L0,8 z" fill="#1f2328"/></marker></defs>\n'
                f'<rect width="{WIDTH}" height="{self.height}" fill="#ffffff"/>\n{body}\n</svg>\n')


def main():
    trace, begin, length, output = sys.argv[1:5]
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    with open(output, "w", encoding="utf-8") as file:
        file.write(Picture(events, float(begin), float(length)).svg())


if __name__ == "__main__":
    main()
