// What was found: the results with how often they come about, and races, faults and deadlocks.

import { h, row, table } from "./dom.js";

/** A table of the results: which of them can still be reached, and a button that goes to each. */
export function results(view, possible) {
  const { walk, trace } = view;
  const rows = trace.results.map((result, k) => {
    const go = () => view.act(() => walk.go(result.interleaving));
    const about = { class: ["chip", `r${view.result(k)}`], "data-key": `result ${k}` };
    return row(
      { class: [!possible.has(k) && "off"], "data-result": k + 1 },
      h("button", { ...about, "aria-label": `go to result ${k + 1}`, onclick: go }, k + 1),
      h("td", {}, h("code", {}, result.text), h("small", {}, result.about.replaceAll(" %", "\u00a0%"))),
      h("td", { class: "state" }, possible.has(k) ? "yes" : "no"),
    );
  });
  const findings = trace.findings.map((finding, k) => {
    const go = () => view.act(() => walk.go(finding.before));
    const button = h("button", { class: "chip bad", "data-key": `finding ${k}`, onclick: go }, finding.kind);
    return h("li", {}, button, ` ${finding.text}`);
  });
  return [
    rows.length ? table({ class: "results" }, ["result", "values", "possible"], rows) : h("p", {}, "No run finishes."),
    findings.length > 0 && h("ul", { class: "findings" }, findings),
  ];
}
