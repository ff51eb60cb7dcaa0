// Programs in addresses: the fragment holds the compressed text, as `sharing.py` reads it.

const MARK = "#program=";

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** The fragment that holds a text. */
export async function toAddress(text) {
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate"));
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  return MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text that a fragment holds, or null. */
export async function fromAddress(hash) {
  if (!hash.startsWith(MARK)) return null;
  try {
    const letters = atob(hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(packed, new DecompressionStream("deflate")));
  } catch {
    return null;
  }
}
