// The playground: the editor, the verdict while the user types, and what exploring and compiling show.

import { h } from "./dom.js";
import { Editor } from "./editor.js";
import { fromAddress, toAddress } from "./sharing.js";

const PAUSE = 250;
const GONE = "The server has ended. Start `wingspan play` again; the address keeps your text.";
const by = (id) => document.getElementById(id);

class Play {
  constructor({ tokens, start, programs, saves }) {
    this.programs = programs;
    this.start = start;
    this.saved = start.text;
    this.name = start.name;
    this.seed = 0;
    this.inputs = {};
    this.explored = null;
    this.editor = new Editor(by("editor"), tokens, {
      onchange: () => this.changed(),
      online: (line) => this.markCode(line),
      complete: (text, line, column) => this.ask("complete", { text, line, column }).then(({ result }) => result ?? []),
    });
    this.buildChoices(saves);
    by("explore").onclick = () => this.explore();
    by("compile").onclick = () => this.compile();
    by("format").onclick = () => this.format();
    by("share").onclick = () => this.share();
    by("stop").onclick = () => this.long?.abort();
    by("draw").onclick = () => {
      [this.seed, this.inputs] = [this.seed + 1, {}];
      this.explore();
    };
    by("save").hidden = !saves;
    by("save").onclick = () => this.save();
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey)) return;
      if (event.key === "Enter") this.explore();
      else if (event.key === "s" && saves) this.save();
      else return;
      event.preventDefault();
    });
    this.buildTabs();
    addEventListener("hashchange", () => this.openAddress());
  }

  // ------------------------------------------------------------------------------------------------------- programs

  buildChoices() {
    const groups = Map.groupBy ? Map.groupBy(this.programs, ({ group }) => group) : groupsOf(this.programs);
    const first = h("option", { value: "" }, this.start.name);
    const rest = [...groups].map(([group, some]) =>
      h(
        "optgroup",
        { label: group },
        some.map((each) => h("option", { value: this.programs.indexOf(each) }, each.name)),
      ),
    );
    by("choose").replaceChildren(first, ...rest);
    by("choose").onchange = ({ target }) => this.open(target.value === "" ? this.start : this.programs[target.value]);
  }

  async openAddress() {
    const shared = await fromAddress(location.hash);
    if (shared === null || shared === this.editor.text) return shared !== null;
    this.open({ name: this.name, text: shared });
    return true;
  }

  open({ name, text, about = "", answer = "" }) {
    this.name = name;
    [this.seed, this.inputs] = [0, {}];
    this.editor.text = text;
    this.editor.mark([]);
    const box = by("about");
    box.hidden = !about;
    box.querySelector("p").textContent = about;
    const details = box.querySelector("details");
    [details.hidden, details.open] = [!answer, false];
    details.querySelector("p").textContent = answer;
    this.showInputs([]);
  }

  // -------------------------------------------------------------------------------------------------------- requests

  /** What a job says: `{result}` or `{error}`. */
  async ask(job, body, signal) {
    try {
      const reply = await fetch(job === "save" ? "save" : `job/${job}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal,
      });
      return reply.ok || reply.status === 400 ? await reply.json() : { error: await reply.text() };
    } catch (error) {
      return error.name === "AbortError" ? { aborted: true } : { error: GONE };
    }
  }

  changed() {
    clearTimeout(this.timer);
    this.quick?.abort();
    this.say("");
    by("verdict").classList.add("waiting");
    by("stale").hidden = this.explored === null || this.explored === this.editor.text;
    this.timer = setTimeout(() => this.diagnose(), PAUSE);
  }

  async diagnose() {
    const { text } = this.editor;
    this.quick = new AbortController();
    const { signal } = this.quick;
    toAddress(text).then((hash) => text === this.editor.text && history.replaceState(null, "", hash));
    for (const fixes of [false, true]) {
      const { result, error, aborted } = await this.ask("diagnose", { text, name: this.name, fixes }, signal);
      if (aborted || signal.aborted) return;
      by("verdict").classList.remove("waiting");
      if (error) return this.showVerdict("", error);
      this.show(result, fixes);
      if (!result.verdict) return;
    }
  }

  // ------------------------------------------------------------------------------------------------------- diagnosis

  show({ problems, verdict, summary, fixes, advice }, complete) {
    this.editor.show(problems);
    const mistakes = problems.filter(({ severity }) => severity === "error").length;
    this.showVerdict(verdict, summary || `${mistakes} mistake${mistakes === 1 ? "" : "s"}`);
    by("problems").replaceChildren(
      ...problems.map(({ severity, topic, message, details, range }) =>
        h(
          "li",
          { class: severity },
          h(
            "button",
            { class: "place", onclick: () => this.editor.go(range.line, range.column) },
            `line ${range.line}`,
          ),
          h("span", {}, severity === "error" ? `${message} ` : message, severity === "error" ? h("small", {}, topic) : ""),
          details && h("pre", {}, details),
        ),
      ),
    );
    const section = by("fixes");
    if (!complete && verdict !== "safe" && verdict) {
      section.hidden = false;
      section.querySelector("h2").textContent = "looking for fixes…";
      section.querySelector("div").replaceChildren();
      return;
    }
    section.hidden = !fixes.length && (!complete || verdict === "safe");
    section.querySelector("h2").textContent = fixes.length ? advice : "no fix was found";
    section.querySelector("div").replaceChildren(
      ...fixes.map(({ title, lossless, edits }) =>
        h(
          "button",
          { class: "fix", onclick: () => this.editor.apply(edits) },
          h("code", {}, title),
          lossless ? "" : h("small", {}, " rewrites the program, without comments"),
        ),
      ),
    );
  }

  showVerdict(verdict, text) {
    const colour = verdict === "safe" ? "good" : verdict || !/^0 /.test(text) ? "bad" : "";
    by("verdict").className = colour;
    by("verdict").textContent = text;
  }

  // --------------------------------------------------------------------------------------------------------- results

  /** Ask for something that may take seconds; the user may stop it. */
  async askLong(job, what) {
    this.long?.abort();
    this.long = new AbortController();
    const { signal } = this.long;
    const { text } = this.editor;
    by("stop").hidden = false;
    this.say(`${what}…`);
    const inputs = Object.keys(this.inputs).length ? this.inputs : null;
    const body = { text, name: this.name, inputs, seed: this.seed };
    const found = await this.ask(job, body, signal);
    if (this.long.signal !== signal) return {};
    by("stop").hidden = true;
    this.say(found.aborted ? "stopped" : "");
    if (found.result || found.error) {
      this.explored = text;
      by("stale").hidden = text === this.editor.text;
    }
    return found;
  }

  async explore() {
    const { result, error } = await this.askLong("explore", "exploring");
    if (error) return this.refuse("report", error);
    if (!result) return;
    by("report").replaceChildren(h("pre", {}, result.report));
    by("export").hidden = !result.page;
    if (result.page) {
      const frame = h("iframe", { title: "The steps of the program", sandbox: "allow-scripts", src: `page/${result.page}` });
      by("steps").replaceChildren(frame);
      by("export").href = `page/${result.page}?download`;
    } else {
      by("steps").replaceChildren(h("p", { class: "hint" }, "The page takes too long for this program; see the report."));
    }
    this.showInputs(result.inputs, result.params);
    this.tab(result.page ? "steps" : "report");
    this.say(result.report.split("\n", 1)[0]);
  }

  async compile() {
    const { result, error } = await this.askLong("compile_text", "compiling");
    if (error) return this.refuse("code", error);
    if (!result) return;
    const column = (title, rows, refusal) =>
      h(
        "section",
        { "aria-label": title },
        h("h2", {}, title),
        refusal && h("p", { class: "hint" }, refusal),
        h(
          "div",
          { class: "rows", tabindex: "0" },
          rows.map(({ text, line }) =>
            h("div", { class: "row", "data-line": line, onclick: () => this.markCode(line, true) }, text || " "),
          ),
        ),
      );
    by("code").replaceChildren(column("Plan", result.plan), column("C", result.c, result.refusal));
    this.tab("code");
    this.markCode(this.editor.place().line);
  }

  refuse(panel, error) {
    by(panel).replaceChildren(h("pre", { class: "refusal" }, error));
    this.tab(panel);
  }

  /** Mark what came of a line; the line itself, too, if it was asked for from there. */
  markCode(line, back = false) {
    const rows = [...by("code").querySelectorAll(".row")];
    if (!rows.length) return;
    for (const row of rows) row.classList.toggle("marked", line > 0 && Number(row.dataset.line) === line);
    for (const column of by("code").querySelectorAll(".rows")) {
      const first = column.querySelector(".marked");
      if (first && !back) column.scrollTop = first.offsetTop - column.offsetTop - column.clientHeight / 4;
    }
    this.editor.mark(line > 0 && rows.some((row) => row.classList.contains("marked")) ? [line] : []);
  }

  showInputs(tables, params = {}) {
    const named = Object.entries(params);
    by("inputs").hidden = !tables.length && !named.length;
    by("inputs").querySelector("div").replaceChildren(
      ...tables.map(({ name, shape, vector, rows }) => {
        if (!rows.length) return h("p", { class: "hint" }, `${name}: ${shape}, drawn`);
        const read = () => {
          const cells = [...table.rows].map((row) => [...row.querySelectorAll("input")].map(valueOf));
          this.inputs = { ...this.inputs, [name]: vector ? cells[0] : cells };
          this.explore();
        };
        const table = h(
          "table",
          {},
          rows.map((row, i) =>
            h(
              "tr",
              {},
              row.map((value, j) =>
                h("td", {}, h("input", { value: String(value), size: 4, "data-kind": typeof value, "aria-label": vector ? `${name}[${j + 1}]` : `${name}[${i + 1}, ${j + 1}]`, onchange: read })),
              ),
            ),
          ),
        );
        return h("figure", {}, h("figcaption", {}, `${name} (${shape})`), table);
      }),
      ...(named.length ? [h("p", { class: "hint" }, named.map(([name, value]) => `${name} = ${value}`).join(", "))] : []),
    );
  }

  // -------------------------------------------------------------------------------------------------- further actions

  async format() {
    const { result, error } = await this.ask("format_text", { text: this.editor.text, name: this.name });
    if (error) return this.say(error.split("\n", 1)[0]);
    if (result !== undefined && result !== this.editor.text) this.editor.replace(0, this.editor.text.length, result);
  }

  async save() {
    const { text } = this.editor;
    const { error } = await this.ask("save", { text, before: this.saved });
    if (!error) this.saved = text;
    this.say(error ?? `saved ${this.start.name}`);
  }

  async share() {
    const hash = await toAddress(this.editor.text);
    const command = `wingspan play '${hash}'`;
    history.replaceState(null, "", hash);
    const shared = await navigator.clipboard?.writeText(command).then(
      () => "copied: ",
      () => "",
    );
    this.say(`${shared ?? ""}${command}`);
  }

  say(text) {
    by("said").textContent = text;
    by("said").title = text;
  }

  // ------------------------------------------------------------------------------------------------------------ tabs

  buildTabs() {
    const tabs = [...document.querySelectorAll("[role=tab]")];
    tabs.forEach((tab, k) => {
      tab.onclick = () => this.tab(tab.getAttribute("aria-controls"));
      tab.onkeydown = ({ key }) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
        if (!step) return;
        const next = tabs[(k + step + tabs.length) % tabs.length];
        this.tab(next.getAttribute("aria-controls"));
        next.focus();
      };
    });
    by("steps").append(h("p", { class: "hint" }, "Explore runs the program in every interleaving of its tasks (Ctrl+Enter)."));
    by("report").append(h("p", { class: "hint" }, "Explore the program for a report."));
    by("code").append(h("p", { class: "hint" }, "Plan and C show what the program is compiled to."));
  }

  tab(name) {
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const chosen = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      by(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
  }
}

/** A cell of a table, as its tensor has elements. */
function valueOf(input) {
  const text = input.value.trim();
  if (input.dataset.kind === "boolean") return text === "true" || text === "1";
  const number = Number(text);
  return text === "" ? 0 : Number.isNaN(number) ? text : number;
}

function groupsOf(programs) {
  const found = new Map();
  for (const each of programs) found.set(each.group, [...(found.get(each.group) ?? []), each]);
  return found;
}

const play = new Play(await (await fetch("start")).json());
if (!(await play.openAddress())) play.open(play.start);
document.body.dataset.ready = "";
