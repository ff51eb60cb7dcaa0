// What was found: the results with how often they come about, and races, faults and deadlocks.

import { h } from "./dom.js";
import { listing } from "./program.js";
import { parse, format } from "./walk.js";

/** A table of the results: which of them can still be reached, and a button that goes to each. */
export function results(view) {
  const { walk, trace } = view;
  const total = trace.interleavings === null ? null : BigInt(trace.interleavings);
  const ahead = walk.at === null ? new Set() : walk.ahead[walk.at];
  const names = differing(trace.results);
  const rows = trace.results.map((result, k) => {
    const how =
      result.serial === true ? "the sequential result" : result.serial === false ? "not the sequential result" : "";
    return h(
      "tr",
      { class: [!ahead.has(k) && "off"], "data-result": k + 1 },
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
        h("code", {}, listing(result, names)),
        h("small", {}, [how, ...often(result, total)].filter(Boolean).join(", ")),
      ),
      h("td", { class: "state" }, ahead.has(k) ? "yes" : "no"),
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
                onclick: () => view.act(() => toFinding(walk, finding)),
              },
              `${finding.kind}`,
            ),
            ` ${finding.text}`,
          ),
        ),
      ),
  ];
}

/** To where a race or a fault is about to happen; to a deadlock itself. */
function toFinding(walk, { kind, interleaving }) {
  const tasks = parse(interleaving);
  if (kind === "deadlock") return walk.go(interleaving);
  if (kind === "fault") return walk.go(format(tasks.slice(0, -1)));
  for (const racing of [2, 1]) {
    const told = walk.go(format(tasks.slice(0, Math.max(0, tasks.length - racing))));
    if (told || walk.state?.races.length) return told;
  }
  return "";
}

/** The part of all interleavings that ends so, and how likely it is if each step is picked at random. */
function often({ interleavings, probability }, total) {
  const random = BigInt(Math.round((probability ?? 0) * 1e15));
  return [
    total !== null && `${share(BigInt(interleavings), total)} of ${total} interleavings`,
    probability !== null && `chance ${share(random, 10n ** 15n)}`,
  ];
}

function differing(all) {
  const names = Object.keys(all[0]?.texts ?? {});
  const differ = names.filter((name) => new Set(all.map(({ texts }) => texts[name])).size > 1);
  return differ.length ? differ : names;
}

/** A part as a percentage that is 0 or 100 only if it is all or nothing. */
export function share(part, whole) {
  if (part === 0n || part === whole) return part ? "100\u00a0%" : "0\u00a0%";
  const thousandths = Number((2000n * part + whole) / (2n * whole));
  if (thousandths === 0 || thousandths === 1000) return thousandths ? ">99.9\u00a0%" : "<0.1\u00a0%";
  return `${(thousandths / 10).toFixed(1)}\u00a0%`;
}
