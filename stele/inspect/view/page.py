"""A drawing as one HTML file that loads nothing: its script alone may run there, whatever the names of a model say."""
from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from stele.inspect.view.drawing import Drawing, data
from stele.train.page import POLICY, STYLE, opening


def page(drawing: Drawing) -> str:
    """The whole HTML text. Raises DataError for a drawing that no page can show."""
    found = data(drawing)
    script, style = (files("stele.inspect.view").joinpath(f"view.{kind}").read_text("utf-8") for kind in ("js", "css"))
    seal = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    return f"""{opening(f"{POLICY}; script-src 'sha256-{seal}'")}<title>{escape(found["title"])}</title>
<style>{STYLE}{style}</style>
</head>
<body>
<header><h1>{escape(found["title"])}</h1>
<form role="search"><input type="search" placeholder="Search layers, ops, weights" aria-label="Search"
 autocomplete="off">
<ol class="found" hidden></ol></form></header>
<noscript><p class="message">This drawing is made by the script of its own page, which does not run here.</p></noscript>
<div class="stage">
<svg class="drawing" tabindex="0" role="application" aria-label="The model; arrow keys move it, + and - zoom"></svg>
<nav class="tools" aria-label="View"><button data-do="in" title="Zoom in (+)">+</button><button data-do="out"
 title="Zoom out (-)">&minus;</button><button data-do="fit" title="All of it (0)">Fit</button><button data-do="unfold"
 title="Unfold all layers">Unfold</button><button data-do="fold" title="Fold all layers">Fold</button></nav>
<aside class="details" aria-live="polite"></aside>
</div>
<script type="application/json" id="model">{plain(found)}</script>
<script>
{script}</script>
</body>
</html>
"""


def plain(x: Any) -> str:
    """JSON in which nothing can be taken for markup."""
    return json.dumps(x, separators=(",", ":")).replace("<", "\\u003c")
