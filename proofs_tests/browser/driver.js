// What a test does with a page, and what it sees there. Evaluated in the page.
window.seen = {
  press(key) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  },
  click(selector, number) {
    const found = document.querySelectorAll(selector);
    if (found.length)
      found[Math.floor(number * found.length)].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  },
  state() {
    const text = (element) => element.textContent.trim();
    const rows = [...document.querySelectorAll("table.lanes tbody tr[data-step]")];
    const applied = document.querySelector(".pane.rule .applied");
    const cells = [...document.querySelectorAll(".memory [data-cell]")];
    return {
      interleaving: text(document.querySelector(".way")),
      hash: decodeURIComponent(location.hash.slice(1)),
      number: Number(document.querySelector(".node[aria-current]").dataset.state),
      lanes: rows.map((row) => [
        row.dataset.step,
        text(row.querySelector(".lane .task")),
        text(row.querySelector(".what span")),
      ]),
      lost: [...document.querySelectorAll("table.lanes tr.lost")].map(text),
      memory: cells.map((cell) => [cell.dataset.cell, text(cell.querySelector(".held"))]),
      written: cells.filter((cell) => cell.classList.contains("written")).map((cell) => cell.dataset.cell),
      reads: [...document.querySelectorAll(".reads li")].map(text),
      choices: [...document.querySelectorAll(".choice")].map((choice) => text(choice.querySelector(".task"))),
      offered: [...document.querySelectorAll(".choice")].map((choice) => {
        const rule = choice.querySelector(".what b");
        const does = choice.querySelector(".what").textContent.slice(rule?.textContent.length ?? 0).trim();
        return [text(choice.querySelector(".task")), rule?.textContent ?? "", does, choice.classList.contains("raced")];
      }),
      standing: [...document.querySelectorAll(".pane.program li")].flatMap((line) =>
        [...line.querySelectorAll(".places .task")].map((task) => [text(task).slice(2), Number(line.dataset.line)]),
      ),
      applied: applied && [
        text(applied.querySelector("b")),
        text(applied.querySelector(".task")).replace("task ", ""),
        applied.lastChild.textContent.trim(),
        document.querySelector(".pane.rule .inference")?.textContent ?? "",
      ],
      races: [...document.querySelectorAll(".choice.raced")].length,
      ended: [...document.querySelectorAll(".ended")].map(text),
      score: text(document.querySelector(".score")),
      message: text(document.querySelector(".message")),
      possible: [...document.querySelectorAll("tr[data-result]")].filter(
        (row) => text(row.querySelector(".state")) === "yes",
      ).length,
    };
  },
  // Every state that can be come to by choosing tasks and going back, with the races and the end that it shows.
  all() {
    const found = new Map();
    const visit = () => {
      const { number, races, choices, ended } = seen.state();
      if (found.has(number)) return;
      found.set(number, [races, choices.length, ended]);
      for (let k = 0; k < choices.length; k += 1) {
        document.querySelectorAll(".choice")[k].click();
        if (!/^fault/.test(seen.state().ended[0] ?? "")) visit();
        seen.press("b");
      }
    };
    visit();
    return [...found];
  },
  // Texts whose contrast to what is behind them is too low.
  faint() {
    const parse = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = (colour) => {
      const [r, g, b] = parse(colour)
        .map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const opaque = (colour) => parse(colour)[3] !== 0;
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const shape = at.ownerSVGElement && at.querySelector?.(":scope > rect, :scope > circle:not(.reach)");
        if (shape && shape !== element) return getComputedStyle(shape).fill;
        if (opaque(getComputedStyle(at).backgroundColor)) return getComputedStyle(at).backgroundColor;
      }
      return "rgb(255, 255, 255)";
    };
    const faint = [];
    const walker = document.createTreeWalker(document.querySelector(".wingspan"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (
        !walker.currentNode.textContent.trim() ||
        !element.checkVisibility({ opacityProperty: true }) ||
        element.tagName === "OPTION"
      )
        continue;
      let dimmed = 1;
      for (let at = element; at; at = at.parentElement) dimmed *= Number(getComputedStyle(at).opacity);
      const style = getComputedStyle(element);
      const colour = element.ownerSVGElement ? style.fill : style.color;
      const [a, b] = [light(colour), light(behind(element))].sort((one, other) => other - one);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5 || dimmed < 1)
        faint.push(`${element.className.baseVal ?? element.className} ${walker.currentNode.textContent} ${ratio}`);
    }
    return faint;
  },
};
