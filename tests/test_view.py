"""`stele view`: models as pages, tried in a browser where there is one."""
from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser

from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.errors import DataError
from stele.inspect.view.drawing import LONGEST, MOST, Drawing, Node, Weight, data
from stele.inspect.view.page import page

onnx = pytest.importorskip("onnx", reason="pip install 'stele-dl[onnx]'")
helper, T = onnx.helper, onnx.TensorProto
HOSTILE = "</script><img src=x onerror='document.title=1'><!--"


def written(path: Path, nodes: list[Any], weights: Sequence[Any] = (), outputs: str = "y", **more: Any) -> Path:
    """A model from x of float32[n, 4]."""
    x, y = (helper.make_tensor_value_info(name, T.FLOAT, ["n", 4]) for name in ("x", outputs))
    graph = helper.make_graph(nodes, "g", [x], [y], [*weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], **more), path)
    return path


def blocks(path: Path, count: int, name: str = "stage{}/block{}/") -> Path:
    """A model of so many blocks of four nodes, fifty to a stage."""
    nodes, weights, last = list[Any](), list[Any](), "x"
    for k in range(count):
        at = name.format(k // 50, k)
        weights.append(onnx.numpy_helper.from_array(np.zeros((4, 4), "f4"), f"w{k}"))
        nodes += [helper.make_node("MatMul", [last, f"w{k}"], [f"a{k}"], name=f"{at}fc"),
                  helper.make_node("Relu", [f"a{k}"], [f"b{k}"], name=f"{at}relu"),
                  helper.make_node("Tanh", [f"a{k}"], [f"c{k}"], name=f"{at}tanh"),
                  helper.make_node("Sum", [f"b{k}", f"c{k}", last], [f"d{k}"], name=f"{at}sum")]
        last = f"d{k}"
    return written(path, nodes, weights, last)


def drawn(path: Path) -> Path:
    """The page of a model, by the command."""
    assert run(["view", str(path), "--out", f"{path}.html"], COMMANDS) == 0
    return Path(f"{path}.html")


def held(path: Path) -> dict[str, Any]:
    """What a page is made of."""
    found = re.search(r'<script type="application/json" id="model">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def boxes(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The boxes of a page by path."""
    paths: list[str] = []
    for b in found["boxes"]:
        paths.append((f"{paths[b['up']]}/" if b["up"] >= 0 else "") + b["name"])
    return dict(zip(paths, found["boxes"]))


def test_nodes_lie_in_layers_with_types_and_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = held(drawn(blocks(tmp_path / "m.onnx", 60)))
    assert "242 nodes drawn in" in capsys.readouterr().out
    at = boxes(found)
    assert at["stage1/block51/fc"]["out"] == [["a51", "float32[n, 4]"]] and "kind" not in at["stage1/block51"]
    assert at["stage1/block51/fc"]["weights"] == [["w51", "float32[4, 4]", 16, 64]]
    assert ("weights", "960 numbers, 3.8 kB") in map(tuple, found["facts"])
    names = list(at)
    taken = [[names[a], name] for a, b, name, _ in found["edges"] if names[b] == "stage1/block51/sum"]
    assert taken == [["stage1/block51/relu", "b51"], ["stage1/block51/tanh", "c51"], ["stage1/block50/sum", "d50"]]


def test_names_of_weights_say_layers_where_nodes_have_none(tmp_path: Path) -> None:
    weights = [onnx.numpy_helper.from_array(np.zeros((4, 4), "f4"), f"net.{k}.fc.weight") for k in range(2)]
    nodes = [helper.make_node("MatMul", ["x", "net.0.fc.weight"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MatMul", ["b", "net.1.fc.weight"], ["c"]), helper.make_node("Relu", ["c"], ["y"])]
    at = boxes(held(drawn(written(tmp_path / "m.onnx", nodes, weights))))
    assert [at[path]["kind"] for path in ("net/0/fc", "net/b", "net/1/fc")] == ["MatMul", "Relu", "MatMul"]


def test_branches_are_drawn_inside_of_their_node(tmp_path: Path) -> None:
    inner = [helper.make_graph([helper.make_node(op, ["x"], ["z"])], op, [], [
        helper.make_tensor_value_info("z", T.FLOAT, ["n", 4])]) for op in ("Relu", "Tanh")]
    constant = helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.array(True)))
    node = helper.make_node("If", ["c"], ["y"], name="pick", then_branch=inner[0], else_branch=inner[1])
    found = held(drawn(written(tmp_path / "m.onnx", [constant, node])))
    at = boxes(found)
    kinds = {path: b["kind"] for path, b in at.items() if "kind" in b}
    assert kinds == {"x": "Input", "pick/then_branch": "Relu", "pick/else_branch": "Tanh", "pick/pick": "If",
                     "y": "Output"}
    assert at["pick/pick"]["weights"] == [["True", "bool[]", 1, 1]] and len(found["edges"]) == 5


def test_a_page_is_one_file_whose_names_are_text_alone(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name=HOSTILE, doc_string=HOSTILE)
    weight = onnx.numpy_helper.from_array(np.zeros((4,), "f4"), HOSTILE)
    path = written(tmp_path / f"{HOSTILE.replace('/', '')}.onnx",
                   [helper.make_node("Add", ["x", HOSTILE], ["a"]), node], [weight])
    text = drawn(path).read_text()
    assert text.count("<script") == 2 and text.count("</script>") == 2 and "<img" not in text and "onerror" in text
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "") and "https:" not in text
    assert "default-src 'none'" in text and "script-src 'sha256-" in text


def test_texts_are_bounded_and_of_letters_that_a_file_can_hold() -> None:
    node = Node("\udcff" + "n" * 5000, "Op", ("a",) * 90, (), ("v",), (Weight("w" * 5000, "t"),))
    drawing = Drawing("t", (), (node,), {"v": "v" * 5000})
    assert len(page(drawing).encode()) < 40_000 and max(map(len, json.dumps(data(drawing)).split('"'))) < LONGEST + 600
    many = Drawing("t", (), tuple(Node(str(k), "Op", (), (), ()) for k in range(MOST + 1)), {})
    with pytest.raises(DataError, match="is more than a page shows"):
        page(many)


def test_what_is_no_model_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.onnx").write_bytes(b"nothing")
    (tmp_path / "m.txt").write_bytes(b"nothing")
    for name, said in (("m.onnx", "m.onnx is no ONNX model"), ("m.txt", "no model that is known by its name"),
                       ("none.onnx", "a model needs to be an existing file or folder, got nothing at")):
        assert run(["view", str(tmp_path / name)], COMMANDS) == 2
        assert said in capsys.readouterr().err
    (tmp_path / "link.html").symlink_to(tmp_path / "m.onnx")
    assert run(["view", str(tmp_path / "m.onnx"), "--out", str(tmp_path / "link.html")], COMMANDS) == 2
    assert "--out needs a file of its own" in capsys.readouterr().err
    assert (tmp_path / "m.onnx").read_bytes() == b"nothing"


BOX = "[...svg.querySelectorAll('.box')].find(b => b.getAttribute('aria-label') === {!r})"


def press(browser: Browser, label: str) -> None:
    """A click on the box that is called so."""
    x, y = browser.run(f"(b => [b.x + 30, b.y + 12])({BOX.format(label)}.getBoundingClientRect())")
    browser.click(x, y)


def shown(browser: Browser) -> set[str]:
    """The boxes that are drawn."""
    return set(browser.run("[...svg.querySelectorAll('.box')].map(b => b.getAttribute('aria-label'))"))


@pytest.mark.parametrize("width", [1280, 380])
def test_sizes_stand_in_boxes_in_full(tmp_path: Path, width: int) -> None:
    """Beside long shapes too; texts end within their boxes."""
    shape = "images", 1000, 7, 7
    x, y = (helper.make_tensor_value_info(name, T.FLOAT, shape) for name in "xy")
    weight = onnx.numpy_helper.from_array(np.zeros((1000, 1000, 1, 1), "f4"), "w")
    nodes = [helper.make_node(op, given, [result], name=f"a/{op}")
             for op, given, result in (("Conv", ["x", "w"], "c"), ("Relu", ["c"], "y"))]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    with Browser(width) as browser:
        browser.open(drawn(tmp_path / "m.onnx"))
        assert {"2 nodes · 4.0 MB"} <= set(texts(browser))
        browser.press("[data-do=unfold]")
        browser.run("zoom(1 / view.k)")
        browser.frame()
        assert {"float32[images, 1000, 7, 7]", "4.0 MB"} <= set(texts(browser))
        assert browser.run("""[...svg.querySelectorAll('.box')].every(b => {
            const box = b.querySelector('rect').getBBox();
            const texts = [...b.querySelectorAll('text')].map(t => t.getBBox());
            return texts.every(t => t.x + t.width <= box.width && t.y + t.height <= box.height); })""")


def texts(browser: Browser) -> list[str]:
    """What stands in the boxes that are drawn."""
    return browser.run("[...svg.querySelectorAll('.box text')].map(t => t.textContent)")


def test_layers_unfold_in_a_browser(tmp_path: Path) -> None:
    path = drawn(blocks(tmp_path / "m.onnx", 60))
    with Browser() as browser:
        browser.open(path)
        assert shown(browser) == {"Input x", "layer stage0, folded", "layer stage1, folded", "Output d59"}
        press(browser, "layer stage1, folded")
        assert {"layer stage1, open", "layer block50, folded"} <= shown(browser)
        assert "40 nodes" in browser.run("details.textContent").replace("nodes40", "40 nodes")
        press(browser, "layer block50, folded")
        assert {"MatMul fc", "Relu relu", "Sum sum"} <= shown(browser)
        press(browser, "MatMul fc")
        said = browser.run("details.textContent")
        assert "float32[4, 4]" in said and "Takes" in said and "Sum sum" in said and "stage1 / block50" in said
        press(browser, "layer stage1, open")
        assert shown(browser) == {"Input x", "layer stage0, folded", "layer stage1, folded", "Output d59"}
        assert browser.complaints() == [] and browser.requests() == []


def test_search_finds_and_unfolds(tmp_path: Path) -> None:
    path = drawn(blocks(tmp_path / "m.onnx", 60))
    with Browser() as browser:
        browser.open(path)
        browser.press("input")
        browser.type("block57 tanh")
        assert browser.run("found.textContent") == "nothing has this name"
        for path_of_it in ("stage1/block57/tanh", "/Stage1/block57 tanh", "stage1.block57.tanh"):
            browser.run("search.value = ''")
            browser.type(path_of_it)
            assert browser.run("found.textContent") == "Tanh tanhstage1 / block57"
        browser.run("search.value = ''")
        browser.type("w57")
        assert browser.run("found.querySelector('button').textContent") == "MatMul fcstage1 / block57"
        browser.press(".found button")
        assert "MatMul fc" in shown(browser) and browser.run("chosen.weights[0][0]") == "w57"
        left, top, right, bottom = browser.run("(b => [b.left, b.top, b.right, b.bottom])"
                                               "(svg.querySelector('.chosen.box').getBoundingClientRect())")
        assert 0 < left < right < 1200 and 0 < top < bottom < 800


def test_the_drawing_moves_and_grows(tmp_path: Path) -> None:
    path = drawn(blocks(tmp_path / "m.onnx", 60))
    with Browser() as browser:
        browser.open(path)
        before = browser.run("[view.x, view.y, view.k]")
        for kind, x, y in (("mousePressed", 60, 300), ("mouseMoved", 160, 350), ("mouseReleased", 160, 350)):
            browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        assert browser.run("[view.x, view.y]") == [before[0] + 100, before[1] + 50]
        browser.press("[data-do=in]")
        assert browser.run("view.k") == pytest.approx(1.25 * before[2])
        browser.ask("Input.dispatchMouseEvent", type="mouseWheel", x=400, y=400, deltaX=0, deltaY=200)
        browser.frame()
        assert browser.run("view.k") < 1.25 * before[2]
        browser.press("[data-do=fit]")
        assert browser.run("[view.x, view.y, view.k]") == before


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["stage{}/block{}/", "{}_{}_"])
def test_two_thousand_nodes_on_a_narrow_page(tmp_path: Path, name: str, dark: bool) -> None:
    """What is drawn is what can be seen: never all boxes at a size at which they are read."""
    path = drawn(blocks(tmp_path / "m.onnx", 500, name))
    with Browser(380, 760, dark) as browser:
        browser.open(path)
        browser.press("[data-do=unfold]")
        assert browser.run("visible.length") >= 2000 and browser.run("svg.querySelectorAll('.box').length") < 120
        assert browser.run("document.documentElement.scrollWidth") <= 380
        boxes = browser.run("visible.filter(b => !b.inside).map(b => [b.left, b.top, b.left + b.w, b.top + b.h])")
        assert not overlaps(boxes)
        seen = browser.run("[...document.querySelectorAll('input, button')].filter(b => b.offsetParent)"
                           ".map(b => b.getBoundingClientRect()).map(b => [b.left, b.right])")
        assert all(0 <= left < right <= 380 for left, right in seen)
        ink, paper = browser.run("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))"
                                 ".map(c => c.match(/\\d+/g).slice(0, 3).reduce((s, x) => s + Number(x), 0))")
        assert (ink - paper > 400) if dark else (paper - ink > 400)


def overlaps(found: list[list[float]]) -> list[tuple[list[float], list[float]]]:
    """Boxes that lie over each other."""
    rows = sorted(found, key=lambda b: b[1])
    return [(a, b) for k, a in enumerate(rows) for b in rows[k + 1:k + 60]
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]


def test_hostile_names_run_nothing_in_a_browser(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.zeros((4,), "f4"), HOSTILE)
    nodes = [helper.make_node("Add", ["x", HOSTILE], ["a"], name=HOSTILE),
             helper.make_node("Relu", ["a"], ["y"], name="__proto__/constructor")]
    path = drawn(written(tmp_path / "m.onnx", nodes, [weight]))
    with Browser() as browser:
        browser.open(path)
        browser.press("[data-do=unfold]")
        browser.press("input")
        browser.type("img")
        browser.press(".found button")
        assert HOSTILE.split("/")[-1] in browser.run("details.textContent")
        assert browser.run("document.title") == "m.onnx" and browser.run("document.images.length") == 0
        assert browser.complaints() == [] and browser.requests() == []


@pytest.mark.parametrize("width", [1280, 380])
def test_a_page_opens_where_it_can_be_read(tmp_path: Path, width: int) -> None:
    """Long models from their beginning: what is fitted into a window may be too small for words."""
    nodes = [helper.make_node("Relu", [f"v{k}" if k else "x"], [f"v{k + 1}"], name=f"r{k}") for k in range(60)]
    path = drawn(written(tmp_path / "m.onnx", nodes, outputs="v60"))
    with Browser(width) as browser:
        browser.open(path)
        browser.frame()
        assert "Input  x" in texts(browser) and "Relu  r1" in texts(browser)
        browser.press("[data-do=fit]")
        browser.frame()
        assert browser.run("view.k < READABLE && root.h * view.k <= svg.getBoundingClientRect().height")
