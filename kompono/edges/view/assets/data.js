// The scene and its numbers, out of the page: JSON, and one block of gzipped bytes that JSON points into.
"use strict";

async function unpack() {
  const text = document.getElementById("numbers").textContent.trim();
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  const data = JSON.parse(document.getElementById("scene").textContent);
  const kinds = { f4: Float32Array, u4: Uint32Array, f8: Float64Array, u1: Uint8Array };
  for (const [name, [kind, offset, count]] of Object.entries(data.arrays)) {
    data.arrays[name] = new kinds[kind](bytes, offset, count);
  }
  data.arrays.columns = unfold(data.arrays.columns, data.arrays.times.length);
  return data;
}

// Columns of `rows` numbers each, one after the other, out of bytes sorted by rank and differenced twice (`columns.py`).
function unfold(bytes, rows) {
  const count = bytes.length / 4, bits = new Int32Array(count);
  for (let k = 0; k < count; k++) {
    const folded = bytes[k] | bytes[count + k] << 8 | bytes[2 * count + k] << 16 | bytes[3 * count + k] << 24;
    bits[k] = (folded >>> 1) ^ -(folded & 1);
  }
  for (let start = 0; start < count; start += rows) {
    let slope = 0, value = 0;
    for (let k = start; k < start + rows; k++) {
      slope = slope + bits[k] | 0;
      value = value + slope | 0;
      bits[k] = value;
    }
  }
  return new Float32Array(bits.buffer);
}

// Index of the last of increasing numbers not after `value`, and the share of the way to the next; `at` gives number k.
function locate(count, at, value) {
  let low = 0, high = count - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (at(middle) <= value) low = middle; else high = middle;
  }
  if (high <= low) return [Math.max(0, low), 0];
  const span = at(high) - at(low);
  return [low, span > 0 ? Math.min(1, Math.max(0, (value - at(low)) / span)) : 0];
}

// A pose between two others: positions along the line, turns the shorter way. All are x, y, z, e0, e1, e2, e3.
function between(target, offset, a, b, share) {
  for (let j = 0; j < 3; j++) target[offset + j] = a[j] + share * (b[j] - a[j]);
  const near = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
  let size = 0;
  for (let j = 3; j < 7; j++) {
    const value = a[j] + share * (near * b[j] - a[j]);
    target[offset + j] = value;
    size += value * value;
  }
  const scale = 1 / Math.max(Math.sqrt(size), 1e-12);
  for (let j = 3; j < 7; j++) target[offset + j] *= scale;
}
