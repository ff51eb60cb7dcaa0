// The program with the place of each task, and what can happen next.

import { count, h, visible } from "./dom.js";
import { badge, does } from "./steps.js";

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
        first.length > 0 &&
          h(
            "span",
            { class: "places" },
            first.map(({ task }) => badge(view, task, "◀ ")),
          ),
        label && h("span", { class: "spoken" }, label),
      );
    }),
  );
}

/** The tasks that can step or that wait, with the span of what they do next; after a fault, of what they did. */
function standing({ walk, trace: { states, edges, steps } }) {
  const { enabled, waiting } = states[walk.shown.state];
  const next = enabled.map((place) => steps[edges[place].step]);
  return (walk.left ? walk.scene.standing : [...next, ...waiting]).filter(({ at }) => at !== null);
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
    return about.length
      ? h("mark", { class: about.length > 1 ? "several" : view.colour(about[0].task) }, piece)
      : piece;
  });
}

// -------------------------------------------------------------------------------------------------------------- next

/** A button for each task that can step, or how the run has ended; while a step is predicted, the questions. */
export function following(view) {
  const { walk, trace } = view;
  if (walk.asked !== null) return asking(view);
  const made = walk.choices.map((choice) => {
    const { key, task, step, racing, edge } = choice;
    const hidden = walk.predicting && !walk.left;
    const fault = edge !== null && edge.fault !== null;
    const out = edge?.target === null && !fault;
    return h(
      "button",
      {
        class: ["choice", racing.length && !hidden && "raced"],
        "data-key": `choice ${task}`,
        onclick: () => view.act(() => walk.choose(task)),
      },
      h("kbd", {}, key),
      h("span", { class: ["task", view.colour(task)] }, `task ${task}`),
      h(
        "span",
        { class: "what" },
        hidden ? "?" : [h("b", {}, step.rule), ` ${step.text}`],
      ),
      !hidden && racing.length > 0 && h("strong", { class: "race" }, `RACE with ${racing.join(", ")}`),
      !hidden && fault && h("strong", { class: "race" }, "FAULT"),
      !hidden && out && h("em", {}, "leaves this page"),
    );
  });
  if (walk.left) return made;
  const waiting = walk.state?.waiting ?? [];
  return [made, waiting.map(({ text }) => h("p", { class: "waits" }, text)), ended(view)];
}

function ended({ walk, trace, file }) {
  const line = (kind, text, bad) => h("p", { class: ["ended", bad && "bad"] }, h("strong", {}, kind), ` ${text}`);
  if (walk.at !== null) {
    const { end, result } = walk.state;
    const { serial, how } = trace.results[result] ?? { how: "" };
    return end && line(end.kind, `${end.text} ${how}`.trim(), end.kind !== "finished" || serial === false);
  }
  const { edge } = walk.moves.at(-1);
  if (edge.fault !== null) return line("fault", edge.fault, true);
  const command = `wingspan step ${file} --interleaving '${walk.interleaving}'`;
  return h("p", { class: "ended" }, "This state is not on the page. Go on in a terminal: ", h("code", {}, command));
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
      const told =
        right.rule && right.value
          ? "Right"
          : right.rule
            ? "The rule is right"
            : right.value
              ? "The value is right"
              : "No";
      return `${told}: ${right.step.rule} ${does(right.step)}`;
    });
  };
  return h(
    "form",
    { class: "asking", onsubmit: submit },
    h("p", {}, badge(view, walk.asked, "task "), " steps. What does it do?"),
    h(
      "label",
      {},
      "rule ",
      h(
        "select",
        { name: "rule", "data-key": "rule" },
        ["", ...rules].map((rule) => h("option", {}, rule)),
      ),
    ),
    h(
      "label",
      {},
      "value read or written ",
      h("input", { name: "value", size: 8, autocomplete: "off", "data-key": "value" }),
    ),
    h("button", { class: "go" }, "Check"),
    h("button", { type: "button", onclick: () => view.act(() => walk.back()) }, "Cancel"),
  );
}

/** How much of the program has been seen. */
export function status({ walk, trace }, possible) {
  const ahead = possible.size - (!walk.left && walk.state !== null && possible.has(walk.state.result));
  const states = `${trace.complete ? "" : "more than "}${count(trace.states.length, "state")}`;
  return `${walk.seen.size} of ${states} seen${trace.complete ? `, ${count(ahead, "result")} ahead` : ""}`;
}
