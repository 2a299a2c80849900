// Puts the page together: keeps what the node told last, and draws a part again when it changes.
import { at, bar, bytes, count, h, show, span } from "./dom.js";
import { drawEntries } from "./entries.js";
import { drawFeeds, drawFound } from "./feeds.js";
import { drawContacts, drawNear, drawTransfers } from "./near.js";
import { follow } from "./node.js";
import { openPublish } from "./publish.js";

const known = { status: null, neighbours: [], transfers: [], contacts: [], feeds: [], subscriptions: [], found: [], entries: [] };
let isLive = false, chosen = "";

function notice(words) {
  at("notice").textContent = words;
  at("notice").hidden = !words;
}

const draw = {
  status() { drawState(); drawDevice(known.status); drawNear(known.neighbours, known.status); },
  neighbours() { drawState(); drawNear(known.neighbours, known.status); },
  transfers: () => drawTransfers(known.transfers),
  contacts: () => drawContacts(known.contacts),
  feeds() { drawFeeds(known.feeds, { notice, subscriptions: known.subscriptions }); drawChoice(); draw.found(); draw.entries(); },
  subscriptions: () => drawFeeds(known.feeds, { notice, subscriptions: known.subscriptions }),
  found: () => drawFound(known.found, known.feeds, notice),
  entries: () => drawEntries(known.entries, { feeds: known.feeds, notice, chosen, me: known.status?.author }),
};

function drawState() {
  const near = known.neighbours.length;
  at("state").textContent = isLive ? (near ? `${near} near` : "Nobody near, listening") : "Not connected";
  at("state").classList.toggle("live", isLive);
  at("compose").disabled = !isLive;
}

function drawChoice() {
  const options = known.feeds.filter((feed) => feed.entries).map((feed) => h("option", { value: feed.id }, feed.title ?? feed.id));
  at("chosen-feed").replaceChildren(h("option", { value: "" }, "all feeds"), ...options);
  if (!known.feeds.some((feed) => feed.id === chosen)) chosen = "";
  at("chosen-feed").value = chosen;
}

function drawDevice(status) {
  const { storage, battery } = status;
  show("device-facts",
    h("div", { class: "row" }, h("span", {}, "Storage"), h("span", { class: "quiet" }, `${bytes(storage.used)} of ${bytes(storage.limit)}`)),
    bar(storage.used, storage.limit),
    battery && h("div", {}, h("div", { class: "row" }, h("span", {}, "Battery"),
      h("span", { class: "quiet" }, `${Math.round(battery.percent)} %${battery.is_charging ? ", charging" : ""}`)), bar(battery.percent, 100)),
    h("h3", {}, "You"),
    h("dl", {},
      h("dt", {}, "Name"), h("dd", {}, status.name || "none yet; set one with: passerby me --name"),
      h("dt", {}, "Fingerprint"), h("dd", { class: "key" }, status.fingerprint),
      h("dt", {}, "Node"), h("dd", { class: "key", title: status.node_id }, status.node_id.slice(0, 16)),
      h("dt", {}, "Holds"), h("dd", {}, `${count(status.entries, "entry", "entries")} in ${count(status.feeds, "feed")}`),
      h("dt", {}, "Running for"), h("dd", {}, span((Date.now() - status.started) / 1000))));
}

function changed(section, document) {
  if (!(section in draw)) return;
  known[section] = document;
  draw[section]();
}

function told(live, why) {
  isLive = live;
  notice(live ? "" : why);
  drawState();
}

function choose(tab) {
  document.body.dataset.tab = tab;
  for (const button of document.querySelectorAll("[data-tab]")) button.setAttribute?.("aria-current", String(button.dataset.tab === tab));
}

for (const button of document.querySelectorAll(".tabs button")) button.addEventListener("click", () => choose(button.dataset.tab));
at("compose").addEventListener("click", () => openPublish(known.feeds.filter((feed) => feed.may_write !== false)));
at("chosen-feed").addEventListener("change", (event) => { chosen = event.target.value; draw.entries(); });
// Ages ("3 min ago") go on without news.
setInterval(() => { draw.entries(); if (known.contacts.length) draw.contacts(); }, 30_000);
choose("main");
follow(changed, told);
