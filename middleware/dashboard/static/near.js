// Who is near, what moves between us, and whom we met in the last day.
import { bar, bytes, count, face, h, s, show, span } from "./dom.js";

const short = (id) => `${id.slice(0, 4)} ${id.slice(4, 8)}`;
const WIDTH = 320, HEIGHT = 232, CENTRE = [160, 108];
const MOST_DRAWN = 14, MOST_LANES = 12;

// The place on the circle follows the id, so that nobody jumps about when somebody else comes.
function places(neighbours) {
  const shown = [...neighbours].sort((a, b) => (a.node_id < b.node_id ? -1 : 1)).slice(0, MOST_DRAWN);
  return shown.map((neighbour, index) => {
    const angle = ((index + 0.5) / shown.length) * 2 * Math.PI - Math.PI / 2;
    const reach = shown.length > 7 && index % 2 ? 0.72 : 1;
    return [neighbour, CENTRE[0] + Math.cos(angle) * 122 * reach, CENTRE[1] + Math.sin(angle) * 88 * reach];
  });
}

export function drawNear(neighbours, status) {
  const map = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": neighbours.length ? `${count(neighbours.length, "neighbour")} near` : "Nobody is near" });
  for (const reach of [0.5, 1]) {
    map.append(s("ellipse", { class: "ring", cx: CENTRE[0], cy: CENTRE[1], rx: 122 * reach, ry: 88 * reach }));
  }
  if (!neighbours.length) {
    for (const which of ["wave", "wave second"]) {
      map.append(s("ellipse", { class: which, cx: CENTRE[0], cy: CENTRE[1], rx: 122, ry: 88 }));
    }
  }
  const busy = new Set(status?.busy ?? []);
  const placed = places(neighbours);
  for (const [neighbour, x, y] of placed) {
    const line = busy.has(neighbour.node_id) ? "link busy" : "link";
    map.append(s("line", { class: line, x1: CENTRE[0], y1: CENTRE[1], x2: x, y2: y }));
  }
  for (const [neighbour, x, y] of placed) {
    const title = s("title", {}, `${neighbour.node_id}, here for ${span((Date.now() - neighbour.since) / 1000)}`);
    const picture = face(neighbour.node_id, 30);
    picture.setAttribute("x", x - 15);
    picture.setAttribute("y", y - 15);
    map.append(s("g", {}, title, picture, s("text", { class: "peer-name", x, y: y + 27 }, short(neighbour.node_id))));
  }
  map.append(s("circle", { class: "me", cx: CENTRE[0], cy: CENTRE[1], r: 21 }),
    s("text", { class: "me-text", x: CENTRE[0], y: CENTRE[1] + 4 }, "you"));
  const more = neighbours.length - placed.length;
  show("map", map, neighbours.length
    ? more > 0 && h("p", { class: "quiet" }, `and ${more} more`)
    : h("p", { class: "empty" }, h("strong", {}, "Nobody is near yet."),
      "Your device keeps saying hello. If somebody should be here, try: passerby doctor"));
}

// How fast each file grew between the last two times that it was told.
const growth = new Map();

function rateOf({ root, received }) {
  const before = growth.get(root), now = Date.now();
  if (!before || received !== before.received) {
    const seconds = before ? (now - before.at) / 1000 : 0;
    growth.set(root, { received, at: now, rate: seconds > 0 ? (received - before.received) / seconds : 0 });
  }
  const { at, rate } = growth.get(root);
  return now - at < 3000 ? rate : 0;
}

export function drawTransfers(transfers) {
  for (const root of growth.keys()) if (!transfers.some((each) => each.root === root)) growth.delete(root);
  if (!transfers.length) return show("transfers", h("p", { class: "empty" }, "Nothing is moving just now."));
  return show("transfers", transfers.map((each) => [each, rateOf(each)]).map(([each, rate]) => h("div", { class: "transfer" },
    h("div", { class: "row" }, h("span", {}, each.name || each.root.slice(0, 12)),
      h("span", { class: "quiet" }, `${bytes(each.received)} of ${bytes(each.length)}`)),
    bar(each.received, each.length),
    h("p", { class: "quiet" }, rate > 0 ? `${bytes(rate)}/s` : "waiting for somebody who has it"))));
}

export function drawContacts(contacts) {
  const now = Date.now(), day = 86_400_000;
  const lanes = new Map();
  for (const contact of contacts) {
    if (!lanes.has(contact.node_id)) lanes.set(contact.node_id, []);
    lanes.get(contact.node_id).push(contact);
  }
  if (!lanes.size) return show("contacts", h("p", { class: "empty" }, "Nobody has passed by in the last day."));
  const rows = [...lanes].slice(0, MOST_LANES);
  const height = rows.length * 18 + 18, left = 62, right = 312;
  const x = (moment) => left + (right - left) * Math.max(0, Math.min(1, (moment - (now - day)) / day));
  const drawn = s("svg", { viewBox: `0 0 320 ${height}`, role: "img",
    "aria-label": `${count(contacts.length, "contact")} with ${count(lanes.size, "node")} in the last day` });
  rows.forEach(([peer, theirs], index) => {
    const y = index * 18 + 10;
    drawn.append(s("text", { class: "peer-name", x: 28, y: y + 3 }, short(peer)),
      s("line", { class: "lane", x1: left, x2: right, y1: y, y2: y }));
    for (const contact of theirs) {
      const begin = x(contact.began), end = x(contact.ended ?? now);
      drawn.append(s("rect", { class: contact.ended === null ? "met now" : "met", x: begin, y: y - 4, height: 8, rx: 3,
        width: Math.max(3, end - begin) },
      s("title", {}, `${new Date(contact.began).toLocaleTimeString()}, ${span(((contact.ended ?? now) - contact.began) / 1000)}`)));
    }
  });
  for (const [hours, words, anchor] of [[24, "a day ago", "start"], [12, "12 h", "middle"], [0, "now", "end"]]) {
    drawn.append(s("text", { class: "axis", x: x(now - hours * 3_600_000), y: height - 2, "text-anchor": anchor }, words));
  }
  const more = lanes.size - rows.length;
  return show("contacts", drawn, more > 0 && h("p", { class: "quiet" }, `and ${count(more, "other node")}`));
}
