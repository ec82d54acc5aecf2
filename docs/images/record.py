#!/usr/bin/env python3
"""Records a terminal session as an animated SVG: `record.py [--prep PROGRAM] [-o FILE.svg] COMMAND...`.

Each COMMAND runs in a pseudo terminal, one after the other, in one empty directory. The SVG shows the screen of the
terminal after each change, with shortened pauses. Viewers that reduce motion show the last frame. The script needs only
Python.
"""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import struct
import subprocess
import tempfile
import termios
import time
from html import escape

COLUMNS, ROWS = 116, 26
# Size of a character cell and of the margin, in pixels.
WIDTH, HEIGHT, MARGIN = 7.8, 17, 14
# Durations in seconds: a typed character, the longest pause between two frames, the pause after a command, the last
# frame.
TYPED, PAUSE, REST, END = 0.05, 0.25, 1.2, 6.0
COLORS = {30: "#8b949e", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}
INK, PAPER, PROMPT = "#e6edf3", "#0d1117", "#7ee787"
SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """A terminal screen with the features that the program uses: colours, carriage returns, moving up, clearing."""

    def __init__(self):
        self.lines = [[]]
        self.row = self.column = 0
        self.style = (None, False)

    def feed(self, text):
        at = 0
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if found:
                self.obey(found[1] or "", found[2] or "")
                at = found.end()
                continue
            self.put(text[at])
            at += 1

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.move_to(self.row + 1)
        elif character >= " ":
            if self.column >= COLUMNS:
                self.move_to(self.row + 1)
                self.column = 0
            line = self.lines[self.row]
            line.extend([(" ", (None, False))] * (self.column + 1 - len(line)))
            line[self.column] = (character, self.style)
            self.column += 1

    def move_to(self, row):
        self.row = max(row, 0)
        while len(self.lines) <= self.row:
            self.lines.append([])

    def obey(self, given, letter):
        numbers = [int(one) for one in given.split(";") if one.isdigit()] or [0]
        match letter:
            case "A":
                self.move_to(self.row - max(numbers[0], 1))
            case "B":
                self.move_to(self.row + max(numbers[0], 1))
            case "G":
                self.column = max(numbers[0] - 1, 0)
            case "K":
                keep = 0 if numbers[0] == 2 else self.column
                del self.lines[self.row][keep:]
            case "J":
                del self.lines[self.row][self.column:]
                del self.lines[self.row + 1:]
            case "m":
                self.paint(numbers)

    def paint(self, numbers):
        color, bold = self.style
        for number in numbers:
            if number == 0:
                color, bold = None, False
            elif number == 1:
                bold = True
            elif number in (22, 39):
                color, bold = (color, False) if number == 22 else (None, bold)
            elif number % 60 in COLORS:
                color = COLORS[number % 60]
        self.style = (color, bold)

    def frame(self):
        """Returns the last rows, as runs of characters with equal style."""
        rows = []
        for line in self.lines[-ROWS:]:
            runs = []
            for character, style in line:
                if runs and runs[-1][1] == style:
                    runs[-1][0].append(character)
                else:
                    runs.append(([character], style))
            rows.append([("".join(text), style) for text, style in runs])
        while rows and not any(text.strip() for text, _ in rows[-1]):
            rows.pop()
        return rows


def run(command, directory, prep):
    """Runs a command in a pseudo terminal. Yields (seconds since the start, output)."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    names = {"HOME": str(directory), "PATH": f"{prep.parent}:{os.environ['PATH']}", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        shlex.split(command), stdin=follower, stdout=follower, stderr=follower, cwd=directory, env=names, start_new_session=True)
    os.close(follower)
    began = time.monotonic()
    while True:
        if not select.select([leader], [], [], 0.02)[0] and process.poll() is not None:
            break
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        yield time.monotonic() - began, data.decode(errors="replace")
    os.close(leader)
    if process.wait() != 0:
        raise SystemExit(f"`{command}` ended with code {process.returncode}")


def record(commands, prep):
    """Returns the frames, each as (seconds that it is shown, rows)."""
    terminal, frames = Terminal(), []
    with tempfile.TemporaryDirectory() as directory:
        for command in commands:
            terminal.feed("\x1b[32m$\x1b[0m ")
            for character in command:
                terminal.feed(character)
                frames.append((TYPED, terminal.frame()))
            frames.append((PAUSE, terminal.frame()))
            terminal.feed("\r\n")
            before = 0.0
            for when, text in run(command, pathlib.Path(directory), prep):
                if frames:
                    shown, rows = frames[-1]
                    frames[-1] = (max(shown, min(when - before, PAUSE)), rows)
                before = when
                terminal.feed(text.replace(directory, "~"))
                frames.append((0.02, terminal.frame()))
            frames[-1] = (REST, frames[-1][1])
    frames[-1] = (END, frames[-1][1])
    return merged(frames)


def merged(frames):
    """Merges equal frames, and removes frames that are too short to be seen."""
    found = []
    for shown, rows in frames:
        if found and found[-1][1] == rows or found and found[-1][0] < 0.04:
            found[-1] = (found[-1][0] + shown, rows)
        else:
            found.append((shown, rows))
    return found


def spans(row, number):
    """Returns a row as SVG text."""
    y = MARGIN + 13 + number * HEIGHT
    parts, column = [], 0
    for text, (color, bold) in row:
        if text.strip():
            x = MARGIN + column * WIDTH
            style = (f' fill="{color}"' if color else "") + (' font-weight="bold"' if bold else "")
            length = f' textLength="{len(text) * WIDTH:.1f}"' if len(text) > 1 else ""
            parts.append(f'<tspan x="{x:.1f}"{length} lengthAdjust="spacingAndGlyphs"{style}>{escape(text)}</tspan>')
        column += len(text)
    return f'<text y="{y}" xml:space="preserve">{"".join(parts)}</text>' if parts else ""


def svg(frames, title):
    """Returns the SVG. Draws each row once for the entire time in which its position does not change.

    `frames` are pairs of `shown`, the seconds for which the screen shows this frame, and the rows of the frame.
    """
    total = sum(shown for shown, _ in frames)
    rows = max(len(frame) for _, frame in frames)
    # `began` maps a visible row, with its number on the screen, to the time at which it appeared. A row that disappears
    # moves to `spells`, as (number and row, time of appearance, time of disappearance). All times are in seconds.
    began, spells, now = {}, [], 0.0
    for shown, frame in [*frames, (0.0, [])]:
        present = {(number, tuple(row)): row for number, row in enumerate(frame)}
        for key in [key for key in began if key not in present]:
            spells.append((key, began.pop(key), now))
        for key in present:
            began.setdefault(key, now)
        now += shown
    width, height = 2 * MARGIN + COLUMNS * WIDTH, 2 * MARGIN + rows * HEIGHT
    styles, texts = [], []
    for at, ((number, row), start, end) in enumerate(spells):
        text = spans(row, number)
        if not text:
            continue
        is_last = end >= total - 0.001
        first, last = 100 * start / total, 100 * end / total
        hidden = "opacity:0" if not is_last else "opacity:1"
        steps = f"0%{{opacity:{int(first == 0)}}}{first:.3f}%{{opacity:1}}"
        steps += "100%{opacity:1}" if is_last else f"{last:.3f}%{{opacity:0}}100%{{opacity:0}}"
        styles.append(f"@keyframes k{at}{{{steps}}}#r{at}{{{hidden};animation:k{at} {total:.2f}s step-end infinite}}")
        texts.append(f'<g id="r{at}">{text}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><style>{''.join(styles)}"
        "@media (prefers-reduced-motion: reduce){g{animation:none!important}}</style>"
        f'<rect width="100%" height="100%" rx="10" fill="{PAPER}"/>'
        f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13" fill="{INK}">'
        f"{''.join(texts)}</g></svg>\n"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    parser.add_argument("--prep", type=pathlib.Path, default=pathlib.Path("target/release/prep"))
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("docs/images/demo.svg"))
    given = parser.parse_args()
    frames = record(given.commands, given.prep.resolve())
    text = svg(frames, "Terminal: " + ", then ".join(given.commands))
    given.output.write_text(text, encoding="utf-8")
    print(f"{given.output}: {len(frames)} frames, {sum(shown for shown, _ in frames):.1f} s, {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
