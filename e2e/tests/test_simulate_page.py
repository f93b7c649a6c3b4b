"""The page of `simulate --report` in Chromium: it asks the network for nothing, its charts have their colours where
the values are, and hover, tap and choice of rows work on a telephone and on a desk."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy
import pytest
import yaml

from rayscaler_e2e import browser, paths

PHONE, DESK = 390, 1280


@pytest.fixture(autouse=True, scope="module")
def chromium():
    assert browser.program(), "chromium-headless-shell is missing; fix: make setup"


PRICES = {
    "apiVersion": "rayscaler.dev/v1alpha1",
    "kind": "PriceTable",
    "currency": "EUR",
    "prices": [{"market": "spot", "perGPUHour": 1.10}, {"perGPUHour": 3}],
}


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


def data_of(page: Path) -> Any:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL).group(1))


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
    for name, least in {"used": 10000, "provisioned": 3000, "demand": 500, "best": 100, "text": 500}.items():
        assert count(shown.pixels, named[name]) > least, name


# Every chart over time: its place, the labels of its axis of GPUs, and the words that hover shows at each 4 pixels.
HOVERED = """[...document.querySelectorAll('svg')].filter(svg => svg.querySelector('.demand')).map(svg => {
  const box = svg.getBoundingClientRect(), found = [];
  for (let x = Math.ceil(box.left); x < box.right; x += 4) {
    svg.dispatchEvent(new PointerEvent('pointermove', { clientX: x + 0.5, clientY: box.top + 80, pointerType: 'mouse' }));
    found.push([x, document.getElementById('tip').textContent]);
  }
  svg.dispatchEvent(new PointerEvent('pointerleave', { pointerType: 'mouse' }));
  svg.querySelector('path.grid:last-of-type').remove();
  const labels = [...svg.querySelectorAll('text[text-anchor=end]')].filter(one => /^[0-9.,]+$/.test(one.textContent));
  return { top: box.top, left: box.left, found, axis: labels.map(one => [Number(one.textContent), Number(one.getAttribute('y')) - 4, Number(one.getAttribute('x')) + 6]) };
})"""


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_hover_shows_the_values_of_the_areas(page, tmp_path, width):
    """The colours above and below each value are those that the words of this moment say."""
    charts, shown = browser.ask(page, tmp_path, HOVERED, width, 6000)
    named, checked = colours(page)[browser.LIGHT], {"used": 0, "provisioned": 0, "page": 0}
    assert len(charts) == 6  # three rows with two groups
    for chart in charts:
        (zero, bottom, left), (most, top, _) = chart["axis"][0], chart["axis"][-1]
        assert zero == 0 and most > 0

        def expect(x: float, value: float, name: str, chart=chart, bottom=bottom, top=top, most=most) -> None:
            row = chart["top"] + bottom + (top - bottom) * value / most
            # Not at the lines of the grid, of the demand, or beside a step within the column.
            area = shown.pixels[int(row) - 1 : int(row) + 2, int(x) - 1 : int(x) + 2].reshape(-1, 3)
            if len({tuple(pixel) for pixel in area}) == 1:
                assert tuple(area[0]) == named[name], (x, value, name)
                checked[name] += 1

        for x, text in chart["found"]:
            if x < chart["left"] + left + 2:
                continue
            values = {name: float(value) for name, value in re.findall(r"(demand|provisioned|used) ([\d.]+)", text)}
            assert set(values) == {"demand", "provisioned", "used"}, text
            if values["used"] > 0:
                expect(x, values["used"] * 0.6, "used")
            if values["provisioned"] > values["used"]:
                expect(x, values["used"] + (values["provisioned"] - values["used"]) * 0.6, "provisioned")
            if values["provisioned"] < most * 0.8:
                expect(x, (values["provisioned"] + most) * 0.48, "page")
    assert min(checked.values()) >= (10 if width == PHONE else 20), checked


def test_hover_shows_the_reason_of_a_change(page, tmp_path):
    charts, _ = browser.ask(page, tmp_path, HOVERED, DESK)
    group = data_of(page)["result"]["variants"][0]["groups"][0]
    first = group["targets"][0]
    wanted = f"{first['from']} to {first['to']} replicas: {first['reason']}"
    assert any(wanted in text for _, text in charts[0]["found"])


def test_a_tap_shows_values_and_the_next_one_beside_hides_them(page, tmp_path):
    script = """(() => {
      const tip = document.getElementById('tip'), bar = document.querySelector('.bar'), seen = [tip.hidden];
      const tap = element => { const box = element.getBoundingClientRect();
        element.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, clientX: box.left + 5, clientY: box.top + 5, pointerType: 'touch' })); };
      tap(bar); seen.push(tip.textContent, tip.hidden, tip.getBoundingClientRect().right <= innerWidth);
      tap(document.querySelector('h1')); seen.push(tip.hidden);
      tap(document.querySelector('circle')); seen.push(tip.textContent);
      return seen; })()"""
    seen, _ = browser.ask(page, tmp_path, script, PHONE)
    hours = data_of(page)["result"]["variants"][0]["groups"][0]["gpuHours"]
    assert seen[:5] == [True, f"gpu / gpu-group: {hours:.2f}", False, True, True]
    row = data_of(page)["table"]["rows"][0]["cells"]
    assert seen[5].startswith(f"1  {row[0]}: \nGPU-HOURS {row[1]}\n") and f"COST {row[-1]}" in seen[5]


def test_a_reader_selects_rows(page, tmp_path):
    script = """(() => {
      const shown = () => [...document.querySelectorAll('section')].map(one => Number(one.dataset.index)), seen = [shown()];
      const click = query => document.querySelector(query).dispatchEvent(new MouseEvent('click', { bubbles: true }));
      click('tbody tr:nth-child(1) input'); seen.push(shown());
      click('circle:nth-of-type(1)'); seen.push(shown());
      click('button:nth-of-type(2)'); seen.push(shown());
      click('button:nth-of-type(1)'); seen.push(shown());
      return [seen, [...document.querySelectorAll('tr.chosen')].length]; })()"""
    (seen, chosen), _ = browser.ask(page, tmp_path, script)
    best = [row["name"] for row in data_of(page)["result"]["variants"]].index(data_of(page)["result"]["bestTrade"])
    assert seen == [[0, 1, 2], [1, 2], [0, 1, 2], [best], [0, 1, 2]] and chosen == 3


def test_the_page_names_cost_and_market(page, tmp_path):
    heads, _ = browser.ask(page, tmp_path, "[...document.querySelectorAll('h3')].map(one => one.textContent)")
    assert heads.count("Cost by group") == 3 and heads.count("GPU-hours by group") == 3
    assert "GPUs of gpu / spot-group (spot)" in heads and "GPUs of gpu / gpu-group" in heads


def test_the_table_has_the_cells_of_the_text(page, tmp_path):
    cells, _ = browser.ask(page, tmp_path, "[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].slice(1).map(one => one.textContent))")
    made = simulate(page.parent, "--price-table", "prices.yaml", "--set", "idleTimeoutSeconds=600", "--vary", "packing=ray,cheapest", "--baseline", "ray")
    lines = made.stdout.splitlines()[1:4]
    assert [" ".join(row) for row in cells] == [" ".join(re.split(r" {2,}", line)[-len(row) :]) for line, row in zip(lines, cells)]


def test_charts_of_a_kind_have_one_scale(page, tmp_path):
    """A bar of twice the GPU-hours is twice as long, also in another row; all axes of GPUs end alike."""
    script = """[...document.querySelectorAll('i[data-value]')].map(bar => { let head = bar.closest('.bar');
      while (head.tagName !== 'H3') head = head.previousElementSibling;
      return [head.textContent, Number(bar.dataset.value), bar.getBoundingClientRect().width]; })"""
    found, _ = browser.ask(page, tmp_path, script)
    charts, _ = browser.ask(page, tmp_path, HOVERED)
    assert len({tuple(label[0] for label in chart["axis"]) for chart in charts}) == 1
    kinds = {title for title, _, _ in found}
    assert len(kinds) == 3
    for kind in kinds:
        bars: List[Tuple[float, float]] = [(width, value) for title, value, width in found if title == kind]
        longest, most = max(bars)
        assert len({value for _, value in bars}) > 1, kind
        for width, value in bars:
            assert width == pytest.approx(max(value * longest / most, 1), abs=0.6), kind


OVERFLOW = (
    "<script>for (const part of document.querySelectorAll('table, td, pre, svg, .bar, .bar > *'))"
    " if (part.scrollWidth > part.clientWidth + 1 && part.clientWidth) console.error('cut: ' + part.textContent.slice(0, 60));"
    " for (const part of document.querySelectorAll('svg text')) { const box = part.getBoundingClientRect(), svg = part.ownerSVGElement.getBoundingClientRect();"
    " if (box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 1) console.error('cut: label ' + part.textContent); }"
    " if (document.documentElement.scrollWidth > innerWidth) console.error('cut: the page');"
    " console.error('looked');</script></body>"
)


@pytest.mark.parametrize("width", [320, PHONE, 420, 599, 800, 1060, DESK, 1400])
def test_it_is_whole_at_every_width(page, tmp_path, width):
    looking = tmp_path / "looking.html"
    looking.write_text(page.read_text().replace("</body>", OVERFLOW))
    console = [line.split('"')[1] for line in browser.show(looking, tmp_path, width, 900).console]
    assert console == ["looked"]


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_labels_have_at_least_11_pixels(page, tmp_path, width):
    script = """[...document.querySelectorAll('body *')].filter(one => !['SCRIPT', 'NOSCRIPT'].includes(one.tagName) && !one.closest('noscript, details > pre') &&
      [...one.childNodes].some(part => part.nodeType === 3 && part.data.trim())).map(one => {
      const svg = one.ownerSVGElement, scale = svg ? svg.getBoundingClientRect().width / Number(svg.getAttribute('width')) : 1;
      return [parseFloat(getComputedStyle(one).fontSize) * scale, one.textContent.slice(0, 30)]; }).concat(
      [...document.querySelectorAll('td')].map(one => [parseFloat(getComputedStyle(one, '::before').fontSize), 'name of a column']))"""
    found, _ = browser.ask(page, tmp_path, script, width)
    assert len(found) > 100 and [one for one in found if one[0] < 11] == []


def test_it_prints_on_few_pages(page, tmp_path):
    """The table, and one page for each row."""
    assert 2 <= browser.print_pages(page, tmp_path) <= 6


def test_requests_and_errors_would_be_seen(page, tmp_path):
    bad, text = tmp_path / "bad.html", page.read_text()
    more = "<img src='http://127.0.0.1:9/x.png'/><script>console.error('seen')</script></body>"
    bad.write_text(re.sub(r"<meta http-equiv=.*\n", "", text).replace("</body>", more))
    shown = browser.show(bad, tmp_path, 400, 400)
    assert shown.urls == ["http://127.0.0.1:9/x.png"] and "seen" in shown.console[0]
    # With the page's own policy the browser refuses the request.
    bad.write_text(text.replace("</body>", more))
    shown = browser.show(bad, tmp_path, 400, 400)
    assert not shown.urls and any("Content Security Policy" in line for line in shown.console)
