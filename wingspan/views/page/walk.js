// One walk through the states of a trace document: steps chosen one by one, back, ahead to races and results,
// predictions. Nothing here draws. It is what wingspan/trace/session.py is to the terminal.

import { excerpt } from "./dom.js";

const WRITING = ["write", "atomic update"];

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
export function parse(text, most = Infinity) {
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

/** What tasks have read after a step for statements that they have not ended, and the update that the step loses. */
function readsAfter(reads, step, number) {
  const indices = JSON.stringify(step.indices);
  const mine = (read) => read.task === step.task;
  const forStep = (read) => mine(read) && read.at !== null && step.at !== null && within(read.at, step.at);
  let left = reads.filter((read) => !mine(read) || read.indices === indices);
  let lost = null;
  for (const { cell, operation, value } of step.accesses) {
    if (operation === "write") {
      const old = left.find((read) => read.cell === cell && forStep(read) && read.over !== null);
      if (old) lost = { cell, writer: old.over, written: old.since, read: old.number, value: old.value };
    }
    left = left.filter((read) => read.cell !== cell || !mine(read));
    if (WRITING.includes(operation)) {
      left = left.map((read) => (read.cell === cell ? { ...read, over: step.task, since: number } : read));
    } else if (operation === "read") {
      left.push({ task: step.task, cell, value, at: step.at, indices, number, over: null, since: 0 });
    }
  }
  if (step.done && step.accesses.some(({ operation }) => WRITING.includes(operation))) {
    left = left.filter((read) => !forStep(read));
  }
  return { reads: left, lost };
}

function within([line, column, endLine, endColumn], [line2, column2, endLine2, endColumn2]) {
  const begins = line2 < line || (line2 === line && column2 <= column);
  return begins && (endLine < endLine2 || (endLine === endLine2 && endColumn <= endColumn2));
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
    this.ahead = resultsAhead(trace);
    this.arrive();
  }

  /** The number of the state; null after a fault, or where the state is not in the document. */
  get at() {
    return this.moves.length ? this.moves.at(-1).edge.target : 0;
  }

  get state() {
    return this.at === null ? null : this.trace.states[this.at];
  }

  /** The last state that there is: after a fault, the one before it. */
  get shown() {
    return this.state ?? this.trace.states[this.moves.at(-1).edge.source];
  }

  get reads() {
    return this.moves.length ? this.moves.at(-1).reads : [];
  }

  get interleaving() {
    return format(this.moves.map(({ step }) => step.task));
  }

  /** What each task can do next, with the key that chooses it and the tasks that it races with. */
  get choices() {
    if (this.state === null) return [];
    const edges = this.state.enabled.map((place) => this.trace.edges[place]);
    const tasks = edges.map((edge) => this.trace.steps[edge.step].task);
    const named = tasks.every((task) => task.length === 1);
    return edges.map((edge, number) => ({
      edge,
      task: tasks[number],
      key: named ? tasks[number] : String(number + 1),
      step: this.trace.steps[edge.step],
      racing: edge.raced.map((place) => this.trace.steps[this.trace.edges[place].step].task),
    }));
  }

  /** How the run has ended: fault, left out of the document, deadlock, finished; empty if it goes on. */
  get end() {
    if (this.at === null) return this.moves.at(-1).edge.fault === null ? "left out" : "fault";
    if (this.state.enabled.length) return "";
    return this.state.waiting.length ? "deadlock" : "finished";
  }

  /** Take the step with this key, or of this task; while predicting, ask for the prediction first. */
  choose(name) {
    const found = this.choices.find(({ key, task }) => name === key || name === task);
    if (!found) return this.choices.length ? `choose ${this.keys}` : "the run has ended: go back";
    if (this.predicting && this.asked === null) this.asked = found.task;
    else this.take(found.task);
    return "";
  }

  get keys() {
    return this.choices.map(({ key }) => key).join(", ");
  }

  take(task, redo = false) {
    const { edge, step } = this.choices.find((choice) => choice.task === task);
    const { reads, lost } = readsAfter(this.reads, step, this.moves.length + 1);
    this.moves.push({ edge, step, reads, lost });
    if (!redo) this.undone = [];
    this.asked = null;
    this.arrive();
  }

  arrive() {
    if (this.at === null) return;
    this.seen.add(this.at);
    if (this.state.result !== null) this.reached.add(this.state.result);
  }

  back() {
    if (this.asked !== null) this.asked = null;
    else if (this.moves.length) this.undone.push(this.moves.pop().step.task);
    else return "this is the first state";
    return "";
  }

  /** The step that was undone last, or the only one that can be taken. */
  forward() {
    if (this.undone.length && !this.predicting) this.take(this.undone.pop(), true);
    else if (this.choices.length === 1) return this.choose(this.choices[0].task);
    else return this.choices.length ? `several tasks can step: choose ${this.keys}` : "the run has ended: go back";
    return "";
  }

  /** Back to the state after so many steps. */
  cut(length) {
    this.asked = null;
    while (this.moves.length > length) this.undone.push(this.moves.pop().step.task);
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
    for (const task of tasks) {
      if (!this.choices.some((choice) => choice.task === task)) {
        const able = this.choices.map((choice) => choice.task).join(", ") || "none";
        return `step ${this.moves.length + 1} names task ${excerpt(task)}, which cannot step; tasks that can: ${able}`;
      }
      this.take(task);
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

  to(wanted, otherwise) {
    const way = this.at === null ? null : this.way(wanted);
    return way === null ? otherwise : this.follow(way);
  }

  /** The tasks that step on a shortest way to another state that is wanted. */
  way(wanted) {
    const { states, edges, steps } = this.trace;
    const ways = new Map([[this.at, []]]);
    for (const [here, tasks] of ways) {
      if (here !== this.at && wanted(states[here])) return tasks;
      for (const place of states[here].enabled) {
        const { target, step } = edges[place];
        if (target !== null && !ways.has(target)) ways.set(target, [...tasks, steps[step].task]);
      }
    }
    return null;
  }

  predict() {
    this.predicting = !this.predicting;
    this.asked = null;
  }

  /** Take the step that was asked about. A point for its rule, and one for a value that it reads or writes. */
  answer(rule, value) {
    const { step } = this.choices.find(({ task }) => task === this.asked);
    const values = step.accesses.map((access) => access.value).filter((held) => held !== null);
    const right = {
      rule: rule.trim().toLowerCase() === step.rule.toLowerCase(),
      value: values.length ? values.includes(value.trim()) : value.trim() === "",
    };
    this.right += right.rule + right.value;
    this.guesses += 2;
    this.take(this.asked);
    return { ...right, step };
  }
}

/** For each state the results that can still be reached from it. */
function resultsAhead({ states, edges }) {
  const found = new Array(states.length).fill(null);
  const below = (number) => states[number].enabled.map((place) => edges[place].target).filter((to) => to !== null);
  const work = [0];
  while (work.length) {
    const number = work.at(-1);
    if (found[number] !== null) {
      work.pop();
      continue;
    }
    const open = below(number).filter((to) => found[to] === null);
    if (open.length) {
      work.push(...open);
    } else {
      const own = states[number].result === null ? [] : [states[number].result];
      found[number] = new Set([...own, ...below(number).flatMap((to) => [...found[to]])]);
    }
  }
  return found;
}
