"""docs/pictures/report.png: the top of the page that the command of docs/QUICKSTART.md makes, in Chromium."""

import hashlib
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from rayscaler_e2e import browser, paths


PICTURE = paths.ROOT / "docs" / "pictures" / "report.png"


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


def parts(page: str) -> str:
    """A hash of the page without its data."""
    return hashlib.sha256(re.sub(r'(id="data">).*?</script>', r"\1", page, flags=re.DOTALL).encode()).hexdigest()


def picture_parts() -> str:
    """That of the page that the picture shows."""
    with Image.open(PICTURE) as picture:
        return picture.text.get("parts", "none")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        page = make_page(Path(directory))
        shown = browser.show(page, Path(directory), 1100, 1460)
        note = PngInfo()
        note.add_text("parts", parts(page.read_text()))
    Image.fromarray(shown.pixels).quantize(256).save(PICTURE, optimize=True, pnginfo=note)


if __name__ == "__main__":
    main()
