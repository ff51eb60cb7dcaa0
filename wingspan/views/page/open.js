// Begins the page: unpacks the trace document that stands in it.

import { mount, unpacked } from "./page.js";

const packed = Uint8Array.from(atob(document.getElementById("trace").textContent), (letter) => letter.charCodeAt(0));
const root = document.getElementById("wingspan");
mount(root, await unpacked(packed), { start: root.dataset.start, address: true });
