// The editor: a text area, whose text is transparent, over a coloured copy of it. Keys, undo, selection and what screen
// readers hear are the browser's.

import { h, lines, offset, units } from "./dom.js";

const INDENT = 4;
const MOST_UNDONE = 100;
const OPENS = /^\s*(for|if|let|else|elseif|begin)\b/;
const IN_FORMAT = /(Tensor|[A-Z]\w*)\s*\([^)\]]*$/;

export class Editor {
  /**
   * `tokens` are pairs of a kind and a regular expression; `onchange` is called after each change of the text, `online`
   * with a line that is clicked at, `complete` with the text, a line and a column for the words to offer.
   */
  constructor(root, tokens, { onchange, online, complete }) {
    this.tokens = tokens.map(([kind, pattern]) => [kind, new RegExp(pattern, "uy")]);
    this.onchange = onchange;
    this.online = online;
    this.complete = complete;
    this.problems = [];
    this.marked = new Set();
    this.drawn = [];
    this.asked = 0;
    this.replacing = false;
    this.copy = h("pre", { class: "copy", "aria-hidden": "true" });
    this.area = h("textarea", {
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
      "aria-label": "Program text",
      "aria-autocomplete": "list",
      "aria-controls": "words",
      "aria-describedby": "problems",
      oninput: () => this.change(!this.replacing),
      onkeydown: (event) => this.key(event),
      onclick: () => this.online(this.place().line),
      onblur: () => this.close(),
    });
    this.words = h("ul", { id: "words", class: "words", role: "listbox", "aria-label": "Completions", hidden: true });
    root.append(h("div", { class: "stack" }, this.copy, this.area, this.words));
    root.classList.add("editor");
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.problems = [];
    this.change(false);
  }

  /** The line and the column of the caret, from 1, in characters. */
  place() {
    const before = lines(this.text.slice(0, this.area.selectionStart));
    return { line: before.length, column: Array.from(before.at(-1)).length + 1, before: before.at(-1) };
  }

  /** Put the caret at a place, and look there. */
  go(line, column) {
    this.area.focus();
    const at = offset(this.text, line, column);
    this.area.setSelectionRange(at, at);
    this.drawn[line - 1]?.element.scrollIntoView({ block: "nearest" });
  }

  /** Replace pieces of the text; each can be undone. */
  apply(edits) {
    const text = this.text;
    const placed = edits.map((edit) => ({
      start: offset(text, edit.line, edit.column),
      end: offset(text, edit.end_line, edit.end_column),
      text: edit.text,
    }));
    for (const { start, end, text: inserted } of placed.sort((a, b) => b.start - a.start || b.end - a.end)) {
      this.replace(start, end, inserted);
    }
  }

  /** Replace a piece of the text by another; as little of it as differs. */
  replace(start, end, text) {
    const old = this.text.slice(start, end);
    let same = 0;
    while (same < Math.min(old.length, text.length) && old[same] === text[same]) same++;
    const rest = Math.min(old.length, text.length) - same;
    let tail = 0;
    while (tail < rest && old.at(-1 - tail) === text.at(-1 - tail)) tail++;
    [start, end, text] = [start + same, end - tail, text.slice(same, text.length - tail)];
    this.area.focus();
    this.area.setSelectionRange(start, end);
    if (start === end && !text) return;
    const command = text ? ["insertText", false, text] : ["delete"];
    this.replacing = true; // words are offered to who types
    // what scripts insert otherwise cannot be undone; but browsers take seconds for hundreds of lines
    if (lines(text).length > MOST_UNDONE || !document.execCommand(...command)) {
      this.area.setRangeText(text, start, end, "end");
      this.change(false);
    }
    this.replacing = false;
  }

  /** Show problems at their places. */
  show(problems) {
    this.problems = problems;
    this.draw();
  }

  /** Mark the lines that something came of. */
  mark(numbers) {
    this.marked = new Set(numbers);
    this.draw();
  }

  change(typed) {
    this.draw();
    this.onchange();
    const { before } = this.place();
    if (typed && /\w$/.test(before) && IN_FORMAT.test(before)) this.offer();
    else this.close();
  }

  // --------------------------------------------------------------------------------------------------------- colours

  /** Draw the lines that have changed: those between the first and the last that look otherwise than before. */
  draw() {
    const byLine = grouped(this.problems);
    const keys = lines(this.text).map((row, k) => {
      const found = byLine.get(k + 1) ?? [];
      const looks = found.map(({ range, message }) => [range.column, range.end_line - range.line, range.end_column, message]);
      return { row, found, key: JSON.stringify([row, looks, this.marked.has(k + 1)]) };
    });
    const old = this.drawn;
    const most = Math.min(old.length, keys.length);
    let first = 0;
    while (first < most && old[first].key === keys[first].key) first++;
    let last = 0;
    while (last < most - first && old.at(-1 - last).key === keys.at(-1 - last).key) last++;
    for (const { element } of old.slice(first, old.length - last)) element.remove();
    const fresh = keys.slice(first, keys.length - last).map(({ row, found, key }, k) => {
      return { key, element: this.line(row, first + k + 1, found) };
    });
    const after = old.slice(old.length - last);
    this.copy.insertBefore(group(fresh.map(({ element }) => element)), after[0]?.element ?? null);
    this.drawn = [...old.slice(0, first), ...fresh, ...after];
    if (old.length !== keys.length) {
      after.forEach(({ element }, k) => (element.dataset.line = keys.length - last + k + 1));
    }
  }

  /** A line in colours, with strokes below the places of problems, and under the first place its message. */
  line(row, number, problems) {
    const strokes = problems.map(({ range, severity }) => {
      const start = units(row, range.column);
      const end = range.end_line === range.line ? units(row, range.end_column) : row.length;
      return { start, end: Math.max(end, start + 1), severity };
    });
    const parts = [];
    for (const [kind, start, end] of this.parts(row)) {
      const cuts = strokes.flatMap((stroke) => [stroke.start, stroke.end]).filter((cut) => cut > start && cut < end);
      const bounds = [start, ...new Set(cuts.sort((a, b) => a - b)), end];
      for (let k = 0; k + 1 < bounds.length; k++) {
        const under = strokes.find((stroke) => stroke.start <= bounds[k] && bounds[k] < stroke.end);
        parts.push(
          h("span", { class: [kind, under && `stroke ${under.severity}`].filter(Boolean).join(" ") }, row.slice(bounds[k], bounds[k + 1])),
        );
      }
    }
    if (strokes.some(({ start }) => start >= row.length)) parts.push(h("span", { class: "stroke error" }, " "));
    const [first] = problems;
    const message =
      first &&
      h(
        "div",
        { class: "below" },
        h("span", { class: "indent" }, row.slice(0, strokes[0].start)),
        h("span", { class: `remark ${first.severity}` }, first.message),
      );
    const marked = this.marked.has(number) ? " marked" : "";
    return h("div", { class: `line${first ? " bad" : ""}${marked}`, "data-line": number }, parts, message);
  }

  /** The parts of a line: kind, start, end. */
  parts(row) {
    const found = [];
    let at = 0;
    while (at < row.length) {
      let end = at + 1;
      let kind = "";
      for (const [name, pattern] of this.tokens) {
        pattern.lastIndex = at;
        const match = pattern.exec(row);
        if (match?.[0]) {
          [kind, end] = [name, at + match[0].length];
          break;
        }
      }
      found.push([kind, at, end]);
      at = end;
    }
    return found;
  }

  // ------------------------------------------------------------------------------------------------------------ keys

  key(event) {
    const open = !this.words.hidden;
    if (event.isComposing) return;
    if ((event.ctrlKey || event.metaKey) && event.key === " ") {
      event.preventDefault();
      this.offer();
    } else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.choose(this.chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (open && (event.key === "Enter" || event.key === "Tab") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.accept(this.chosen);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      this.close();
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      const { before } = this.place();
      const indent = /^\s*/.exec(before)[0] + " ".repeat(OPENS.test(before) ? INDENT : 0);
      this.replace(this.area.selectionStart, this.area.selectionEnd, `\n${indent}`);
    }
  }

  async offer() {
    const { line, column } = this.place();
    const asked = ++this.asked;
    const found = await this.complete(this.text, line, column);
    if (asked !== this.asked || document.activeElement !== this.area) return;
    this.offered = found.slice(0, 50);
    this.words.replaceChildren(
      ...this.offered.map(({ word, kind, detail }, k) =>
        h(
          "li",
          { id: `word-${k}`, role: "option", onmousedown: (event) => (event.preventDefault(), this.accept(k)) },
          h("b", {}, word),
          h("small", {}, detail || kind),
        ),
      ),
    );
    this.words.hidden = !this.offered.length;
    if (!this.offered.length) return this.close();
    const row = this.drawn[line - 1].element;
    const { before } = this.place();
    const style = getComputedStyle(this.copy);
    const wide = measure(before.replace(/\w*$/, ""), style.font);
    this.words.style.left = `${parseFloat(style.paddingLeft) + wide}px`;
    this.words.style.top = `${row.offsetTop + row.offsetHeight}px`;
    this.choose(0);
    this.words.scrollIntoView({ block: "nearest" });
  }

  choose(number) {
    this.chosen = (number + this.offered.length) % this.offered.length;
    [...this.words.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === this.chosen)));
    this.words.children[this.chosen].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `word-${this.chosen}`);
  }

  accept(number) {
    const end = this.area.selectionStart;
    const begun = /\w*$/.exec(this.text.slice(0, end))[0].length;
    const { insert } = this.offered[number];
    this.close();
    this.replace(end - begun, end, insert);
    this.close();
  }

  close() {
    this.asked++;
    this.words.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }
}

/** Elements as one, to be inserted at once. */
function group(elements) {
  const fragment = document.createDocumentFragment();
  fragment.append(...elements);
  return fragment;
}

function grouped(problems) {
  const found = new Map();
  for (const each of problems) found.set(each.range.line, [...(found.get(each.range.line) ?? []), each]);
  return found;
}

function measure(text, font) {
  const context = (measure.canvas ??= document.createElement("canvas")).getContext("2d");
  context.font = font;
  return context.measureText(text).width;
}
