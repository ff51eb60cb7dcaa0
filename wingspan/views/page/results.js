// What was found: the results with how often they come about, and races, faults and deadlocks.

import { h } from "./dom.js";

/** A table of the results: which of them can still be reached, and a button that goes to each. */
export function results(view, possible) {
  const { walk, trace } = view;
  const rows = trace.results.map((result, k) => {
    return h(
      "tr",
      { class: [!possible.has(k) && "off"], "data-result": k + 1 },
      h(
        "th",
        { scope: "row" },
        h(
          "button",
          {
            class: ["chip", `r${view.result(k)}`],
            "data-key": `result ${k}`,
            "aria-label": `go to result ${k + 1}`,
            onclick: () => view.act(() => walk.go(result.interleaving)),
          },
          k + 1,
        ),
      ),
      h(
        "td",
        {},
        h("code", {}, result.text),
        h("small", {}, result.about.replaceAll(" %", "\u00a0%")),
      ),
      h("td", { class: "state" }, possible.has(k) ? "yes" : "no"),
    );
  });
  const head = ["result", "values", "possible"].map((text) => h("th", { scope: "col" }, text));
  return [
    rows.length
      ? h("table", { class: "results" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))
      : h("p", {}, "No run finishes."),
    trace.findings.length > 0 &&
      h(
        "ul",
        { class: "findings" },
        trace.findings.map((finding, k) =>
          h(
            "li",
            {},
            h(
              "button",
              {
                class: "chip bad",
                "data-key": `finding ${k}`,
                onclick: () => view.act(() => walk.go(finding.before)),
              },
              `${finding.kind}`,
            ),
            ` ${finding.text}`,
          ),
        ),
      ),
  ];
}
