// The page: panes around one walk, keys, the address. `mount` draws a trace document into an element.

import { count, h, into, present, row, table } from "./dom.js";
import { Graph } from "./graph.js";
import { brief, configuration, memory, touched } from "./memory.js";
import { following, program, status } from "./program.js";
import { results } from "./results.js";
import { badge, does, inference, rule, soFar } from "./steps.js";
import { Walk } from "./walk.js";

const COLOURS = 6;
const OTHER_RESULTS = 4;

/** The trace document that some bytes hold, compressed. */
export async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/**
 * Draw a trace document, after the steps of `start`; `onstep` is called with the interleaving after each change. With
 * `address`, nothing else is in the window: the hash names the interleaving, and keys pressed anywhere are heard.
 */
export function mount(root, trace, { start = "-", address = false, onstep = () => {} } = {}) {
  const page = new Page(root, trace, address, onstep);
  page.open((address && addressed()) || start);
  return page;
}

/** The interleaving that the address of the window names; as it is written there, if it is malformed. */
function addressed() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class Page {
  constructor(root, trace, address, onstep) {
    this.root = root;
    this.trace = trace;
    this.address = address;
    this.onstep = onstep;
    this.closing = new AbortController();
    this.file = trace.program.name;
    this.walk = new Walk(trace);
    this.drawn = true;
    const writes = trace.steps.flatMap((step) => step.accesses.filter((access) => access.writes));
    this.written = new Set(writes.map(({ cell }) => trace.cells[cell].tensor));
    this.build();
    const { signal } = this.closing;
    (address ? root.ownerDocument : root).addEventListener("keydown", (event) => this.key(event), { signal });
    const follow = () => this.open(addressed() || "-");
    if (address) addEventListener("hashchange", follow, { signal });
  }

  /** Take it away. */
  close() {
    this.closing.abort();
    this.root.replaceChildren();
  }

  /** The colour of a task, as a class. */
  colour(task) {
    const place = this.trace.tasks.filter((each) => each !== "0").indexOf(task);
    return task === "0" || place < 0 ? "t0" : `t${1 + (place % COLOURS)}`;
  }

  /** The colour of a result: 0 for the sequential result, or one of the others. */
  result(number) {
    const { results: all } = this.trace;
    if (all[number].serial) return 0;
    return 1 + (all.slice(0, number).filter(({ serial }) => !serial).length % OTHER_RESULTS);
  }

  // ------------------------------------------------------------------------------------------------------- structure

  build() {
    const { trace } = this;
    const button = (key, name, act, label) =>
      h(
        "button",
        { "data-key": `do ${name}`, title: label, onclick: () => this.act(act) },
        h("kbd", {}, key),
        ` ${name}`,
      );
    const walk = this.walk;
    this.commands = new Map([
      ["b", () => walk.back()],
      ["ArrowLeft", () => walk.back()],
      ["Backspace", () => walk.back()],
      ["PageUp", () => walk.back()],
      ["n", () => walk.forward()],
      ["ArrowRight", () => walk.forward()],
      ["PageDown", () => walk.forward()],
      ["Home", () => walk.cutBehind(0)],
      ["x", () => walk.toRace()],
      ["r", () => walk.toResult()],
      ["?", () => walk.predict()],
      ["i", () => this.fold()],
      ["c", () => this.toggleConfiguration()],
    ]);
    const box = (name, command) =>
      h("input", { type: "checkbox", "data-key": `do ${name}`, onchange: () => this.act(this.commands.get(command)) });
    this.boxes = { predicting: box("predict", "?"), unseen: box("invisible", "i") };
    const labelled = (title, input, key, text) => h("label", { title }, input, " ", h("kbd", {}, key), ` ${text}`);
    const pane = (name, title, extra) => {
      const inside = h("div", { class: "inside", tabindex: 0, role: "group", "aria-label": title });
      this.panes[name] = inside;
      return h(
        "section",
        { class: `pane ${name}`, "aria-label": title },
        h("h2", {}, title, extra && [" ", extra]),
        inside,
      );
    };
    this.panes = {};
    const { predicting, unseen } = this.boxes;
    const predict = labelled("guess each step before it is shown", predicting, "?", "predict ");
    const unseenToo = labelled("steps that no other task can observe", unseen, "i", "invisible steps one by one");
    this.message = h("p", { class: "message", role: "status" });
    this.score = h("span", { class: "score" });
    this.way = h("a", { class: "way", title: this.address && "the address of this step" });
    this.status = h("span", { class: "status" });
    this.graph = new Graph(this);
    this.handout = h("section", { class: "handout", "aria-label": "handout" });
    this.details = h(
      "details",
      { class: "pane whole", ontoggle: () => this.draw() },
      h("summary", {}, h("kbd", {}, "c"), " configuration ⟨s, t, σ⟩, what each task reduces next marked"),
      (this.panes.configuration = h("div")),
    );
    const { verdict } = trace;
    const bad = !["safe", "holds", "unreached", "undefined", "order-dependent", "incomplete"].includes(verdict);
    const found = ["race", "fault", "deadlock", "property"].map((kind) => [
      trace.findings.filter((each) => each.kind === kind).length,
      kind,
    ]);
    const told = [...found, [trace.results.length, "result"]]
      .filter(([n]) => n)
      .map(([n, kind]) => count(n, kind))
      .join(", ");
    const legend = h(
      "p",
      { class: "legend" },
      [
        ["here", "here"],
        ["on", "way taken"],
        ["raced", "steps race"],
      ].map(([kind, text]) => h("span", {}, h("i", { class: `dot ${kind}` }), text)),
      trace.results.length > 0 && h("span", {}, h("i", { class: `dot chip r${this.result(0)}` }, "1"), "result"),
    );
    this.frame = h(
      "div",
      // in a notebook, a click anywhere lets keys be heard, and Jupyter leaves them alone
      this.address ? { class: "wingspan alone" } : { class: "wingspan", tabindex: -1, "data-lm-suppress-shortcuts": true },
      h(
        "header",
        {},
        h("h1", {}, trace.program.name.split("/").at(-1) || "program"),
        h("strong", { class: ["verdict", bad ? "bad" : ["safe", "holds"].includes(verdict) && "good"] }, verdict),
        h("span", { class: "summary" }, told),
        h(
          "nav",
          { "aria-label": "moves" },
          button("Home", "start", () => walk.cutBehind(0), "to the first state"),
          button("←", "back", () => walk.back(), "undo the last step"),
          button("→", "forward", () => walk.forward(), "redo a step, or take the only one"),
          button("x", "to a race", () => walk.toRace(), "to the nearest state ahead in which steps race"),
          button("r", "to a result", () => walk.toResult(), "to the nearest result ahead that was not seen"),
        ),
      ),
      !trace.complete &&
        h("p", { class: "cut" }, [
          `The program has more states than this page, which has ${trace.states.length}: those on the ways to all that `,
          "was found, and those nearest to these. Steps that leave the page say so.",
        ]),
      this.message,
      h(
        "main",
        {},
        h(
          "div",
          { class: "column" },
          pane("program", "program"),
          pane("next", "next", [predict, this.score]),
          pane("rule", "rule"),
        ),
        h("div", { class: "column" }, pane("memory", "memory"), pane("lanes", "so far", [this.way, unseenToo])),
        h("div", { class: "column" }, pane("states", "states", this.status), pane("results", "results")),
      ),
      this.details,
      this.graph.about,
      this.handout,
    );
    this.panes.states.replaceWith(this.graph.element, legend);
    this.root.classList.add("wingspan-root");
    this.root.replaceChildren(this.frame);
  }

  // ----------------------------------------------------------------------------------------------------------- doing

  /** Do something, and draw what has changed; what it returns is a message. */
  act(something) {
    const { walk } = this;
    const [moves, left] = [walk.moves.length, walk.left];
    const message = something() || "";
    this.draw();
    const move = walk.moves.at(-1);
    const says = (number, step) => `${number}: task ${step.task} ${does(step)}`;
    this.message.classList.toggle("error", false);
    if (message) this.message.textContent = message;
    else if (walk.moves.length > moves) this.message.textContent = says(walk.moves.length, move.step);
    else if (walk.moves.length === moves && walk.left < left) this.message.textContent = says("·", walk.last);
    else this.message.textContent = this.advice();
    if (move?.lost && walk.moves.length > moves) this.message.textContent += `; LOST: ${move.lost}`;
  }

  /** What can be done now: by keys, unless there is only a finger. */
  advice() {
    const { walk } = this;
    const touched = matchMedia("(pointer: coarse)").matches;
    if (walk.left) return touched ? "Take the next step." : "Press n for the next step.";
    if (walk.choices.length) return touched ? "Choose a task." : `Choose a task: press ${walk.keys}.`;
    return touched ? "The run has ended." : "The run has ended: press b.";
  }

  /** Go along an interleaving from the first state. */
  open(interleaving) {
    if (interleaving !== this.walk.interleaving) this.act(() => this.walk.go(interleaving));
    else if (!this.shown) this.act(() => "");
  }

  fold() {
    this.walk.fold();
    return `invisible steps ${this.walk.stepping ? "one by one" : "together with the visible one before them"}`;
  }

  toggleConfiguration() {
    this.details.open = !this.details.open;
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (!this.root.isConnected) return;
    const field = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && this.walk.asked !== null) {
      this.act(() => this.walk.back());
      return;
    }
    if (field) return;
    const command =
      this.commands.get(event.key) ?? (/^[0-9]$/.test(event.key) ? () => this.walk.choose(event.key) : null);
    if (command === null) return;
    event.preventDefault();
    event.stopPropagation();
    this.act(command);
  }

  // --------------------------------------------------------------------------------------------------------- drawing

  draw() {
    const { trace, walk, panes } = this;
    const focused = this.root.getRootNode().activeElement?.dataset?.key;
    const fill = (pane, made) => pane.replaceChildren(...present([made]));
    const ahead = walk.ahead;
    const possible = new Set([...ahead.keys()].map((number) => trace.states[number].result).filter((each) => each !== null));
    fill(panes.program, program(this));
    fill(panes.next, following(this));
    fill(panes.memory, memory(this));
    fill(panes.rule, rule(this));
    fill(panes.results, results(this, possible));
    fill(panes.lanes, soFar(this));
    fill(panes.configuration, this.details.open ? configuration(this) : []);
    fill(this.handout, this.printed());
    this.graph.draw(ahead);
    this.boxes.predicting.checked = walk.predicting;
    this.boxes.unseen.checked = walk.stepping;
    this.score.textContent = walk.guesses ? `${walk.right} of ${walk.guesses} right` : "";
    this.status.textContent = status(this, possible);
    this.way.textContent = walk.interleaving;
    this.way.ariaLabel = walk.moves.length ? null : "-, the start";
    if (this.address) {
      this.way.href = `#${walk.interleaving}`;
      // a frame that was written into another page (`srcdoc`) has no address of its own
      if (!location.href.startsWith("about:")) history.replaceState(null, "", this.way.href);
    }
    for (const [pane, inside] of [
      [panes.program, ".here"],
      [panes.lanes, "tr.last"],
      [panes.memory, ".written"],
    ])
      into(pane, pane.querySelector(inside));
    if (walk.asked !== null) panes.next.querySelector("select").focus();
    else if (focused)
      (
        this.root.querySelector(`[data-key="${CSS.escape(focused)}"]`) ??
        (focused.startsWith("choice") ? (panes.next.querySelector("button") ?? panes.next) : null)
      )?.focus({ preventScroll: true });
    this.shown = true;
    this.onstep(walk.interleaving);
  }

  /** What is printed: a row for each step. */
  printed() {
    const { trace, walk } = this;
    const rows = walk.moves.map((move, k) => {
      const steps = [move.edge.step, ...move.edge.then].map((place) => trace.steps[place]);
      const names = [...touched(steps).written].map((cell) => trace.cells[cell].name);
      const race = move.edge.raced.length > 0 && h("strong", {}, " RACE");
      const lost = move.lost && h("div", {}, h("b", {}, "LOST"), ` ${move.lost}`);
      const written = names.length > 0 && h("small", {}, `written: ${names.join(", ")}`);
      return row(
        {},
        k + 1,
        h("td", {}, badge(this, move.step.task)),
        h("td", {}, does(move.step), race, h("div", {}, move.step.place), lost),
        h("td", {}, h("b", {}, move.step.rule), inference(move.step)),
        h("td", {}, brief(this, move.shown, steps), written),
      );
    });
    const lines = trace.program.text.map((text) => h("li", {}, h("code", {}, text)));
    return [
      h("ol", { class: "program" }, lines),
      h("p", {}, `interleaving ${walk.interleaving}`),
      rows.length > 0 && table({}, ["step", "task", "what it does", "rule", "memory after it"], rows),
    ];
  }
}
