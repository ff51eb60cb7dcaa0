// Elements, made from what they hold. All text goes in as text, never as markup.

const QUOTED = 40;
const SVG = "http://www.w3.org/2000/svg";
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;

/** An element with attributes and children; `class` may be a list, `on…` are listeners, null is left out. A style is
 * set as a property: as an attribute, the policy of the page would forbid it.
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same of SVG. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else
      element.setAttribute(name, Array.isArray(value) ? value.filter(Boolean).join(" ") : value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** The children that are there, of lists in lists. */
export function present(children) {
  return children.flat(9).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

/** A table of rows, with headings above the columns if they are given. */
export function table(attributes, headings, rows) {
  const head = headings?.map((heading) => h("th", { scope: "col" }, heading));
  return h("table", attributes, head && h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

/** A row of a table: its heading, and other cells. */
export function row(attributes, heading, ...cells) {
  return h("tr", attributes, h("th", { scope: "row" }, heading), cells);
}

/** Scroll a pane so that an element in it can be seen; the page stays where it is. */
export function into(pane, element) {
  if (!element) return;
  const [frame, place] = [pane.getBoundingClientRect(), element.getBoundingClientRect()];
  if (place.top < frame.top || place.bottom > frame.bottom) pane.scrollTop += place.top - frame.top - frame.height / 2;
  if (place.left < frame.left || place.right > frame.right)
    pane.scrollLeft += place.left - frame.left - frame.width / 2;
}

/** A text with what cannot be seen, or turns what can be seen around, as escapes. */
export function visible(text) {
  return text.replace(CONTROL, (found) => {
    const code = found.codePointAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** The beginning of a text that somebody has written, to quote it in a message. */
export function excerpt(text) {
  return visible(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text);
}

/** `1 state`, `2 states`. */
export function count(n, noun) {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
