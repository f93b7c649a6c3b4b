"""Chromium without a window: pictures and prints of a page, with its console and its network requests."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy
from PIL import Image

PROGRAMS = ("chromium-headless-shell", "chromium")
LIGHT, DARK = "1", "0"  # blink::mojom::PreferredColorScheme
FLAGS = [
    "--headless",
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=1000",
]


class Shown(NamedTuple):
    pixels: numpy.ndarray  # height, width, (red, green, blue)
    console: List[str]
    urls: List[str]  # that were asked of the network


def program() -> Optional[str]:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def run(page: Path, directory: Path, *flags: str) -> str:
    made = subprocess.run(
        ["nice", program(), *FLAGS, f"--user-data-dir={directory / 'profile'}", *flags, page.resolve().as_uri()],
        capture_output=True, text=True, timeout=120, check=False, env={"HOME": str(directory), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return made.stderr


def show(page: Path, directory: Path, width: int, height: int, scheme: str = LIGHT) -> Shown:
    """``page`` as a window of this size shows it."""
    picture, log = directory / f"{page.stem}-{scheme}.png", directory / f"{page.stem}-net.json"
    said = run(page, directory, f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={scheme}",
               f"--screenshot={picture}", f"--log-net-log={log}")  # fmt: skip
    console = re.findall(r":CONSOLE:\d+\] (.*)", said)
    events = [event.get("params") for event in json.loads(log.read_text())["events"]]
    urls = sorted({event["url"] for event in events if isinstance(event, dict) and "url" in event})
    return Shown(numpy.asarray(Image.open(picture).convert("RGB")), console, urls)


def ask(page: Path, directory: Path, script: str, width: int = 1200, height: int = 2400) -> Tuple[Any, Shown]:
    """The value of an expression of JavaScript in the page, and the page afterwards."""
    asking = directory / "asking.html"
    asking.write_text(page.read_text().replace("</body>", f"<script>console.log('answer ' + JSON.stringify({script}))</script></body>"))
    shown = show(asking, directory, width, height)
    (answer,) = [re.match(r'"answer (.*)", source: ', line) for line in shown.console]
    return json.loads(answer.group(1)), shown


def print_pages(page: Path, directory: Path) -> int:
    """The number of pages of its PDF."""
    paper = directory / f"{page.stem}.pdf"
    run(page, directory, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    return len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))
