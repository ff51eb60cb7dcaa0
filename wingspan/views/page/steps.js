// Steps: what they do, those so far in lanes, and the rule of one.

import { h, row, table } from "./dom.js";

const MOST_LANES = 12;

/** What a step does, in a line. */
export function does({ text, rule }) {
  return text || rule;
}

/** A task by its number, in its colour. */
export function badge(view, task, before = "") {
  return h("span", { class: ["task", view.colour(task)] }, `${before}${task}`);
}

// ------------------------------------------------------------------------------------------------------------- so far

/** A row for each step so far, in the lane of its task; invisible steps too if they are shown. */
export function soFar(view) {
  const { walk, trace } = view;
  const rows = taken(view);
  if (!rows.length) return h("p", { class: "hint" }, "Nothing yet. Choose which task takes a step.");
  const tasks =
    trace.tasks.length > MOST_LANES
      ? null
      : trace.tasks.filter((task) => task !== "0" || rows.some((row) => row.step.task === "0"));
  const span = new Map();
  rows.forEach(({ step: { task } }, k) => span.set(task, [span.get(task)?.[0] ?? k, k]));
  const headings = tasks ? tasks.map((task) => badge(view, task)) : ["task"];
  const drawn = rows.map(({ number, step, move, go }, k) => {
    const lane = (task) => {
      if (task === step.task) return h("td", { class: "lane" }, badge(view, task));
      const [first, last] = span.get(task) ?? [k, k];
      return h("td", { class: ["lane", first < k && k < last && "through", view.colour(task)] });
    };
    const last = k === rows.length - 1;
    const race = move?.edge.raced.length > 0 && h("strong", { class: "race" }, "RACE");
    const label = number ? `step ${number}` : `invisible step, ${step.rule}`;
    const about = { class: "number", "data-key": `row ${k}`, "aria-label": label };
    const wide = { colspan: 4 + (tasks?.length ?? 1) };
    return [
      row(
        { class: [last && "last", !number && "invisible"], "data-step": number || null },
        h("button", { ...about, onclick: () => view.act(go) }, number || "·"),
        tasks ? tasks.map(lane) : h("td", { class: "lane" }, badge(view, step.task)),
        h("td", { class: "what" }, h("span", {}, does(step)), race),
        h("td", { class: "where" }, step.place),
      ),
      move?.lost &&
        h(
          "tr",
          { class: ["lost", last && "last"] },
          h("td", wide, h("strong", {}, "LOST"), ` step ${number} ${move.lost}`),
        ),
    ];
  });
  return table({ class: "lanes" }, ["step", ...headings, "what it does", "where"], drawn);
}

/** The steps so far, visible ones with their number and their move, each with a way back to it. */
function taken({ walk, trace }) {
  const rows = [];
  const unseen = (places, moves) => {
    if (!walk.stepping) return;
    (moves === walk.moves.length ? walk.taken : places).forEach((place, k) =>
      rows.push({ number: 0, step: trace.steps[place], go: () => walk.cut(moves, k + 1) }),
    );
  };
  unseen(trace.begin, 0);
  walk.moves.forEach((move, k) => {
    rows.push({ number: k + 1, step: move.step, move, go: () => walk.cutBehind(k + 1) });
    unseen(move.edge.then, k + 1);
  });
  return rows;
}

// --------------------------------------------------------------------------------------------------------------- rule

/** The rule of the last step, or of one that was chosen: filled in, what its letters stand for, and as it is drawn. */
export function rule(view) {
  const { walk, trace } = view;
  const step = walk.last;
  if (walk.asked !== null) return h("p", { class: "hint" }, "Hidden until you have predicted it.");
  if (!step) return h("p", { class: "hint" }, "No step yet.");
  const drawn = trace.rules.find(({ name }) => name === step.rule);
  return [
    h("p", { class: "applied" }, h("b", {}, step.rule), " ", badge(view, step.task, "task "), ` ${step.place}`),
    inference(step),
    h("div", { class: "more" }, [
      Object.keys(step.letters).length > 0 &&
        h(
          "p",
          { class: "letters" },
          Object.entries(step.letters).map(([name, held]) => h("span", {}, h("b", {}, name), ` = ${held}`)),
        ),
      drawn &&
        h(
          "details",
          { open: view.drawn, ontoggle: (event) => (view.drawn = event.target.open) },
          h("summary", {}, "the rule as drawn"),
          h("pre", { tabindex: 0, class: "drawing", style: `--columns: ${columns(drawn.unicode)}` }, drawn.unicode),
          drawn.note && h("p", {}, drawn.note),
        ),
      drawn && !drawn.figure && h("p", { class: "hint" }, "Not in the paper's figure."),
    ]),
  ];
}

function columns(text) {
  return Math.max(...text.split("\n").map((line) => line.length));
}

/** Premises over a line over the conclusion, all filled in. */
export function inference(step) {
  if (!step.conclusion) return null;
  return h(
    "div",
    { class: "inference" },
    h(
      "ul",
      {},
      step.premises.map(([, instance, shown]) =>
        h("li", {}, h("code", {}, instance), !shown && h("em", {}, " not yet")),
      ),
    ),
    h("div", { class: "conclusion" }, h("code", {}, step.conclusion)),
  );
}
