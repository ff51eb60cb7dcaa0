// Elements in one line, and places of a text as the server counts them.

/** An element with properties, attributes and children. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** The ends of lines, as Python's `splitlines` has them. */
const END = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/g;

/** The lines of a text; at least one. */
export function lines(text) {
  return text.split(END);
}

/** The offset of a line and a column, counted from 1 in characters, in a string, which counts UTF-16. */
export function offset(text, line, column) {
  let start = 0;
  const ends = text.matchAll(END);
  for (let k = 1; k < line; k++) {
    const end = ends.next();
    if (end.done) return text.length;
    start = end.value.index + end.value[0].length;
  }
  const rest = text.slice(start).split(END, 1)[0];
  return start + units(rest, column);
}

/** The UTF-16 units before a column of a line. */
export function units(line, column) {
  return Array.from(line).slice(0, column - 1).join("").length;
}
