// What happens: the program with the place of each task, what can happen next, the steps so far, the rule of one.

import { count, h, visible } from "./dom.js";

const VERBS = {
  read: "reads",
  "atomic read": "atomically reads",
  write: "writes",
  "atomic update": "atomically updates",
  acquire: "takes",
  release: "gives back",
};
const MOST_LANES = 12;

/** What a step does, in a line: its accesses, or its rule. */
export function does(trace, step) {
  const told = step.accesses.map(({ operation, cell, value }) => {
    const at = `${VERBS[operation]} ${trace.cells[cell].name}`;
    return value === null ? at : `${at} = ${value}`;
  });
  return told.join("; ") || step.rule;
}

/** What a move has lost: `overwrites step 5 with a value computed from step 4's read`. */
export function loses({ written, read }) {
  return `overwrites step ${written} with a value computed from step ${read}'s read`;
}

/** A task by its number, in its colour. */
export function badge(view, task, before = "") {
  return h("span", { class: ["task", view.colour(task)] }, `${before}${task}`);
}

// ----------------------------------------------------------------------------------------------------------- program

/** The lines of the program; what each task does next is underlined, and at the end of its line stands the task. */
export function program(view) {
  const places = standing(view);
  return h(
    "ol",
    { class: "program" },
    view.trace.program.text.map((text, k) => {
      const here = places.filter(({ at }) => at[0] <= k + 1 && k + 1 <= at[2]);
      const first = here.filter(({ at }) => at[0] === k + 1);
      const label = first.length ? `, ${first.map(({ task }) => `task ${task} is here`).join(", ")}` : null;
      return h(
        "li",
        { class: [first.length && "here", /^\s*#/.test(text) && "comment"], "data-line": k + 1 },
        h("code", {}, marked(view, text, k + 1, here)),
        first.length > 0 && h("span", { class: "places" }, first.map(({ task }) => badge(view, task, "◀ "))),
        label && h("span", { class: "spoken" }, label),
      );
    }),
  );
}

/** The tasks that can step or that wait, with the span of what they do next. */
function standing({ walk, trace }) {
  const next = walk.state ? walk.choices.map(({ task, step }) => ({ task, at: step.at })) : [];
  return [...next, ...(walk.state?.waiting ?? [])].filter(({ at }) => at !== null);
}

/** A line in pieces, each with the tasks whose next step is about it. */
function marked(view, text, line, here) {
  const letters = Array.from(text);
  const spans = here.map(({ task, at: [first, column, last, end] }) => ({
    task,
    from: first === line ? column - 1 : 0,
    to: last === line ? end - 1 : letters.length,
  }));
  const cuts = [0, letters.length, ...spans.flatMap(({ from, to }) => [from, to])];
  const ends = [...new Set(cuts)].filter((at) => at <= letters.length).sort((a, b) => a - b);
  return ends.slice(1).map((end, k) => {
    const piece = visible(letters.slice(ends[k], end).join(""));
    const about = spans.filter(({ from, to }) => from <= ends[k] && end <= to);
    return about.length ? h("mark", { class: about.length > 1 ? "several" : view.colour(about[0].task) }, piece) : piece;
  });
}

// -------------------------------------------------------------------------------------------------------------- next

/** A button for each task that can step, or how the run has ended; while a step is predicted, the questions. */
export function following(view) {
  const { walk, trace } = view;
  if (walk.asked !== null) return asking(view);
  const made = walk.choices.map((choice) => {
    const { key, task, step, racing, edge } = choice;
    const hidden = walk.predicting;
    const out = edge.target === null && edge.fault === null;
    return h(
      "button",
      { class: ["choice", racing.length && !hidden && "raced"], "data-key": `choice ${task}`, onclick: () => view.act(() => walk.choose(task)) },
      h("kbd", {}, key),
      h("span", { class: ["task", view.colour(task)] }, `task ${task}`),
      h("span", { class: "what" }, hidden ? "?" : [h("b", {}, step.rule), ` ${step.accesses.length ? does(trace, step) : ""}`]),
      !hidden && racing.length > 0 && h("strong", { class: "race" }, `RACE with ${racing.join(", ")}`),
      !hidden && edge.fault !== null && h("strong", { class: "race" }, "FAULT"),
      !hidden && out && h("em", {}, "leaves this page"),
    );
  });
  const waiting = walk.state?.waiting ?? [];
  return [made, waiting.map(({ text }) => h("p", { class: "waits" }, text)), walk.end && ended(view)];
}

function ended({ walk, trace, file }) {
  const { edge } = walk.moves.at(-1) ?? {};
  switch (walk.end) {
    case "fault":
      return h("p", { class: "ended bad" }, h("strong", {}, "fault"), ` ${edge.fault}`);
    case "deadlock":
      return h("p", { class: "ended bad" }, h("strong", {}, "deadlock"), " every task waits");
    case "left out": {
      const command = `wingspan step ${file} --interleaving '${walk.interleaving}'`;
      return h("p", { class: "ended" }, "This state is not on the page. Go on in a terminal: ", h("code", {}, command));
    }
  }
  const result = trace.results[walk.state.result];
  const how = result?.serial === true ? "the sequential result" : result?.serial === false ? "not the sequential result" : "";
  return h(
    "p",
    { class: ["ended", result?.serial === false && "bad"] },
    h("strong", {}, "finished"),
    " ",
    result ? h("code", {}, listing(result.values)) : "",
    how && h("span", {}, ` ${how}`),
  );
}

/** `c = [1, 0, 2], x = 0.5`; of these names only, if there are any. */
export function listing(values, names = Object.keys(values)) {
  const literal = (held) => (Array.isArray(held) ? `[${held.map(literal).join(", ")}]` : String(held));
  return names.map((name) => `${name} = ${literal(values[name])}`).join(", ") || "nothing is returned or updated";
}

/** The form that asks for the rule and the value of a step. */
function asking(view) {
  const { walk, trace } = view;
  const rules = [...new Set(trace.steps.map(({ rule }) => rule))].sort();
  const submit = (event) => {
    event.preventDefault();
    const { rule, value } = Object.fromEntries(new FormData(event.target));
    view.act(() => {
      const right = walk.answer(rule, value);
      const told = right.rule && right.value ? "Right" : right.rule ? "The rule is right" : right.value ? "The value is right" : "No";
      return `${told}: ${right.step.rule} ${does(trace, right.step)}`;
    });
  };
  return h(
    "form",
    { class: "asking", onsubmit: submit },
    h("p", {}, badge(view, walk.asked, "task "), " steps. What does it do?"),
    h("label", {}, "rule ", h("select", { name: "rule", "data-key": "rule" }, ["", ...rules].map((rule) => h("option", {}, rule)))),
    h("label", {}, "value read or written ", h("input", { name: "value", size: 8, autocomplete: "off", "data-key": "value" })),
    h("button", { class: "go" }, "Check"),
    h("button", { type: "button", onclick: () => view.act(() => walk.back()) }, "Cancel"),
  );
}

// ------------------------------------------------------------------------------------------------------------- so far

/** A row for each step so far, in the lane of its task; private steps too if they are shown. */
export function soFar(view) {
  const { walk, trace } = view;
  const rows = taken(view);
  if (!rows.length) return h("p", { class: "hint" }, "Nothing yet. Choose which task takes a step.");
  const tasks = view.tasks.length > MOST_LANES ? null : view.tasks.filter((task) => task !== "0" || rows.some((row) => row.step.task === "0"));
  const span = new Map();
  rows.forEach(({ step: { task } }, k) => span.set(task, [span.get(task)?.[0] ?? k, k]));
  return h(
    "table",
    { class: "lanes" },
    h(
      "thead",
      {},
      h("tr", {}, [
        h("th", { scope: "col" }, "step"),
        (tasks ?? ["task"]).map((task) => h("th", { scope: "col" }, tasks ? badge(view, task) : task)),
        h("th", { scope: "col" }, "what it does"),
        h("th", { scope: "col" }, "where"),
      ]),
    ),
    h(
      "tbody",
      {},
      rows.map(({ number, step, place, move }, k) => {
        const lane = (task) => {
          if (task === step.task) return h("td", { class: "lane" }, badge(view, task));
          const [first, last] = span.get(task) ?? [k, k];
          return h("td", { class: ["lane", first < k && k < last && "through", view.colour(task)] });
        };
        const go = () => (number ? view.act(() => walk.cut(number)) : view.look(step));
        const last = number === walk.moves.length;
        const told = [
          h("span", {}, does(trace, step)),
          move?.edge.raced.length > 0 && h("strong", { class: "race" }, "RACE"),
        ];
        const lost = move?.lost && h(
          "tr",
          { class: ["lost", last && "last"] },
          h("td", { colspan: 4 + (tasks?.length ?? 1) }, h("strong", {}, "LOST"), ` step ${number} ${loses(move.lost)}`),
        );
        return [h(
          "tr",
          { class: [last && "last", !number && "private"], "data-step": number || null },
          h("th", { scope: "row" }, h("button", { class: "number", "data-key": `row ${place}`, "aria-label": number ? `step ${number}` : `private step, ${step.rule}`, onclick: go }, number || "·")),
          tasks ? tasks.map(lane) : h("td", { class: "lane" }, badge(view, step.task)),
          h("td", { class: "what" }, told),
          h("td", { class: "where" }, where(trace, step)),
        ), lost];
      }),
    ),
  );
}

/** The steps so far, visible ones with their number and their move. */
function taken({ walk, trace, showPrivate }) {
  const rows = [];
  const unseen = (places) => {
    if (showPrivate) for (const place of places) rows.push({ number: 0, step: trace.steps[place], place: rows.length });
  };
  unseen(trace.begin);
  walk.moves.forEach((move, k) => {
    rows.push({ number: k + 1, step: move.step, move, place: rows.length });
    unseen(move.edge.then);
  });
  return rows;
}

/** The place of a step and the indices in force of the loops as written. */
export function where({ program: { text } }, { at, indices }) {
  const loops = new Set(text.flatMap((line) => [...line.matchAll(/\bfor\s+([^\s=]+)/g)].map(([, name]) => name)));
  const known = Object.entries(indices).filter(([name]) => loops.has(name)).map(([name, index]) => `${name} = ${index}`);
  return [at && `line ${at[0]}`, ...known].filter(Boolean).join(", ");
}

// --------------------------------------------------------------------------------------------------------------- rule

/** The rule of the last step, or of one that was chosen: filled in, what its letters stand for, and as it is drawn. */
export function rule(view) {
  const { walk, trace } = view;
  const step = view.selected ?? walk.moves.at(-1)?.step;
  if (walk.asked !== null) return h("p", { class: "hint" }, "Hidden until you have predicted it.");
  if (!step) return h("p", { class: "hint" }, "No step yet.");
  const drawn = trace.rules.find(({ name }) => name === step.rule);
  return [
    h("p", { class: "applied" }, h("b", {}, step.rule), " ", badge(view, step.task, "task "), ` ${where(trace, step)}`),
    inference(step),
    Object.keys(step.letters).length > 0 &&
      h("p", { class: "letters" }, Object.entries(step.letters).map(([name, held]) => h("span", {}, h("b", {}, name), ` = ${held}`))),
    drawn && h("details", { open: view.drawn, ontoggle: (event) => (view.drawn = event.target.open) }, h("summary", {}, "the rule as drawn"), h("pre", { tabindex: 0 }, drawn.unicode), drawn.note && h("p", {}, drawn.note)),
    drawn && !drawn.figure && h("p", { class: "hint" }, "Not in the paper's figure."),
  ];
}

/** Premises over a line over the conclusion, all filled in. */
export function inference(step) {
  if (!step.conclusion) return null;
  return h(
    "div",
    { class: "inference" },
    h("ul", {}, step.premises.map(([, instance, shown]) => h("li", {}, h("code", {}, instance), !shown && h("em", {}, " not yet")))),
    h("div", { class: "conclusion" }, h("code", {}, step.conclusion)),
  );
}

/** How much of the program has been seen. */
export function status({ walk, trace }) {
  const ahead = walk.at === null ? 0 : new Set([...walk.ahead[walk.at]].filter((each) => each !== walk.state.result)).size;
  return `${walk.seen.size} of ${count(trace.states.length, "state")} seen, ${count(ahead, "result")} ahead`;
}
