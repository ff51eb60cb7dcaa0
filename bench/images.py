"""Screenshots of our own documentation: images with much background, and how long their planes take to load.

    python bench/images.py FOLDER [--browser COMMAND] [--small FILE]

Five pages of Markdown become HTML, white on black, and a headless browser (chromium) takes two pictures of each: one as
on a display with one pixel for each of CSS, one, named `@2x`, as on a display with two by two. Each image has at least
90 % background, which is checked. Then the red, green and blue planes are loaded in the formats of
examples/histogram.ws and examples/structured_add.ws, and dense, and saved as PPM and loaded again. `--small` makes the
image in examples/data instead. Seconds of the processor are printed, and kept in bench/results/images.jsonl.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from markdown_it import MarkdownIt
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from wingspan import Tensor  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PAGES = (
    ("README.md", 1280, 1024),
    ("docs/rules.md", 1600, 1800),
    ("docs/language.md", 1920, 2400),
    ("docs/levels.md", 2560, 3000),
    ("docs/command-line.md", 3200, 3600),
)
"""A page, and the width and height of its picture in pixels of CSS."""
SCALES = {1: "", 2: "@2x"}
"""Pixels of a display in a pixel of CSS, in each direction, and what is added to the name of a picture."""
SMALL = ("README.md", 320, 200)
BACKGROUND = 0.9
"""The least part of an image that has one colour."""
STYLE = """
html { background: #000; color: #ccc; font: 13px/1.9 sans-serif; }
body { width: 45em; margin: 3em 4em; }
pre, code { font: 12px/1.7 monospace; color: #8c8; }
a { color: #69c; } table { border-spacing: 1.4em .5em; } h1, h2, h3 { color: #fff; font-weight: 500; }
"""
FORMS = {
    1: ("RunList(Element(0))", "SparseRunList(Element(0))", "Dense(Element(0))"),
    2: ("Dense(RunList(Element(0)))", "Dense(SparseRunList(Element(0)))", "Dense(Dense(Element(0)))"),
}
"""The formats of histogram.ws (1) and structured_add.ws (2), by the number of axes."""


def picture(browser: str, page: str, width: int, height: int, target: Path, scale: int = 1) -> None:
    """Write a picture of a page of Markdown, with `scale` times as many pixels as CSS has in each direction."""
    text = MarkdownIt("commonmark").enable("table").render((ROOT / page).read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        html, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        html.write_text(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{text}", "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/user"]
        options.append(f"--force-device-scale-factor={scale}")
        subprocess.run(
            [browser, *options, f"--window-size={width},{height}", f"--screenshot={shot}", html.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        Image.open(shot).convert("RGB").save(target, optimize=True)


def background(path: Path) -> float:
    """The part of an image that has its most frequent colour."""
    pixels = np.asarray(Image.open(path)).astype(np.int32)
    counts = np.unique(pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2], return_counts=True)[1]
    return float(counts.max() / counts.sum())


def loaded(path: Path) -> list[dict[str, object]]:
    """Load times of an image's planes in each format, and their sizes."""
    made = []
    for rank, forms in FORMS.items():
        for form in forms:
            began = time.process_time()
            planes = [Tensor.from_file(form, f"{path}:{plane}") for plane in ("red", "green", "blue")]
            seconds = time.process_time() - began
            size = sum(sum(level["buffers"].values()) for plane in planes for level in plane.sizes())
            made.append({"file": path.name, "axes": rank, "form": form, "load_s": seconds, "bytes": size})
            print(f"  {seconds:6.2f} s  {size:>12,} bytes  {form}", flush=True)
    return made


def main() -> None:
    """Make the pictures, and load them."""
    parser = records.options(__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--browser", default=next(filter(shutil.which, BROWSERS), None))
    parser.add_argument("--small", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.browser is None:
        raise SystemExit("there is no browser: install chromium, or name one by --browser")
    if options.small is not None:
        picture(options.browser, *SMALL, options.small)
        return
    if options.folder is None:
        parser.error("name a folder")
    options.folder.mkdir(parents=True, exist_ok=True)
    measured = []
    for (page, width, height), (scale, suffix) in itertools.product(PAGES, SCALES.items()):
        path = options.folder / f"{Path(page).stem}{suffix}.png"
        picture(options.browser, page, width, height, path, scale)
        share = background(path)
        print(f"{path}: {width * scale}×{height * scale}, {share:.1%} background", flush=True)
        if share < BACKGROUND:
            raise SystemExit(f"{path} has less than {BACKGROUND:.0%} background")
        measured += loaded(path)
        plain = path.with_suffix(".ppm")
        Image.open(path).save(plain)
        measured += loaded(plain)
    records.append("images", {"records": measured})


if __name__ == "__main__":
    main()
