// The page as a widget of a notebook: its interleaving is that of the model in Python, both ways.

import { mount, unpacked } from "./page.js";

async function render({ model, el }) {
  const onstep = (interleaving) => {
    if (interleaving === model.get("interleaving")) return;
    model.set("interleaving", interleaving);
    model.save_changes();
  };
  const page = mount(el, await unpacked(model.get("packed")), { start: model.get("interleaving"), onstep });
  const follow = () => page.open(model.get("interleaving"));
  model.on("change:interleaving", follow);
  return () => {
    model.off("change:interleaving", follow);
    page.close();
  };
}

export default { render };
