// A cursor over the views of a trace document: it follows their numbers, and knows nothing of rules and memory. What a
// view shows, wingspan/trace has computed.

import { excerpt } from "./dom.js";

/** The tasks that step, as text: `1*3,2,1`, or `-` for none. */
export function format(tasks) {
  const runs = [];
  for (const task of tasks) {
    const last = runs.at(-1);
    if (last?.task === task) last.times += 1;
    else runs.push({ task, times: 1 });
  }
  return runs.map(({ task, times }) => (times === 1 ? task : `${task}*${times}`)).join(",") || "-";
}

/** The tasks that such a text names, or the first `most` of them; null if it is none. */
function parse(text, most) {
  if (text.trim() === "-") return [];
  const tasks = [];
  for (const entry of text.split(",")) {
    const found = /^(0|[1-9][0-9]*(?:\.[1-9][0-9]*)*)(?:\*([1-9][0-9]{0,5}))?$/.exec(entry.trim());
    if (found === null) return null;
    const times = Math.min(Number(found[2] ?? 1), most - tasks.length);
    for (let k = 0; k < times; k += 1) tasks.push(found[1]);
  }
  return tasks;
}

export class Walk {
  constructor(trace) {
    this.trace = trace;
    this.moves = [];
    this.undone = [];
    this.seen = new Set([0]);
    this.reached = new Set();
    this.predicting = false;
    this.asked = null;
    this.right = 0;
    this.guesses = 0;
    // invisible steps one by one; else each with the visible one before it. Where no task has to be chosen at first,
    // as in a serial program, nothing else could be watched
    this.stepping = trace.states[0].enabled.length < 2 && this.moments.length > 0;
    this.left = this.stepping ? this.moments.length : 0;
    this.arrive();
  }

  /** The view; null after a fault, or where the state is not in the document. */
  get view() {
    return this.moves.length ? this.moves.at(-1).view : this.trace.views[0];
  }

  /** The number of the state; null as the view. */
  get at() {
    return this.view?.state ?? null;
  }

  get state() {
    return this.view && this.trace.states[this.at];
  }

  /** The last view that there is: after a fault, the one before it. */
  get shown() {
    return this.moves.at(-1)?.shown ?? this.trace.views[0];
  }

  /** The invisible steps after the last visible one, or before the first. */
  get invisible() {
    return this.moves.at(-1)?.edge.then ?? this.trace.begin;
  }

  /** The moments before them, or before the first of them. `left` is the number of those that lie ahead. */
  get moments() {
    return (this.moves.length ? this.moves.at(-1).edge.before : this.trace.before) ?? [];
  }

  /** Those of the invisible steps that have been taken. */
  get taken() {
    return this.left ? this.invisible.slice(0, this.moments.length - this.left) : this.invisible;
  }

  /** The state to show, or the moment before the next invisible step: memory, names, configuration. */
  get scene() {
    return this.left ? this.trace.moments[this.moments.at(-this.left)] : this.trace.states[this.shown.state];
  }

  /** The last step taken, the invisible ones after it included; if they are taken one by one, the last of all. */
  get recent() {
    const { step } = this.moves.at(-1)?.edge ?? {};
    const alone = this.stepping && this.taken.length > 0;
    const places = alone ? this.taken.slice(-1) : [...(step === undefined ? [] : [step]), ...this.taken];
    return places.map((place) => this.trace.steps[place]);
  }

  /** The step whose rule is shown: the last one; if invisible ones are not taken one by one, the last visible one. */
  get last() {
    return this.moves.length ? this.recent[0] : this.recent.at(-1);
  }

  get interleaving() {
    return format(this.moves.map(({ step }) => step.task));
  }

  /** The next step of each task, with the key that chooses it, the tasks that it races with, and what comes of it. */
  get choices() {
    const { edges, steps, views } = this.trace;
    if (this.left) {
      const step = steps[this.invisible[this.taken.length]];
      return [{ edge: null, step, task: step.task, key: "n", racing: [], view: this.view, lost: null }];
    }
    return (this.state?.enabled ?? []).map((place, k) => {
      const edge = edges[place];
      const step = steps[edge.step];
      const [to, lost] = this.view.next[k] ?? [edge.target, null];
      const racing = edge.raced.map((other) => steps[edges[other].step].task);
      return { edge, step, task: step.task, key: edge.key ?? step.task, racing, view: views[to] ?? null, lost };
    });
  }

  /** Take the step with this key, or of this task; while predicting, ask for the prediction first. */
  choose(name) {
    const found = this.choices.find(({ key, task }) => name === key || name === task);
    if (!found) return this.choices.length ? `choose ${this.keys}` : "the run has ended: go back";
    if (this.left) {
      this.left -= 1;
      this.arrive();
    } else if (this.predicting && this.asked === null) this.asked = found.task;
    else this.take(found.task);
    return "";
  }

  get keys() {
    return this.choices.map(({ key }) => key).join(", ");
  }

  /** A visible step, and the invisible ones after it if they are not taken one by one or the `whole` is wanted. */
  take(task, { redo = false, whole = false } = {}) {
    const { edge, step, view, lost } = this.choices.find((choice) => choice.task === task);
    const number = (place) => 1 + this.moves.findLastIndex((move) => move.edge.step === place);
    const words = lost?.map((piece) => (typeof piece === "number" ? number(piece) : piece)).join("");
    this.moves.push({ edge, step, view, shown: view ?? this.view, lost: words });
    if (!redo) this.undone = [];
    this.asked = null;
    this.left = this.stepping && !whole ? this.moments.length : 0;
    this.arrive();
  }

  arrive() {
    if (this.at === null || this.left) return;
    this.seen.add(this.at);
    if (this.state.result !== null) this.reached.add(this.state.result);
  }

  back() {
    if (this.asked !== null) this.asked = null;
    else if (this.stepping && this.left < this.moments.length) this.left += 1;
    else if (this.moves.length) this.cut(this.moves.length - 1);
    else return "this is the first state";
    return "";
  }

  /** The next invisible step, the step that was undone last, or the only one that can be taken. */
  forward() {
    if (this.undone.length && !this.predicting && !this.left) this.take(this.undone.pop(), { redo: true });
    else if (this.choices.length === 1) return this.choose(this.choices[0].task);
    else return this.choices.length ? `several tasks can step: choose ${this.keys}` : "the run has ended: go back";
    return "";
  }

  /** Back to where so many visible steps have been taken, and so many of the invisible ones after them, or all. */
  cut(length, taken = Infinity) {
    this.asked = null;
    while (this.moves.length > length) this.undone.push(this.moves.pop().step.task);
    this.left = Math.max(0, this.moments.length - taken);
  }

  /** Back to where a visible step has just been taken, or to the start. */
  cutBehind(length) {
    this.cut(length, this.stepping ? 0 : Infinity);
  }

  /** Take invisible steps one by one, or with the visible one before them. */
  fold() {
    this.stepping = !this.stepping;
    this.left = 0;
    this.arrive();
  }

  /** From the first state along an interleaving, as far as it leads. No run takes a step of the document twice. */
  go(interleaving) {
    const tasks = parse(interleaving, this.trace.edges.length + 1);
    if (tasks === null) return `${excerpt(interleaving)} is no interleaving; this is one: 1*3,2`;
    this.moves = [];
    return this.follow(tasks);
  }

  follow(tasks) {
    this.asked = null;
    this.left = 0;
    this.arrive();
    for (const task of tasks) {
      if (!this.choices.some((choice) => choice.task === task)) {
        const able = this.choices.map((choice) => choice.task).join(", ") || "none";
        return `step ${this.moves.length + 1} names task ${excerpt(task)}, which cannot step; tasks that can: ${able}`;
      }
      this.take(task, { whole: true });
    }
    return "";
  }

  toRace() {
    return this.to((state) => state.races.length > 0, "no race lies ahead: go back first");
  }

  toResult() {
    const fresh = (state) => state.result !== null && !this.reached.has(state.result);
    return this.to(fresh, "no other result lies ahead: go back first");
  }

  /** To a state: back to it, on to it, or to it from the first state, whichever is possible. */
  toState(number) {
    const before = [0, ...this.moves.map(({ edge }) => edge.target)].lastIndexOf(number);
    if (before >= 0) {
      this.cut(before);
      return "";
    }
    const wanted = (state) => state === this.trace.states[number];
    if (this.to(wanted, "far") === "") return "";
    this.moves = [];
    return this.to(wanted, "no way leads there");
  }

  /** To the nearest other state that is wanted. */
  to(wanted, otherwise) {
    const here = this.left ? null : this.at;
    const found = [...this.ahead].find(([number]) => number !== here && wanted(this.trace.states[number]));
    return found ? this.follow(found[1]) : otherwise;
  }

  /** The states that can be reached, nearest first, each with the tasks that step on a shortest way to it. */
  get ahead() {
    const { states, edges, steps } = this.trace;
    const ways = new Map(this.at === null ? [] : [[this.at, []]]);
    for (const [here, tasks] of ways)
      for (const place of states[here].enabled) {
        const { target, step } = edges[place];
        if (target !== null && !ways.has(target)) ways.set(target, [...tasks, steps[step].task]);
      }
    return ways;
  }

  predict() {
    this.predicting = !this.predicting;
    this.asked = null;
  }

  /** Take the step that was asked about. A point for its rule, and one for a value that it reads or writes. */
  answer(rule, value) {
    const { step } = this.choices.find(({ task }) => task === this.asked);
    const right = { rule: rule === step.rule, value: step.values.includes(value.trim()) };
    this.right += right.rule + right.value;
    this.guesses += 2;
    this.take(this.asked);
    return { ...right, step };
  }
}
