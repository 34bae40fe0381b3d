// The scene and its numbers, out of the page: JSON, and one block of gzipped bytes that JSON points into.
"use strict";

async function unpack() {
  const text = document.getElementById("numbers").textContent.trim();
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  const data = JSON.parse(document.getElementById("scene").textContent);
  const kinds = { f4: Float32Array, u4: Uint32Array };
  for (const [name, [kind, offset, count]] of Object.entries(data.arrays)) {
    data.arrays[name] = new kinds[kind](bytes, offset, count);
  }
  return data;
}

// Index of the last of increasing `times` not after `time`, and the share of the way to the next.
function locate(times, time) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  if (high <= low) return [low, 0];
  const span = times[high] - times[low];
  return [low, span > 0 ? Math.min(1, Math.max(0, (time - times[low]) / span)) : 0];
}
