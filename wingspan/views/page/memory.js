// Memory: each tensor as a fibertree, the buffers of its levels, what tasks have read, and what their names stand for.

import { h } from "./dom.js";
import { badge } from "./steps.js";

const READING = ["read", "atomic read"];

/** The cells that a move wrote, and those that it read. */
export function touched(trace, move) {
  const steps = move ? [move.step, ...move.edge.then.map((place) => trace.steps[place])] : [];
  const accesses = steps.flatMap((step) => step.accesses);
  const cells = (wanted) =>
    new Set(accesses.filter(({ operation }) => READING.includes(operation) === wanted).map(({ cell }) => cell));
  return { written: cells(false), read: cells(true) };
}

/** All of it. Tensors that no step changes, the inputs, come last. */
export function memory(view) {
  const { walk, trace } = view;
  const state = walk.shown;
  const held = new Map(state.cells);
  const marks = touched(trace, walk.moves.at(-1));
  const tensors = trace.tensors.map((tensor, k) => ({
    ...tensor,
    tree: state.trees[k] === null ? null : trace.trees[state.trees[k]],
  }));
  const changing = ({ name }) => view.written.has(name);
  const shown = [...tensors.filter(changing), ...tensors.filter((tensor) => !changing(tensor))];
  const shared = [...held.keys()].filter((cell) => trace.cells[cell].tensor === undefined);
  return [
    shown.map((tensor) => drawn(view, tensor, held, marks)),
    shared.length > 0 &&
      h("section", { class: "tensor" }, h("h3", {}, "shared variables"), buffer(view, "", shared, held, marks)),
    read(view),
    names(view, state),
  ];
}

function drawn(view, { name, format, tree }, held, marks) {
  const { trace } = view;
  const inTree = new Set();
  const nothing = !tree || (tree.unreadable && !tree.children.length);
  const drawing =
    !nothing &&
    h("div", { class: "tree" }, tree.level > 1 ? fiber(view, tree, marks, inTree) : value(view, tree, marks, inTree));
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
      h(
        "table",
        { class: "buffers" },
        h(
          "tbody",
          {},
          [...rows.values()].map(({ level, title, cells }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, h("small", {}, level), ` ${title}`),
              h("td", {}, buffer(view, title, cells, held, marks)),
            ),
          ),
        ),
      ),
  );
}

/** A fiber: its children side by side, each below the indices that lead to it. */
function fiber(view, { children, more }, marks, inTree) {
  return h(
    "ul",
    { class: "fiber" },
    !children.length && h("li", {}, h("span", { class: "index" }, "empty")),
    children.map((child) => {
      const index = child.first === child.last ? `${child.first}` : `${child.first}:${child.last}`;
      const inside = child.fiber ? fiber(view, child.fiber, marks, inTree) : value(view, child, marks, inTree);
      return h("li", {}, h("span", { class: "index" }, index), inside);
    }),
    more && h("li", {}, "…"),
  );
}

function value(view, { cell, value: held }, marks, inTree) {
  if (held === null || held === undefined) return h("span", { class: "cell none" }, "·");
  if (cell === undefined) return h("span", { class: "cell" }, held);
  inTree.add(cell);
  return box(view, cell, held, marks);
}

/** The cells of a buffer in a row. */
function buffer(view, title, cells, held, marks) {
  return h(
    "span",
    { class: "row" },
    cells.map((cell) => box(view, cell, held.get(cell), marks)),
  );
}

/** A cell with what it holds; whether the last step wrote or read it; the tasks that have read it. */
function box(view, cell, held, { written, read }) {
  const { walk, trace } = view;
  const readers = walk.reads.filter((each) => each.cell === cell);
  return h(
    "span",
    {
      class: ["cell", written.has(cell) && "written", read.has(cell) && "read"],
      "data-cell": trace.cells[cell].name,
      title: trace.cells[cell].name,
    },
    h("span", { class: "held" }, held),
    written.has(cell) && h("span", { class: "spoken" }, " written"),
    readers.map(({ task, over }) =>
      h("span", { class: ["reader", view.colour(task), over !== null && "old"], "aria-hidden": "true" }, `▲${task}`),
    ),
  );
}

/** Who has read what for a statement that has not ended. */
function read(view) {
  const { walk, trace } = view;
  if (!walk.reads.length) return null;
  return h(
    "ul",
    { class: "reads" },
    walk.reads.map(({ task, cell, value: held, over }) => {
      const old = over === null ? "" : `, old since task ${over} wrote`;
      return h(
        "li",
        { class: [over !== null && "old"] },
        badge(view, task, "▲ task "),
        ` has read ${trace.cells[cell].name} = ${held}${old}`,
      );
    }),
  );
}

/** σ of each task. */
function names(view, state) {
  const tensors = new Set(view.trace.tensors.map(({ name }) => name));
  const stores = state.stores.map((place) => view.trace.stores[place]);
  const rows = stores.map(({ task, names: bound }) => [
    task,
    Object.entries(bound).filter(([name]) => !tensors.has(name)),
  ]);
  return h(
    "table",
    { class: "names" },
    h("caption", { class: "spoken" }, "what names stand for in each task"),
    h(
      "tbody",
      {},
      rows
        .filter(([, bound]) => bound.length)
        .map(([task, bound]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, "σ ", badge(view, task)),
            h(
              "td",
              {},
              bound.map(([name, held]) => h("span", {}, h("b", {}, name), ` ↦ ${held}`)),
            ),
          ),
        ),
    ),
  );
}

/** Memory in a line, of the tensors that change: for a state that is pointed at, and for print. */
export function brief({ trace, written }, state) {
  const rows = new Map();
  for (const [cell, held] of state.cells) {
    const { name, tensor, buffer: title, copy } = trace.cells[cell];
    if (tensor !== undefined && !written.has(tensor)) continue;
    const key = tensor === undefined ? name : `${tensor}.${title}${copy}`;
    rows.set(key, [...(rows.get(key) ?? []), held]);
  }
  return [...rows].map(([key, cells]) => `${key}  ${cells.join(" ")}`);
}

/** The configuration, line by line; what each task reduces next is marked. */
export function configuration(view) {
  const { lines, redexes } = view.walk.shown.configuration;
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
