"use strict";
// Boxes in layers: each open layer is laid out by itself, from the inside out, and drawn where it can be seen.

const { boxes, edges, facts } = JSON.parse(document.getElementById("model").textContent);
const svg = document.querySelector("svg.drawing"), details = document.querySelector(".details");
const GAP = 18, RANK = 34, PAD = 14, TITLE = 30, LETTER = 7.9, SOFT = 6.8, WIDEST = 260, FAR = 24, SMALL = 0.42, READABLE = 0.8;

const root = { name: "", open: true, inside: [], up: null, depth: 0, id: -1 };
boxes.forEach((b, id) => {
  b.id = id; b.up = b.up < 0 ? root : boxes[b.up]; b.depth = b.up.depth + 1; b.up.inside.push(b);
  if (b.kind === undefined) { b.inside = []; b.open = false; }
  b.from = []; b.to = [];
});
for (const [a, b, name, type] of edges) {
  boxes[a].to.push({ box: boxes[b], name, type }); boxes[b].from.push({ box: boxes[a], name, type });
}
for (const b of [...boxes].reverse()) {           // what a layer holds: those inside come behind it
  b.count ??= 0; b.bytes ??= 0; b.numbers ??= 0;
  for (const [, , count, bytes] of b.weights ?? []) { b.numbers += count; b.bytes += bytes; }
  if (!b.inside) b.count = 1;
  b.first ??= Infinity; b.inside?.sort((a, c) => a.first - c.first);
  b.up.first = Math.min(b.up.first ?? Infinity, b.first);
  for (const key of ["count", "bytes", "numbers"]) b.up[key] = (b.up[key] ?? 0) + b[key];
}
root.inside.sort((a, b) => a.first - b.first);

function inWords(bytes) {
  const unit = ["B", "kB", "MB", "GB"].find((_, k) => bytes < 1000 ** (k + 1)) ?? "GB";
  const x = bytes / 1000 ** ["B", "kB", "MB", "GB"].indexOf(unit);
  return `${unit === "B" || x >= 100 ? x.toFixed(0) : x.toFixed(1)} ${unit}`;
}
const shorter = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

function lines(b) {                               // a name, and below it what a box gives and how large its weights are
  const most = letter => Math.floor((WIDEST - 2 * PAD) / letter), held = b.bytes ? inWords(b.bytes) : "";
  const name = b.inside ? `▸ ${b.name}` : b.name === b.kind ? b.kind : `${b.kind}  ${b.name}`;
  const type = b.inside ? `${b.count} nodes` : (b.out[0]?.[1] ?? b.from[0]?.type) || "";
  const facts = [type, held].filter(Boolean), row = facts.join(" · ");
  return [shorter(name, most(LETTER)), ...(row.length > most(SOFT) ? facts : [row]).filter(Boolean)
    .map(t => shorter(t, most(SOFT)))];
}

const shown = b => { let at = b; for (let up = b.up; up !== root; up = up.up) if (!up.open) at = up; return at; };
function below(b, depth) { while (b.depth > depth) b = b.up; return b; }
function meet(a, b) {                             // the two boxes of one layer that hold a and b
  a = below(a, b.depth); b = below(b, a.depth);
  while (a.up !== b.up) { a = a.up; b = b.up; }
  return [a, b];
}

// --- layout -------------------------------------------------------------------------------------------------------

// Where things of these widths lie in a row, as near to where they want to be as their order allows (the pool of
// adjacent violators: a least-squares fit that never falls).
function row(items, wants) {
  const pools = [];
  let offset = 0;
  items.forEach((item, k) => {
    if (k) offset += (items[k - 1].w + item.w) / 2 + GAP;
    pools.push({ sum: (wants[k] - offset) * item.weight, weight: item.weight, items: [[item, offset]] });
    while (pools.length > 1 && mean(pools.at(-2)) > mean(pools.at(-1))) {
      const last = pools.pop(), into = pools.at(-1);
      into.sum += last.sum; into.weight += last.weight; into.items.push(...last.items);
    }
  });
  for (const pool of pools) for (const [item, offset] of pool.items) item.x = mean(pool) + offset;
}
const mean = pool => pool.sum / pool.weight;

function links(layer, wires) {                    // what flows between the boxes of a layer, once for each pair
  const found = new Map();
  for (const wire of wires) {
    let { a, b } = wire;
    wire.turned = a.first > b.first;              // layers may feed each other: one way is drawn upwards
    if (wire.turned) [a, b] = [b, a];
    const key = a.id * (boxes.length + 1) + b.id;
    if (!found.has(key)) found.set(key, { a, b, way: [] });
    wire.link = found.get(key);
  }
  return [...found.values()];
}

function ranked(inside, pairs) {                  // rows from the longest way, what only gives close to its taker
  for (const b of inside) { b.rank = 0; b.ins = []; b.outs = []; }
  for (const p of pairs) { p.a.outs.push(p); p.b.ins.push(p); }
  for (const b of inside) for (const p of b.ins) b.rank = Math.max(b.rank, p.a.rank + 1);
  for (const b of inside) if (!b.ins.length && b.outs.length) b.rank = Math.min(...b.outs.map(p => p.b.rank)) - 1;
}

function rowsOf(inside, pairs) {                  // boxes by rank, and bends where a link passes a rank
  const rows = [];
  const put = item => (rows[item.rank] ??= []).push(item);
  inside.forEach(put);
  for (const p of pairs) {
    p.way = [];
    if (p.b.rank - p.a.rank > FAR) continue;
    let last = p.a;
    for (let rank = p.a.rank + 1; rank < p.b.rank; rank++) {
      const bend = { rank, w: 8, h: 0, weight: 2, over: [last], under: [] };
      last.under.push(bend); p.way.push(bend); put(bend); last = bend;
    }
    last.under.push(p.b); p.b.over.push(last);
  }
  return rows.filter(Boolean);
}

function arranged(rows) {                         // fewer crossings: rows sorted by the means of their neighbours
  rows.forEach(r => r.forEach((item, k) => { item.at = k; }));
  const sorted = (r, side) => {
    for (const item of r) item.key = item[side].length ? item[side].reduce((s, o) => s + o.at, 0) / item[side].length : item.at;
    r.sort((a, b) => a.key - b.key).forEach((item, k) => { item.at = k; });
  };
  for (let k = 0; k < 4; k++) {
    rows.forEach(r => sorted(r, "over"));
    [...rows].reverse().forEach(r => sorted(r, "under"));
  }
  const wanted = (r, sides) => row(r, r.map(item => {
    const near = sides.flatMap(side => item[side]);
    return near.length ? near.reduce((s, o) => s + o.x, 0) / near.length : item.x;
  }));
  rows.forEach(r => row(r, r.map(() => 0)));
  for (let k = 0; k < 4; k++) {
    rows.forEach(r => wanted(r, ["over"]));
    [...rows].reverse().forEach(r => wanted(r, ["under"]));
  }
  rows.forEach(r => wanted(r, ["over", "under"]));
}

function measure(b, wires) {                      // sizes from the inside out; places within the layer around
  b.weight = 1; b.over = []; b.under = [];
  if (!b.inside || !b.open) {
    b.lines = lines(b);
    b.w = Math.min(WIDEST, Math.max(96, ...b.lines.map((t, k) => t.length * (k ? SOFT : LETTER) + 2 * PAD)));
    b.h = b.lines.length > 1 ? 10 + 18 * b.lines.length : 30;
    return;
  }
  for (const inner of b.inside) measure(inner, wires);
  const pairs = links(b, wires.get(b) ?? []);
  ranked(b.inside, pairs);
  const rows = rowsOf(b.inside, pairs);
  arranged(rows);
  let y = b === root ? 0 : TITLE + PAD, low = Infinity, high = -Infinity;
  for (const r of rows) {
    const tall = Math.max(...r.map(item => item.h));
    for (const item of r) {
      item.y = y + tall / 2; low = Math.min(low, item.x - item.w / 2); high = Math.max(high, item.x + item.w / 2);
    }
    y += tall + RANK;
  }
  for (const r of rows) for (const item of r) item.x -= low - PAD;
  b.w = Math.max(high - low + 2 * PAD, b.name.length * LETTER + 4 * PAD); b.h = y - RANK + PAD;
}

function place(b, left, top) {                    // places in the whole drawing
  for (const p of b.inside) {
    p.left = left + p.x - p.w / 2; p.top = top + p.y - p.h / 2;
    if (p.inside && p.open) place(p, p.left, p.top);
  }
  b.origin = [left, top];
}

let visible = [], wires = [];
function layout() {
  const flows = new Map(), byLayer = new Map();
  for (const [from, to] of edges) {
    const a = shown(boxes[from]), b = shown(boxes[to]);
    if (a === b) continue;
    const key = a.id * (boxes.length + 1) + b.id;
    if (!flows.has(key)) {
      const [ua, ub] = meet(a, b);
      flows.set(key, { from: a, to: b, a: ua, b: ub });
      if (!byLayer.has(ua.up)) byLayer.set(ua.up, []);
      byLayer.get(ua.up).push(flows.get(key));
    }
  }
  measure(root, byLayer);
  place(root, 0, 0);
  visible = boxes.filter(b => { for (let up = b.up; up !== root; up = up.up) if (!up.open) return false; return true; });
  wires = [...flows.values()];
  wires.forEach(drawn);
}

function drawn(wire) {                            // the line of a wire: from below one box to above the other
  const [left, top] = wire.a.up.origin, way = wire.link.way.map(bend => [left + bend.x, top + bend.y]);
  if (wire.turned) way.reverse();
  const start = [wire.from.left + wire.from.w / 2, wire.from.top + wire.from.h], end = [wire.to.left + wire.to.w / 2, wire.to.top];
  if (wire.a !== wire.from && way.length) way.unshift([start[0], wire.a.top + wire.a.h]);
  const points = [start, ...way, end];
  let d = `M${start.map(Math.round)}`;
  for (let k = 1; k < points.length; k++) {
    const [x0, y0] = points[k - 1], [x1, y1] = points[k], bow = Math.max(12, Math.abs(y1 - y0) / 2);
    d += `C${[x0, y0 + bow, x1, y1 - bow, x1, y1].map(Math.round)}`;
  }
  wire.d = d;
  wire.top = Math.min(...points.map(p => p[1])); wire.bottom = Math.max(...points.map(p => p[1]));
  wire.left = Math.min(...points.map(p => p[0])); wire.right = Math.max(...points.map(p => p[0]));
}

// --- drawing ------------------------------------------------------------------------------------------------------

const made = (name, attributes = {}, text) => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== undefined) one.textContent = text;
  return one;
};
const sheet = svg.appendChild(made("g"));
const back = sheet.appendChild(made("g")), lower = sheet.appendChild(made("path", { class: "wires" }));
const upper = sheet.appendChild(made("path", { class: "wires chosen" })), front = sheet.appendChild(made("g"));
const view = { x: 0, y: 0, k: 1 };
let chosen = null, area = null;

const tones = new Map();
function tone(kind) {                             // the same colour for the same op
  if (!tones.has(kind)) {
    let sum = 7;
    for (const letter of kind) sum = (sum * 31 + letter.codePointAt(0)) % 3600;
    tones.set(kind, `hsl(${sum % 360} 62% 52%)`);
  }
  return tones.get(kind);
}

function boxed(b) {
  const open = b.inside && b.open;
  const g = made("g", { class: `box${b.inside ? " layer" : ""}${open ? " open" : ""}${b === chosen ? " chosen" : ""}`,
    transform: `translate(${b.left} ${b.top})`, tabindex: 0, role: "button", "data-id": b.id,
    "aria-label": b.inside ? `layer ${b.name}, ${open ? "open" : "folded"}` : `${b.kind} ${b.name}` });
  g.append(made("rect", { width: b.w, height: b.h, rx: 7 }));
  if (!b.inside) g.append(made("rect", { class: "tone", width: 5, height: b.h, rx: 2.5, style: `fill:${tone(b.kind)}` }));
  if (view.k < SMALL && !(open && b.w * view.k > 60)) return g;
  if (open) { g.append(made("text", { x: PAD, y: 20, class: "kind" }, `▾ ${b.name}`)); return g; }
  b.lines.forEach((t, k) => g.append(made("text", { x: PAD, y: 19 + 18 * k, class: k ? "soft" : "kind" }, t)));
  return g;
}

const touches = b => b.left < area.right && b.right > area.left && b.top < area.bottom && b.bottom > area.top;
function draw() {                                 // what lies in the window, and as much again around it
  const { width, height } = svg.getBoundingClientRect(), w = width / view.k, h = height / view.k;
  const left = -view.x / view.k, top = -view.y / view.k;
  area = { left: left - w / 2, right: left + 1.5 * w, top: top - h / 2, bottom: top + 1.5 * h, k: view.k };
  const near = visible.filter(b => touches({ left: b.left, right: b.left + b.w, top: b.top, bottom: b.top + b.h }));
  const focus = document.activeElement?.dataset?.id;
  back.replaceChildren(...near.filter(b => b.inside && b.open).map(boxed));
  front.replaceChildren(...near.filter(b => !(b.inside && b.open)).map(boxed));
  const lines = wires.filter(touches), mine = w => chosen && (w.from === shown(chosen) || w.to === shown(chosen));
  lower.setAttribute("d", lines.filter(w => !mine(w)).map(w => w.d).join(""));
  upper.setAttribute("d", lines.filter(mine).map(w => w.d).join(""));
  if (focus !== undefined) svg.querySelector(`[data-id="${Number(focus)}"]`)?.focus({ preventScroll: true });
}

let waiting = false;
function moved() {                                // once a frame; boxes are made anew only where the window left them
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    sheet.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
    const { width, height } = svg.getBoundingClientRect(), left = -view.x / view.k, top = -view.y / view.k;
    const inside = area && left >= area.left && top >= area.top && left + width / view.k <= area.right
      && top + height / view.k <= area.bottom;
    if (!inside || (view.k < SMALL) !== (area.k < SMALL) || view.k > 2 * area.k) draw();
  });
}
function zoom(factor, x, y) {
  const { width, height } = svg.getBoundingClientRect(), k = Math.min(4, Math.max(0.02, view.k * factor));
  x ??= width / 2; y ??= height / 2;
  view.x = x - (x - view.x) * k / view.k; view.y = y - (y - view.y) * k / view.k; view.k = k;
  moved();
}
function fit() {
  const { width, height } = svg.getBoundingClientRect();
  view.k = Math.min(1, Math.max(0.02, Math.min(width / (root.w + 40), height / (root.h + 40))));
  if (root.h * view.k < 40 || view.k < 0.1) view.k = Math.min(1, Math.max(view.k, width / (root.w + 40)));
  view.x = (width - root.w * view.k) / 2; view.y = Math.max(20, (height - root.h * view.k) / 2);
  area = null; moved();
}
function start() {                                // all of it, or where that is too small to read its beginning
  fit();
  const { width } = svg.getBoundingClientRect(), first = visible[0];
  if (view.k >= READABLE || !first) return;
  view.k = READABLE;
  view.x = (width - (root.w * view.k < width ? root.w : 2 * first.left + first.w) * view.k) / 2; view.y = 20;
  area = null; moved();
}
function centre(b) {
  const { width, height } = svg.getBoundingClientRect();
  view.k = Math.max(view.k, READABLE);
  view.x = width / 2 - (b.left + b.w / 2) * view.k;
  view.y = (b.inside && b.open ? 40 : height / 2 - b.h / 2 * view.k) - b.top * view.k;
  area = null; moved();
}
function relaid(b, keep) {                        // after a layer was opened or closed: b stays where it was
  const before = keep && b.left !== undefined ? [b.left * view.k + view.x, b.top * view.k + view.y] : null;
  layout();
  if (before) { view.x = before[0] - b.left * view.k; view.y = before[1] - b.top * view.k; }
  area = null; moved();
}

// --- details, search, hands ---------------------------------------------------------------------------------------

const html = (name, text, ...inside) => {
  const one = document.createElement(name);
  if (text) one.textContent = text;
  one.append(...inside);
  return one;
};
const broken = text => text.split(/(?<=[./_])/).flatMap(part => [html("wbr"), part]);   // where a long name may go on below
const table = rows => html("table", "", ...rows.map(([key, value]) => html("tr", "", html("th", "", ...broken(key)), html("td", value))));
const pathOf = b => { const words = []; for (let up = b.up; up !== root; up = up.up) words.unshift(up.name); return words.join(" / "); };
function list(title, links) {
  if (!links.length) return [];
  return [html("h3", title), ...links.map(({ box, name, type }) => {
    const one = html("button", "", html("span", `${box.kind} ${box.name}`), html("small", [name, type].filter(Boolean).join(" · ")));
    one.addEventListener("click", () => reveal(box));
    return one;
  })];
}
function describe() {
  const b = chosen;
  if (!b) {
    details.replaceChildren(html("h2", "Model"), table(facts), html("p", "Choose a box. Layers unfold with a click."));
    return;
  }
  const parts = [html("h2", b.name), html("p", b.inside ? "layer" : b.kind), html("small", pathOf(b))];
  if (b.inside) parts.push(table([["nodes", `${b.count}`], ["numbers", b.numbers.toLocaleString("en")], ["size", inWords(b.bytes)]]));
  else {
    if (b.facts.length) parts.push(html("h3", "Options"), table(b.facts));
    if (b.weights.length) parts.push(html("h3", `Weights, ${inWords(b.bytes)}`), table(b.weights.map(w => [w[0], w[1]])));
    parts.push(...list("Takes", b.from));
    if (b.out.length) parts.push(html("h3", "Gives"), table(b.out));
    parts.push(...list("Goes to", b.to));
  }
  details.replaceChildren(...parts);
}
function choose(b) { chosen = b; describe(); draw(); }
function reveal(b) {
  for (let up = b.up; up !== root; up = up.up) up.open = true;
  chosen = b; layout(); describe(); centre(b);
}
function pressed(b) {
  if (b.inside) { b.open = !b.open; chosen = b; describe(); relaid(b, true); } else choose(b);
}
function all(open) { for (const b of boxes) if (b.inside) b.open = open; chosen = null; describe(); layout(); fit(); }

const search = document.querySelector("input"), found = document.querySelector(".found");
const paths = boxes.map(b => [pathOf(b), b.name].filter(Boolean).join(" / ").replaceAll(/ \/ |\./g, "/").toLowerCase());
const texts = boxes.map(b => [b.name, b.kind ?? "layer", ...(b.weights ?? []).map(w => w[0])].join("\n").toLowerCase());
function look() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length ? boxes.filter((b, k) => words.every(w => texts[k].includes(w)
    || /[/.]/.test(w) && paths[k].includes(w.replaceAll(".", "/").replace(/^\//, "")))) : [];
  found.hidden = !words.length;
  found.replaceChildren(...hits.slice(0, 50).map(b => {
    const one = html("button", "", html("span", b.inside ? b.name : `${b.kind} ${b.name}`), html("small", pathOf(b)));
    one.type = "button";
    one.addEventListener("click", () => { found.hidden = true; reveal(b); });
    return html("li", "", one);
  }), html("li", "", html("small", hits.length > 50 ? `50 of ${hits.length}` : hits.length ? "" : "nothing has this name")));
}
search.addEventListener("input", look);
document.querySelector("form").addEventListener("submit", event => {
  event.preventDefault(); found.querySelector("button")?.click();
});

const hands = new Map();                          // pointers that are down
let dragged = 0;
svg.addEventListener("pointerdown", event => {
  hands.set(event.pointerId, [event.clientX, event.clientY]);
  if (hands.size === 1) dragged = 0;
});
addEventListener("pointermove", event => {
  const last = hands.get(event.pointerId);
  if (!last) return;
  const now = [event.clientX, event.clientY], dx = now[0] - last[0], dy = now[1] - last[1];
  const other = [...hands].find(([id]) => id !== event.pointerId)?.[1];
  hands.set(event.pointerId, now); dragged += Math.hypot(dx, dy);
  svg.classList.add("moving");
  if (other) {
    const { left, top } = svg.getBoundingClientRect(), away = p => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    zoom(away(now) / away(last), (now[0] + other[0]) / 2 - left, (now[1] + other[1]) / 2 - top);
  }
  view.x += dx / hands.size; view.y += dy / hands.size; moved();
});
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, event => {
  hands.delete(event.pointerId); svg.classList.remove("moving");
});
svg.addEventListener("click", event => {
  const id = event.target.closest?.(".box")?.dataset.id;
  if (dragged < 6) { if (id !== undefined) pressed(boxes[id]); else choose(null); }
});
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const { left, top } = svg.getBoundingClientRect(), step = event.deltaMode ? 30 : 1;
  zoom(Math.exp(-event.deltaY * step / 500), event.clientX - left, event.clientY - top);
}, { passive: false });
svg.addEventListener("keydown", event => {
  const id = event.target.dataset?.id, step = 60;
  const keys = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  if (keys[event.key]) { view.x += keys[event.key][0]; view.y += keys[event.key][1]; moved(); }
  else if (event.key === "+" || event.key === "=") zoom(1.25);
  else if (event.key === "-") zoom(0.8);
  else if (event.key === "0") fit();
  else if ((event.key === "Enter" || event.key === " ") && id !== undefined) pressed(boxes[id]);
  else return;
  event.preventDefault();
});
addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape") { found.hidden = true; choose(null); svg.focus(); }
});
const doing = { in: () => zoom(1.25), out: () => zoom(0.8), fit, unfold: () => all(true), fold: () => all(false) };
for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", doing[button.dataset.do]);
addEventListener("resize", () => { area = null; moved(); });

layout(); describe(); start();
