// Begins the page: unpacks the trace document that stands in it.

import { mount } from "./page.js";

const packed = Uint8Array.from(atob(document.getElementById("trace").textContent), (letter) => letter.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const root = document.getElementById("wingspan");
mount(root, await new Response(unpacked).json(), { start: root.dataset.start, address: true });
