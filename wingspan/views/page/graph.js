// The states as a graph: the way taken, races, results; a state can be pointed at, and gone to.

import { h, into, s } from "./dom.js";
import { layout } from "./layout.js";
import { brief } from "./memory.js";

const ACROSS = 36;
const DOWN = 34;
const EDGE = 22;
const FITTING = 80;
const LARGEST = 2;
const GAP = 6;
let graphs = 0;

/** Draws the states once, and again what changes with each step; `about` is for all of the page, which is larger. */
export class Graph {
  constructor(view) {
    this.view = view;
    const { trace } = view;
    const { x, y, wide, deep } = layout(trace);
    this.x = x.map((at) => EDGE + at * ACROSS);
    this.y = y.map((at) => EDGE + at * DOWN);
    const [width, height] = [2 * EDGE + wide * ACROSS, 2 * EDGE + deep * DOWN];
    this.name = `wingspan-about-${(graphs += 1)}`;
    this.lines = trace.edges.map((edge) => this.line(edge));
    this.nodes = trace.states.map((state, number) => this.node(state, number));
    this.about = h("div", { class: "about", role: "tooltip", id: this.name, hidden: true });
    const small = trace.states.length <= FITTING;
    this.svg = s(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "group",
        "aria-label": "states; arrow keys move between them, Enter goes to one",
        class: small ? "fits" : null,
        style: small ? `--most: ${LARGEST * height}px` : `width: ${width}px`,
      },
      this.lines.filter(Boolean),
      this.nodes,
    );
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.element = h("div", { class: "graph" }, this.svg);
  }

  line({ source, target, raced }) {
    if (target === null) return null;
    return s("line", {
      class: raced.length ? "edge raced" : "edge",
      x1: this.x[source],
      y1: this.y[source],
      x2: this.x[target],
      y2: this.y[target],
    });
  }

  node(state, number) {
    const { trace } = this.view;
    const edges = state.enabled.map((place) => trace.edges[place]);
    const result = state.result;
    const fault = edges.some((edge) => edge.fault !== null);
    const stuck = state.end?.kind === "deadlock";
    const cut = edges.some((edge) => edge.target === null && edge.fault === null);
    const kind = [
      state.races.length && "raced",
      fault && "fault",
      stuck && "stuck",
      cut && "cut",
      result !== null && `result r${this.view.result(result)}`,
    ];
    const told = [
      `state ${number}`,
      state.races.length && "steps race",
      fault && "a step faults",
      stuck && "deadlock",
      result !== null && `result ${result + 1}: ${trace.results[result].text}`,
    ];
    const label = result !== null ? `${result + 1}` : stuck ? "⊘" : fault ? "✕" : null;
    const shape =
      result !== null || stuck ? s("rect", { x: -11, y: -11, width: 22, height: 22, rx: 4 }) : s("circle", { r: 9 });
    const go = () => this.view.act(() => this.view.walk.toState(number));
    return s(
      "g",
      {
        class: ["node", ...kind],
        transform: `translate(${this.x[number]} ${this.y[number]})`,
        role: "button",
        tabindex: -1,
        "data-state": number,
        "aria-label": told.filter(Boolean).join(", "),
        "aria-describedby": this.name,
        onclick: go,
        onpointerenter: () => this.tell(number),
        onpointerleave: () => this.tell(null),
        onfocus: () => this.tell(number),
        onblur: () => this.tell(null),
      },
      s("circle", { class: "reach", r: 16 }),
      shape,
      label && s("text", { "text-anchor": "middle", dy: "0.36em" }, label),
    );
  }

  /** Show the memory of a state that is pointed at. */
  tell(number) {
    this.about.hidden = number === null || this.view.walk.predicting;
    if (this.about.hidden) return;
    const { trace } = this.view;
    const state = trace.states[number];
    const result =
      state.result === null
        ? null
        : h("div", {}, h("b", {}, `result ${state.result + 1}: `), trace.results[state.result].text);
    const races = state.races.length > 0 && h("div", { class: "race" }, "steps race here");
    const about = [brief(this.view, trace.views[number]), result, races].flat(2).filter(Boolean);
    this.about.replaceChildren(h("b", {}, `state ${number}`), ...about);
    const place = this.nodes[number].getBoundingClientRect();
    const frame = this.view.frame.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: high } = this.about;
    const below = place.bottom + GAP + high <= innerHeight;
    const top = below ? place.bottom + GAP : Math.max(GAP, place.top - GAP - high);
    this.about.style.top = `${top - frame.top}px`;
    this.about.style.left = `${Math.max(GAP, Math.min(place.left - frame.left, frame.width - wide - GAP))}px`;
  }

  /** Arrow keys go to the nearest state in a direction, Enter goes there. */
  key(event) {
    const here = Number(event.target.closest("[data-state]")?.dataset.state);
    if (Number.isNaN(here)) return;
    if (event.key === "Enter" || event.key === " ") {
      this.view.act(() => this.view.walk.toState(here));
    } else {
      const toward = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
      if (!toward) return;
      const to = this.nearest(here, toward);
      if (to !== null) this.focus(to);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** The nearest state beside one in its layer, or in the layer above or below. */
  nearest(here, [right, down]) {
    let [best, least] = [null, Infinity];
    this.nodes.forEach((_, to) => {
      const across = this.x[to] - this.x[here];
      const fits = right ? across * right > 0 : true;
      if (this.y[to] - this.y[here] === down * DOWN && fits && Math.abs(across) < least)
        [best, least] = [to, Math.abs(across)];
    });
    return best;
  }

  focus(number) {
    for (const node of this.nodes) node.setAttribute("tabindex", -1);
    this.nodes[number].setAttribute("tabindex", 0);
    this.nodes[number].focus();
  }

  /** Mark the way taken, where it stands, what has been seen and what can still be reached. */
  draw(ahead) {
    const { walk, trace } = this.view;
    const taken = new Set(walk.moves.map(({ edge }) => edge));
    const on = new Set([0, ...walk.moves.map(({ edge }) => edge.target)]);
    const shown = walk.shown.state;
    this.nodes.forEach((node, number) => {
      node.classList.toggle("on", on.has(number));
      node.classList.toggle("here", number === shown);
      node.classList.toggle("seen", walk.seen.has(number));
      node.classList.toggle("off", !on.has(number) && !ahead.has(number));
      node.setAttribute("tabindex", number === shown ? 0 : -1);
      if (number === shown) node.setAttribute("aria-current", "step");
      else node.removeAttribute("aria-current");
    });
    trace.edges.forEach((edge, k) => {
      this.lines[k]?.classList.toggle("on", taken.has(edge));
      this.lines[k]?.classList.toggle("off", !taken.has(edge) && !ahead.has(edge.source));
    });
    into(this.element, this.nodes[shown]);
  }
}
