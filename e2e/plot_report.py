"""docs/pictures/report.png: the top of the page that the command of docs/QUICKSTART.md makes, in Chromium."""

import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from rayscaler_e2e import browser, paths


def command() -> str:
    (line,) = re.findall(r"^    rayscaler (simulate .*)$", (paths.ROOT / "docs" / "QUICKSTART.md").read_text(), re.M)
    return line


def make_page(directory: Path) -> Path:
    """Runs the command where the files are that it names."""
    text = (paths.ROOT / "docs" / "SIMULATE.md").read_text()
    (directory / "workload.yaml").write_text(re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1))
    (directory / "examples").symlink_to(paths.ROOT / "examples")
    subprocess.run([str(paths.program()), *shlex.split(command())], cwd=directory, check=True, timeout=60, stdout=subprocess.DEVNULL)
    return directory / "report.html"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        shown = browser.show(make_page(Path(directory)), Path(directory), 1000, 1020)
    picture = Image.fromarray(shown.pixels).quantize(256)
    picture.save(paths.ROOT / "docs" / "pictures" / "report.png", optimize=True)


if __name__ == "__main__":
    main()
