"""The page of `simulate --report` in Chromium: it asks the network for nothing, and its charts have their colours."""

import re
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple
from xml.etree import ElementTree

import numpy
import pytest
import yaml

from rayscaler_e2e import browser, paths


@pytest.fixture(autouse=True, scope="module")
def chromium():
    assert browser.program(), "chromium-headless-shell is missing; fix: make setup"


PRICES = {
    "apiVersion": "rayscaler.dev/v1alpha1",
    "kind": "PriceTable",
    "currency": "EUR",
    "prices": [{"market": "spot", "perGPUHour": 1.10}, {"perGPUHour": 3}],
}
CHART = {"width": 900, "top": 14, "height": 150}  # of src/cli/shared/html.c


def add_spot_group(cluster: Dict) -> None:
    group = yaml.safe_load(yaml.safe_dump(cluster["spec"]["workerGroupSpecs"][0]))
    group.update(groupName="spot-group", maxReplicas=3)
    group["template"]["spec"]["nodeSelector"] = {"karpenter.sh/capacity-type": "spot"}
    cluster["spec"]["workerGroupSpecs"].append(group)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Of three rows: two groups, one of them spot, with prices."""
    directory = tmp_path_factory.mktemp("page")
    text = (paths.ROOT / "docs" / "SIMULATE.md").read_text()
    (directory / "workload.yaml").write_text(re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1))
    (directory / "prices.yaml").write_text(yaml.safe_dump(PRICES))
    documents = yaml.safe_load_all((paths.ROOT / "examples" / "gpu.yaml").read_text())
    (cluster,) = [document for document in documents if document and document["kind"] == "RayCluster"]
    add_spot_group(cluster)
    (directory / "cluster.yaml").write_text(yaml.safe_dump(cluster))
    made = simulate(directory, "--price-table", "prices.yaml", "--set", "idleTimeoutSeconds=600", "--vary", "packing=ray,cheapest",
                    "--baseline", "ray", "--report", "page.html")  # fmt: skip
    assert made.returncode == 0, made.stderr
    return directory / "page.html"


def simulate(directory: Path, *words: str) -> subprocess.CompletedProcess:
    command = [str(paths.program()), "simulate", "-f", "cluster.yaml", "-w", "workload.yaml", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=directory, timeout=60, check=False)


def colours(page: Path) -> Dict[str, Dict[str, Tuple[int, ...]]]:
    """By scheme and name, as its style says: the first block is light, the second dark."""
    blocks = re.findall(r":root \{(.*?)\}", page.read_text(), re.DOTALL)
    found = [{name: tuple(bytes.fromhex(value)) for name, value in re.findall(r"--(\w+): #(\w{6})", block)} for block in blocks]
    return {browser.LIGHT: found[0], browser.DARK: found[1]}


def count(pixels: numpy.ndarray, colour: Tuple[int, ...]) -> int:
    return int((pixels == numpy.array(colour, dtype=numpy.uint8)).all(axis=2).sum())


@pytest.mark.parametrize("scheme", [browser.LIGHT, browser.DARK], ids=["light", "dark"])
def test_a_person_sees_all_series(page, tmp_path, scheme):
    shown = browser.show(page, tmp_path, 1200, 2400, scheme)
    assert not shown.urls and not shown.console
    named = colours(page)[scheme]
    assert tuple(shown.pixels[0, 0]) == named["page"]
    # text and charts, on a page that is mostly empty
    assert 0.5 < count(shown.pixels, named["page"]) / shown.pixels[:, :, 0].size < 0.95
    for name, least in {"used": 10000, "provisioned": 10000, "demand": 500, "best": 100, "text": 500}.items():
        assert count(shown.pixels, named[name]) > least, name


def single_chart(page: Path, to: Path, index: int) -> ElementTree.Element:
    """Writes a page with the chart of a group alone, one pixel for each of its units."""
    root = ElementTree.fromstring(page.read_text().split("\n", 1)[1])
    charts = [svg for svg in root.iter("svg") if any(part.get("class") == "demand" for part in svg.iter("path"))]
    style = re.search(r"<style>.*?</style>", page.read_text(), re.DOTALL).group(0)
    text = ElementTree.tostring(charts[index], encoding="unicode")
    to.write_text(f"<!DOCTYPE html><html><head>{style}<style>body {{ margin: 0; padding: 0; max-width: none; }} svg {{ width: 900px; }}"
                  f"</style></head><body>{text}</body></html>")  # fmt: skip
    return charts[index]


def points_of(chart: ElementTree.Element) -> List[Tuple[float, Dict[str, float]]]:
    """The middle and the values of each column that shows them on hover."""
    found = []
    for column in chart.iter("rect"):
        values = {name: float(value) for name, value in re.findall(r"(demand|provisioned|used) ([\d.]+)", column.find("title").text)}
        found.append((float(column.get("x")) + float(column.get("width")) / 2, values))
    return found


@pytest.mark.parametrize("index", [0, 1], ids=["on-demand", "spot"])
def test_the_areas_are_where_the_values_are(page, tmp_path, index):
    chart = single_chart(page, tmp_path / "chart.html", index)
    named = colours(page)[browser.LIGHT]
    pixels = browser.show(tmp_path / "chart.html", tmp_path, CHART["width"], 200).pixels
    most = max(float(label.text) for label in chart.iter("text") if re.fullmatch(r"[\d.]+", label.text) and label.get("text-anchor") == "end")
    checked = {"used": 0, "provisioned": 0, "page": 0}

    def expect(x: float, value: float, name: str) -> None:
        row = CHART["top"] + CHART["height"] * (1 - value / most)
        # Not at the lines of the grid, of the demand, or beside a step within the column.
        area = pixels[int(row) - 1 : int(row) + 2, int(x) - 1 : int(x) + 2].reshape(-1, 3)
        if len({tuple(pixel) for pixel in area}) == 1:
            assert tuple(area[0]) == named[name], (x, value, name)
            checked[name] += 1

    for x, values in points_of(chart):
        if values["used"] > 0:
            expect(x, values["used"] * 0.6, "used")
        if values["provisioned"] > values["used"]:
            expect(x, values["used"] + (values["provisioned"] - values["used"]) * 0.6, "provisioned")
        if values["provisioned"] < most * 0.8:
            expect(x, (values["provisioned"] + most) * 0.48, "page")
    assert min(checked.values()) >= 20, checked


def test_the_page_names_cost_and_market(page):
    text = page.read_text()
    assert text.count("<h3>Cost by group</h3>") == 3 and text.count("<h3>GPU-hours by group</h3>") == 3
    assert "<h3>GPUs of gpu / spot-group (spot)</h3>" in text and "<h3>GPUs of gpu / gpu-group</h3>" in text


def sections(page: Path) -> List[ElementTree.Element]:
    return list(ElementTree.fromstring(page.read_text().split("\n", 1)[1]).iter("section"))


def charts_after(section: ElementTree.Element, title: str) -> List[ElementTree.Element]:
    """The charts whose heading begins so."""
    parts = list(section)
    return [chart for heading, chart in zip(parts, parts[1:]) if heading.tag == "h3" and heading.text.startswith(title)]


def test_charts_of_a_kind_have_one_scale(page):
    """A bar of twice the GPU-hours is twice as long, also in another row; all axes of GPUs end alike."""
    axes, scales = set(), {"GPU-hours by group": [], "Cost by group": [], "Waiting time": []}
    for section in sections(page):
        for chart in charts_after(section, "GPUs of "):
            axes.add(tuple(label.text for label in chart.iter("text") if label.get("text-anchor") == "end"))
        for title, found in scales.items():
            (chart,) = charts_after(section, title)
            values = [float(label.text.split()[0].replace(",", "")) for label in chart.iter("text") if label.get("text-anchor") == "start"]
            found += [(float(bar.get("width")), value) for bar, value in zip(chart.iter("rect"), values)]
    assert len(axes) == 1
    for title, found in scales.items():
        longest, most = max(found)
        assert len({value for _, value in found}) > 1, title
        for width, value in found:
            # A value is written with two digits.
            assert width == pytest.approx(value * longest / most, abs=0.5 + 0.006 * longest / most), title


OVERFLOW = (
    "<script>for (const part of document.querySelectorAll('.scroll, table, td, pre'))"
    " if (part.scrollWidth > part.clientWidth + 1 && part.clientWidth) console.error('cut: ' + part.textContent.slice(0, 60));"
    " if (document.documentElement.scrollWidth > innerWidth) console.error('cut: the page');"
    " console.error('looked');</script></body>"
)


@pytest.mark.parametrize("width", [320, 420, 599, 800, 1060, 1400])
def test_the_table_is_whole_at_every_width(page, tmp_path, width):
    looking = tmp_path / "looking.html"
    looking.write_text(page.read_text().replace("</body>", OVERFLOW))
    console = [line.split('"')[1] for line in browser.show(looking, tmp_path, width, 900).console]
    assert console == ["looked"]


def test_it_prints_on_few_pages(page, tmp_path):
    """The table, and one page for each row."""
    assert 2 <= browser.print_pages(page, tmp_path) <= 5


def test_requests_and_errors_would_be_seen(page, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(page.read_text().replace("</body>", "<img src='http://127.0.0.1:9/x.png'/><script>console.error('seen')</script></body>"))
    shown = browser.show(bad, tmp_path, 400, 400)
    assert shown.urls == ["http://127.0.0.1:9/x.png"] and "seen" in shown.console[0]
