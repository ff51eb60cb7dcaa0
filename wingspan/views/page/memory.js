// Memory: each tensor as a fibertree, the buffers of its levels, what tasks have read, and what their names stand for.

import { h, row, table } from "./dom.js";
import { badge } from "./steps.js";

/** The cells that some steps wrote, and those that they read. */
export function touched(steps) {
  const accesses = steps.flatMap((step) => step.accesses);
  const cells = (wanted) => new Set(accesses.filter(({ writes }) => writes === wanted).map(({ cell }) => cell));
  return { written: cells(true), read: cells(false) };
}

/** All of it. Tensors that no step changes, the inputs, come last. */
export function memory(view) {
  const { scene, shown, recent } = view.walk;
  const at = looked(view, scene, shown.reads, recent);
  return [
    watched(at),
    tensors(at, true).map((tensor) => drawn(at, tensor)),
    tensors(at, false).map((tensor) => drawn(at, tensor)),
    shared(at),
    read(at),
    names(at),
  ];
}

/** The tensors that steps change: for a state that is pointed at, and for print, after some steps. */
export function brief(view, shown, steps = []) {
  const at = looked(view, view.trace.states[shown.state], shown.reads, steps);
  return [watched(at), tensors(at, true).map((tensor) => drawn(at, tensor)), shared(at)];
}

/** A state or a moment to draw: its cells, those that the last steps touched, and who has read them. */
function looked(view, state, places, steps) {
  const reads = places.map((place) => view.trace.reads[place]);
  return { view, state, reads, held: new Map(state.cells), ...touched(steps) };
}

/** The tensors that steps change, or those that none does, with their trees. */
function tensors({ view: { trace, written }, state }, changing) {
  const found = trace.tensors.map((tensor, k) => ({ ...tensor, tree: trace.trees[state.trees[k]] ?? null }));
  return found.filter(({ name }) => written.has(name) === changing);
}

/** The expressions that are watched, with their values. */
function watched({ view: { trace }, state }) {
  return trace.watches.map((text, k) => h("p", { class: "watched" }, `${text}: ${state.watched[k]}`));
}

function shared(at) {
  const cells = [...at.held.keys()].filter((cell) => at.view.trace.cells[cell].tensor === undefined);
  return cells.length > 0 && h("section", { class: "tensor" }, h("h3", {}, "shared variables"), buffer(at, cells));
}

function drawn(at, { name, format, tree }) {
  const {
    held,
    view: { trace },
  } = at;
  const inTree = new Set();
  const nothing = !tree || (tree.unreadable && !tree.children.length);
  const drawing =
    !nothing && h("div", { class: "tree" }, tree.level > 1 ? fiber(at, tree, inTree) : value(at, tree, inTree));
  const rows = new Map();
  for (const cell of held.keys()) {
    const about = trace.cells[cell];
    if (about.tensor !== name || inTree.has(cell)) continue;
    const title = `${about.buffer}${about.copy}`;
    const key = `${about.level} ${title}`;
    if (!rows.has(key)) rows.set(key, { level: about.level_name, title, cells: [] });
    rows.get(key).cells.push(cell);
  }
  return h(
    "section",
    { class: "tensor" },
    h("h3", {}, name, " ", h("code", {}, format)),
    tree?.updating && !nothing && h("p", { class: "hint" }, "What can be read if all loops end here:"),
    drawing,
    tree?.unreadable && h("p", { class: "lost" }, `not readable: ${tree.unreadable}`),
    !tree && h("p", { class: "hint" }, rows.size ? "Not declared; its buffers:" : "Nothing is stored."),
    rows.size > 0 &&
      table(
        { class: "buffers" },
        null,
        [...rows.values()].map(({ level, title, cells }) =>
          row({}, [h("small", {}, level), ` ${title}`], h("td", {}, buffer(at, cells))),
        ),
      ),
  );
}

/** A fiber: its children side by side, each below the indices that lead to it. */
function fiber(at, { children, more }, inTree) {
  return h(
    "ul",
    { class: "fiber" },
    !children.length && h("li", {}, h("span", { class: "index" }, "empty")),
    children.map((child) => {
      const index = child.first === child.last ? `${child.first}` : `${child.first}:${child.last}`;
      const inside = child.fiber ? fiber(at, child.fiber, inTree) : value(at, child, inTree);
      return h("li", {}, h("span", { class: "index" }, index), inside);
    }),
    more && h("li", {}, "…"),
  );
}

function value(at, { cell, value: held }, inTree) {
  if (held === null || held === undefined) return h("span", { class: "cell none" }, "·");
  if (cell === undefined) return h("span", { class: "cell" }, held);
  inTree.add(cell);
  return box(at, cell, held);
}

/** The cells of a buffer in a row. */
function buffer(at, cells) {
  return h(
    "span",
    { class: "row" },
    cells.map((cell) => box(at, cell, at.held.get(cell))),
  );
}

/** A cell with what it holds; whether the last step wrote or read it; the tasks that have read it. */
function box({ view, reads, written, read }, cell, held) {
  const { trace } = view;
  const readers = reads.filter((each) => each.cell === cell);
  return h(
    "span",
    {
      class: ["cell", written.has(cell) && "written", read.has(cell) && "read"],
      "data-cell": trace.cells[cell].name,
      title: trace.cells[cell].name,
    },
    h("span", { class: "held" }, held),
    written.has(cell) && h("span", { class: "spoken" }, " written"),
    readers.map(({ task, old }) =>
      h("span", { class: ["reader", view.colour(task), old && "old"], "aria-hidden": "true" }, `▲${task}`),
    ),
  );
}

/** Who has read what for a statement that has not ended. */
function read({ view, reads }) {
  if (!reads.length) return null;
  return h(
    "ul",
    { class: "reads" },
    reads.map(({ task, text, old }) =>
      h("li", { class: [old && "old"] }, h("span", { class: ["task", view.colour(task)] }, "▲"), ` ${text}`),
    ),
  );
}

/** σ of each task. */
function names({ view, state }) {
  const tensors = new Set(view.trace.tensors.map(({ name }) => name));
  const stores = state.stores.map((place) => view.trace.stores[place]);
  const rows = stores.map(({ task, names: all }) => {
    const bound = Object.entries(all).filter(([name]) => !tensors.has(name));
    const shown = bound.map(([name, held]) => h("span", {}, h("b", {}, name), ` ↦ ${held}`));
    return bound.length > 0 && row({}, ["σ ", badge(view, task)], h("td", {}, shown));
  });
  const made = table({ class: "names" }, null, rows);
  made.prepend(h("caption", { class: "spoken" }, "what names stand for in each task"));
  return made;
}

/** The configuration, line by line; what each task reduces next is marked. */
export function configuration(view) {
  const { lines, redexes } = view.walk.scene.configuration;
  return h(
    "pre",
    { class: "configuration", tabindex: 0 },
    lines.map((place, line) => {
      const letters = Array.from(view.trace.lines[place]);
      const here = redexes.filter(({ span: [first, , last] }) => first <= line && line <= last);
      const pieces = [];
      let done = 0;
      for (const {
        task,
        span: [first, column, last, end],
      } of here.sort((a, b) => a.span[1] - b.span[1])) {
        const from = Math.max(done, first === line ? column : 0);
        const to = Math.max(from, last === line ? end : letters.length);
        pieces.push(
          letters.slice(done, from).join(""),
          h("mark", { class: view.colour(task), title: `task ${task}` }, letters.slice(from, to).join("")),
        );
        done = to;
      }
      return [...pieces, letters.slice(done).join(""), "\n"];
    }),
  );
}
