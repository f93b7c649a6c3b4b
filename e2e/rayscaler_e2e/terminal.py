"""The output of a program on a terminal of a given width."""

import fcntl
import os
import pty
import re
import struct
import termios
from pathlib import Path
from typing import List, Sequence

from . import paths

ROWS = 40
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def lines(words: Sequence[str], directory: Path, columns: int) -> List[str]:
    """Of ``rayscaler WORDS``, without colours."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        os.chdir(directory)
        os.execv(paths.program(), [str(paths.program()), *words])
    text = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the program has ended
            break
        if not part:
            break
        text += part
    os.close(terminal)
    os.waitpid(child, 0)
    return COLOURS.sub("", text.decode()).replace("\r", "").splitlines()


def too_long(shown: List[str], columns: int) -> List[str]:
    """Lines that the terminal would break, but for those of one word."""
    return [line for line in shown if len(line) > columns and " " in line.strip()]
