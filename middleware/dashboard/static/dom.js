// Builds the page. Everything that comes from other people passes through here as text and never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);
export const at = (id) => document.getElementById(id);

export function show(id, ...children) {
  at(id).replaceChildren(...children.flat().filter(Boolean));
}

export function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count, unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function span(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export function ago(milliseconds) {
  const seconds = (Date.now() - milliseconds) / 1000;
  if (seconds < -60) return new Date(milliseconds).toLocaleString();
  return seconds < 45 ? "just now" : `${span(seconds)} ago`;
}

export const count = (number, word, words = `${word}s`) => `${number} ${number === 1 ? word : words}`;

export function bar(done, total) {
  const part = total > 0 ? Math.min(1, done / total) : 1;
  const drawn = s("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { x: 0, y: 0, width: 100 * part, height: 6 }));
  return h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-valuenow": Math.round(100 * part) }, drawn);
}

// A face that is always the same for the same key, so that an impostor with the same name looks different.
export function face(key, size = 36) {
  const numbers = (key.match(/[0-9a-f]{2}/g) ?? ["80"]).map((pair) => parseInt(pair, 16));
  const of = (index) => numbers[index % numbers.length];
  const hue = Math.round((of(0) / 256) * 360);
  const drawn = s("svg", { class: "face", viewBox: "0 0 36 36", width: size, height: size, "aria-hidden": "true" },
    s("circle", { cx: 18, cy: 18, r: 18, fill: `hsl(${hue} 38% 82%)` }));
  for (let index = 0; index < 15; index += 1) {
    if (of(index + 3) % 2) continue;
    const row = index % 5, column = Math.floor(index / 5);
    for (const x of new Set([column, 4 - column])) {
      drawn.append(s("rect", { x: 8 + x * 4, y: 8 + row * 4, width: 4.05, height: 4.05, fill: `hsl(${hue} 55% 34%)` }));
    }
  }
  return drawn;
}
