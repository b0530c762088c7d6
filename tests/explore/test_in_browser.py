"""The page in a real browser: every control is moved, and every number it shows is that of the package."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ordinate.alibi_slopes import alibi_slopes
from ordinate.explore import PRESETS, facts, page_html
from ordinate.frequencies import (
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    Proportional,
    SteppedNTK,
    YaRN,
    inverse_frequencies,
)
from ordinate.inspection import inspect_config
from ordinate.logic import Circuit
from ordinate.position import MultimodalRotary, Sinusoidal, T5Bias, indices
from ordinate.reservoir import Connectome, laterality
from tests.external import CASES

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the PATH")
selenium = pytest.importorskip("selenium", reason="needs selenium")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(BROWSER)
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    options.add_argument("--window-size=1200,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = Chrome(options=options, service=Service(str(DRIVER)))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "explore.html"
    path.write_text(page_html(), encoding="utf-8")
    return path


@pytest.fixture
def page(driver: Any, written: Path) -> Any:
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(written.as_uri())
    yield driver
    assert [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


MOVE = """
const [id, at] = arguments, input = document.getElementById(id);
if (input.type === 'range') input.value = Number(input.min) + at * (Number(input.max) - Number(input.min));
else if (input.type === 'checkbox') input.checked = at > 0.5;
else input.selectedIndex = Math.round(at * (input.options.length - 1));
input.dispatchEvent(new Event('input', {bubbles: true}));
return JSON.stringify(window.explore.state);
"""


def move(page: Any, control: str, share: float) -> dict[str, Any]:
    """Move a control to a share of its range; returns the state of the page."""
    result: dict[str, Any] = json.loads(page.execute_script(MOVE, control, share))
    return result


def shown(page: Any, panel: str) -> Any:
    return json.loads(page.execute_script("return JSON.stringify(window.explore.values(arguments[0]))", panel))


def controls(page: Any, panel: str) -> list[str]:
    everything = page.execute_script("return window.explore.controls")
    return [one["id"] for one in everything if one["panel"] == panel]


def close(value: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(value, float), np.asarray(expected, float), rtol=1e-6, atol=1e-9)


def scaling(page: Any, state: dict[str, Any]) -> Any:
    s = json.loads(page.execute_script("return JSON.stringify(window.explore.settings())"))
    original, factor = s["original_context"], s["factor"]
    return {
        "none": lambda: None,
        "linear": lambda: Linear(factor),
        "ntk": lambda: NTKAware(factor),
        "dynamic": lambda: DynamicNTK(factor, original),
        "stepped-ntk": lambda: SteppedNTK(original),
        "yarn": lambda: YaRN(factor, original, s["beta_fast"], s["beta_slow"], s["truncate"]),
        "llama3": lambda: Llama3(factor, s["low_freq_factor"], s["high_freq_factor"], original),
        "longrope": lambda: LongRoPE(s["short_factor"], s["long_factor"], original, s["claimed_context"]),
        "proportional": lambda: Proportional(s["fraction"]),
    }[state["rule"]]()


def check_frequencies(page: Any, state: dict[str, Any]) -> None:
    values, rule = shown(page, "frequencies"), scaling(page, state)
    close(values["before"], inverse_frequencies(state["rotary"], state["base"]))
    after = inverse_frequencies(state["rotary"], state["base"], rule, state["length"])
    close(values["after"], after)
    close(values["factor"], 1.0 if rule is None else rule.cos_sin_factor)
    assert values["incomplete_after"] == sum(frequency * state["original"] < 2 * math.pi for frequency in after)
    if isinstance(rule, YaRN):
        close(values["ramp"], rule.ramp(state["rotary"], state["base"]))


def check_turning(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "turning")
    frequency = inverse_frequencies(state["rotary"], state["base"], scaling(page, state), state["length"])[
        min(state["pair"], state["rotary"] // 2 - 1)
    ]
    close(values["frequency"], frequency)
    close(values["product"], math.cos((state["query_at"] - state["key_at"]) * frequency))


def check_distance(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "distance")
    inv_freq = torch.tensor(
        inverse_frequencies(state["rotary"], state["base"], scaling(page, state), state["length"]), dtype=torch.float64
    )
    distances = torch.tensor(values["distances"], dtype=torch.float64)
    similarity = (distances[:, None] * inv_freq).cos().mean(-1)
    close(values["similarity"], similarity)
    close(values["rope"], (state["sharpness"] * similarity).softmax(0))
    slope = alibi_slopes(state["heads"])[min(state["slope_head"], state["heads"]) - 1]
    close(values["slope"], slope)
    close(values["alibi"], (-slope * distances).softmax(0))


def check_biases(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "biases")
    close(values["slopes"], alibi_slopes(state["bias_heads"]))
    bias = T5Bias(1, num_buckets=state["buckets"], max_distance=state["most"], bidirectional=state["both"])
    assert values["buckets"] == bias.buckets(torch.tensor(values["distances"])).tolist()


def check_sinusoids(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "sinusoids")
    vectors = Sinusoidal(state["sin_dim"], base=float(state["sin_base"])).double().encode(torch.arange(121))
    np.testing.assert_allclose(values["rows"], vectors[:100], atol=1e-6)
    pairs = state["sin_dim"] / 2
    np.testing.assert_allclose(values["at_20"], vectors[20] @ vectors[20 + state["shift"]] / pairs, atol=1e-6)
    np.testing.assert_allclose(values["at_0"], vectors[0] @ vectors[state["shift"]] / pairs, atol=1e-6)
    np.testing.assert_allclose(values["by_distance"], vectors[:100] @ vectors[0] / pairs, atol=1e-6)


def check_axes(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "axes")
    sections = (state["pairs_time"], state["pairs_height"], state["pairs_width"])
    arrangement: Any = "interleaved" if state["interleaved"] else "contiguous"
    try:
        rotary = MultimodalRotary(2 * sum(sections), layout="half", sections=sections, arrangement=arrangement)
        assert values["fits"]
        inv_freq = np.array(inverse_frequencies(2 * sum(sections)))
        for axis in range(3):
            positions = torch.zeros(1, 3, dtype=torch.long)
            positions[0, axis] = 1
            cos, _ = rotary.tables(positions)
            mine = np.array(values["owners"]) == axis
            np.testing.assert_allclose(cos[0, : len(inv_freq)], np.where(mine, np.cos(inv_freq), 1), atol=1e-6)
    except ValueError:
        assert not values["fits"]
    grid = (1, state["grid_height"], state["grid_width"])
    parts = [state["before"], grid, state["after"]]
    assert values["positions"] == indices.multimodal(parts).tolist()


def check_memory(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "memory")
    chosen = int(page.execute_script("return document.getElementById('model').value"))
    inspection = inspect_config(list(PRESETS.values())[chosen])
    assert inspection.cache is not None
    own = inspection.cache.bytes_per_value.value
    size = {"f32": 4, "f16": 2, "q8_0": 34 / 32, "q4_0": 18 / 32}.get(state["cache_type"], own)
    close(values["bytes"], state["sequences"] * inspection.cache.bytes_at(state["context"]) * size / own)


def check_circuit(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "circuit")
    stored = json.loads(page.execute_script("return document.getElementById('data').textContent"))["circuit"]
    gates = (stored["tables"], stored["a"], stored["b"], stored["votes"])
    circuit = Circuit(stored["num_inputs"], *gates, bias=stored["bias"], labels=stored["labels"])
    bits = np.array([state["bits"]], bool)
    close(values["scores"], circuit.evaluate(bits)[0] * circuit.tau)
    assert values["answer"] == circuit.predict(bits)[0]
    signals = circuit.signals(bits)[0].astype(int).tolist()
    assert values["signals"] == signals
    drawn = page.execute_script(
        "return [...document.querySelectorAll('.wiring circle')].map((e) => +e.classList.contains('on'))"
    )
    assert drawn == signals
    answer = page.find_elements("css selector", ".wiring text.answer")
    assert [one.text for one in answer] == [str(circuit.predict(bits)[0])]


def check_reservoir(page: Any, state: dict[str, Any]) -> None:
    values = shown(page, "reservoir")
    result = laterality(
        Connectome.synthetic(),
        state["stimulus"],
        "descending",
        steps=state["steps"],
        gain=state["gain"],
        leak_rate=state["leak"],
        amplitude=state["amplitude"],
        sustained=state["sustained"],
    )
    np.testing.assert_allclose(values["table"], result.table, rtol=2e-5, atol=1e-6)  # the package runs in float32
    assert values["index"] == pytest.approx(result.index, abs=2e-5)


CHECKS = {
    "frequencies": check_frequencies,
    "turning": check_turning,
    "distance": check_distance,
    "biases": check_biases,
    "sinusoids": check_sinusoids,
    "axes": check_axes,
    "memory": check_memory,
    "circuit": check_circuit,
    "reservoir": check_reservoir,
}


@pytest.mark.parametrize("panel", CHECKS)
def test_every_control_gives_the_numbers_of_the_package(page: Any, panel: str) -> None:
    names = controls(page, panel)
    assert names
    CHECKS[panel](page, json.loads(page.execute_script("return JSON.stringify(window.explore.state)")))
    for name in names:
        if name == "running":
            continue  # that one moves by itself, see below
        for share in (0.3, 1.0, 0.0, 0.6):
            try:
                CHECKS[panel](page, move(page, name, share))
            except Exception as error:
                if "no activity at all" in str(error):
                    assert shown(page, panel)["index"] is None
                    continue
                raise AssertionError(f"{name} at {share}") from error


@pytest.mark.parametrize("number", range(9))
def test_every_scaling_with_every_slider(page: Any, number: int) -> None:
    move(page, "rule", number / 8)
    for name in ("factor", "original", "length", "beta_fast", "low_freq", "fraction", "rotary"):
        for share in (0.25, 0.75):
            check_frequencies(page, move(page, name, share))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_gives_its_own_frequencies_and_memory(page: Any, name: str) -> None:
    number = list(PRESETS).index(name)
    move(page, "model", number / max(1, len(PRESETS) - 1))
    inspection = inspect_config(PRESETS[name])
    stored = page.execute_script("return window.explore.models")[number]
    assert stored == facts(inspection, name)
    turn = next((layer.rotation for layer in inspection.layers if layer.rotation is not None), None)
    if turn is not None:
        close(shown(page, "frequencies")["after"], turn.inverse_frequencies(inspection.contexts.claimed.value))
    check_memory(page, json.loads(page.execute_script("return JSON.stringify(window.explore.state)")))


def test_a_dropped_config_is_read_as_the_package_reads_it(page: Any, tmp_path: Path) -> None:
    for name, config in PRESETS.items():
        if name.startswith(("BLOOM", "GPT-J")):
            continue  # these leave to the family's code what only `ordinate inspect` knows
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config))
        page.find_element("id", "file").send_keys(str(path))
        page.execute_async_script("const done = arguments[0]; setTimeout(done, 150)")
        assert page.find_element("id", "message").text == "config.json is read."
        read, known = page.execute_script("return window.explore.models")[0], facts(inspect_config(config))
        assert (read["claimed"], read["cache"]) == (known["claimed"], known["cache"]), name
        page.execute_script("document.getElementById('file').value = ''; document.getElementById('message').textContent = ''")


DROP = """
const [name, text] = arguments, transfer = new DataTransfer();
transfer.items.add(new File([text], name));
for (const kind of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
"""  # noqa: E501 (a script of the page)


@pytest.mark.parametrize("name", ["Qwen3-8B", "Meta-Llama-3.1-8B"])
def test_a_whole_config_is_dropped_on_the_page(page: Any, name: str) -> None:
    path = CASES / "configs" / f"{name}.json"
    page.execute_script(DROP, path.name, path.read_text(encoding="utf-8"))
    page.execute_async_script("const done = arguments[0]; setTimeout(done, 150)")
    assert page.find_element("id", "message").text == f"{path.name} is read."
    known = inspect_config(path)
    read = page.execute_script("return window.explore.models")[0]
    assert (read["claimed"], read["cache"]) == (known.contexts.claimed.value, facts(known)["cache"])
    turn = next(layer.rotation for layer in known.layers if layer.rotation is not None)
    close(shown(page, "frequencies")["after"], turn.inverse_frequencies(known.contexts.claimed.value))


def test_a_gguf_header_is_read_as_the_package_reads_it(page: Any, tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(32)
    writer.add_embedding_length(4096)
    writer.add_head_count(32)
    writer.add_head_count_kv(8)
    writer.add_context_length(131072)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(128)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    page.find_element("id", "file").send_keys(str(path))
    page.execute_async_script("const done = arguments[0]; setTimeout(done, 150)")
    assert page.find_element("id", "message").text == "model.gguf is read."
    close(shown(page, "frequencies")["after"], inverse_frequencies(128, 500000.0))
    assert shown(page, "memory")["bytes"] == 17179869184  # 16 GiB, as published


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"hidden_size": 8}', '{"num_attention_heads": "<img src=x onerror=alert(1)>"}']
)
def test_a_file_that_cannot_be_read_says_so_and_changes_nothing(page: Any, tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    page.find_element("id", "file").send_keys(str(path))
    page.execute_async_script("const done = arguments[0]; setTimeout(done, 150)")
    assert page.find_element("id", "message").text.startswith("config.json cannot be read: ")
    assert len(page.execute_script("return window.explore.models")) == len(PRESETS)


def test_nothing_is_fetched(page: Any) -> None:
    requests = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == []


def test_the_keyboard_alone_draws_a_digit_and_moves_a_slider(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    page.execute_script("document.querySelector('[data-pixel=\"0\"]').focus()")
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    before = page.execute_script("return window.explore.state.bits[9]")
    page.switch_to.active_element.send_keys(Keys.SPACE)
    assert page.execute_script("return window.explore.state.bits[9]") == 1 - before
    slider = page.find_element("id", "factor")
    start = page.execute_script("return window.explore.state.factor")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert page.execute_script("return window.explore.state.factor") == start + 0.5
    reachable = page.execute_script(
        "return [...document.querySelectorAll('main input, main select')].every((e) => e.tabIndex === 0)"
    )
    assert reachable


CUT_OR_SMALL = """return [...document.querySelectorAll("svg text")].filter((text) => {
    const own = text.getBoundingClientRect(), svg = text.ownerSVGElement, box = svg.getBoundingClientRect();
    const pixels = parseFloat(getComputedStyle(text).fontSize) * box.width / svg.viewBox.baseVal.width;
    return own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 || pixels < 10;
}).map((text) => text.textContent)"""
"""The letters of drawings that are cut off, or smaller than ten pixels."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_a_telephone_in_light_and_dark_with_contrast(page: Any, width: int, scheme: str) -> None:
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    )
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        ink, paper = page.execute_script("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]")
        assert contrast(ink, paper) > 7
        page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")  # drawn for that width
        assert page.execute_script(CUT_OR_SMALL) == []
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def contrast(one: str, two: str) -> float:
    """The ratio of WCAG 2.1."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_motion_stops_where_it_is_not_wanted(page: Any) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]})
    try:
        assert move(page, "running", 1.0)["running"] is False
        assert "switched off" in page.find_element("id", "message").text
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.refresh()
    start = move(page, "running", 1.0)["query_at"]
    page.execute_async_script("const done = arguments[0]; setTimeout(done, 400)")
    assert page.execute_script("return window.explore.state.query_at") != start
