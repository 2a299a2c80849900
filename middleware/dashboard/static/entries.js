// The entries: who wrote them, what they say, and their files, playing in place.
import { ago, bar, bytes, face, h, show } from "./dom.js";
import { call, mediaPath } from "./node.js";

const PLAIN = ["image/avif", "image/gif", "image/jpeg", "image/png", "image/webp"];
const cards = new Map();

export function drawEntries(entries, { feeds, notice, chosen, me }) {
  const titles = new Map(feeds.map((feed) => [feed.id, feed.title]));
  const shown = entries.filter((entry) => !chosen || entry.feed === chosen);
  const wasEmpty = cards.size === 0;
  const wanted = new Set();
  const list = shown.map((entry) => {
    const name = JSON.stringify([entry.feed, entry.author, entry.id]);
    // A card is drawn anew only if something in it changed: media that plays goes on playing.
    const face = JSON.stringify([entry, titles.get(entry.feed)]);
    wanted.add(name);
    if (cards.get(name)?.face !== face) {
      const fresh = !wasEmpty && !cards.has(name);
      cards.set(name, { face, card: card(entry, titles.get(entry.feed) ?? entry.feed, { notice, me, fresh }) });
    }
    const { card: element } = cards.get(name);
    const when = element.querySelector("time");
    when.textContent = ago(entry.updated);
    return element;
  });
  for (const name of cards.keys()) if (!wanted.has(name)) cards.delete(name);
  if (!list.length) {
    return show("entries", h("div", { class: "empty" }, h("strong", {}, "Nothing has arrived yet."),
      "Follow a feed, and what your neighbours carry of it will appear here. Or publish something yourself."));
  }
  return place(list);
}

// Moves only what is not where it belongs: an element that is taken out and put back stops playing.
function place(list) {
  const parent = document.getElementById("entries");
  const keep = new Set(list);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  list.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
}

function card(entry, feed, { notice, me, fresh }) {
  const why = h("div", { class: "why", hidden: true });
  const own = entry.author === me;
  return h("article", { class: fresh ? "card fresh" : "card" },
    h("div", { class: "byline" }, face(entry.author),
      h("div", {},
        h("span", { class: "who" }, entry.author_name || "somebody"), " ",
        h("span", { class: "key", title: entry.author }, entry.fingerprint ?? entry.author.slice(0, 8)),
        h("p", { class: "quiet" }, `${feed} · `, h("time", { datetime: new Date(entry.updated).toISOString() })))),
    h("h3", {}, entry.title),
    entry.summary && h("p", { class: "words" }, entry.summary),
    chips(entry),
    entry.enclosures.map((enclosure) => media(enclosure, notice)),
    h("div", { class: "actions" },
      button("Why is it here?", () => tellWhy(entry, why, notice)),
      own ? null : button("Block its author", () => block(entry, notice))),
    why);
}

function chips(entry) {
  const facts = Object.entries(entry.attributes ?? {});
  const terms = entry.categories ?? [];
  if (!facts.length && !terms.length) return null;
  return h("ul", { class: "chips" },
    terms.map((term) => h("li", {}, `#${term}`)),
    facts.map(([name, value]) => h("li", {}, `${name} `, h("b", {}, String(value)))));
}

const button = (words, press) => h("button", { class: "plain small", type: "button", onclick: press }, words);

function media(enclosure, notice) {
  const told = `${enclosure.name} · ${bytes(enclosure.length)}`;
  if (enclosure.received < enclosure.length) {
    return h("figure", { class: "media" }, bar(enclosure.received, enclosure.length),
      h("figcaption", { class: "quiet" }, `${told}, ${bytes(enclosure.received)} here so far`));
  }
  const [kind] = enclosure.type.split("/");
  const caption = h("figcaption", { class: "quiet" }, told);
  if (PLAIN.includes(enclosure.type)) return h("figure", { class: "media" }, loaded(h("img", { alt: enclosure.name, loading: "lazy" }), enclosure), caption);
  if (kind === "audio" || kind === "video") {
    return h("figure", { class: "media" }, loaded(h(kind, { controls: true, preload: "metadata" }), enclosure), caption);
  }
  return h("figure", { class: "media" }, h("button", { type: "button", class: "small",
    onclick: () => save(enclosure, notice) }, `Save ${enclosure.name}`), " ", h("span", { class: "quiet" }, bytes(enclosure.length)));
}

// The path expires after a while; a medium that is still wanted then asks for a new one and goes on where it was.
function loaded(element, enclosure) {
  let triedAt = 0;
  const load = async () => {
    triedAt = Date.now();
    const at = element.currentTime || 0;
    element.src = await mediaPath(enclosure).catch(() => "");
    if (at) element.currentTime = at;
  };
  element.addEventListener("error", () => { if (Date.now() - triedAt > 60_000) load(); });
  load();
  return element;
}

async function save(enclosure, notice) {
  try {
    const link = h("a", { href: await mediaPath(enclosure), download: enclosure.name });
    link.click();
  } catch (error) {
    notice(error.message);
  }
}

async function tellWhy(entry, why, notice) {
  if (!why.hidden) { why.hidden = true; return; }
  try {
    const told = await call("why", { entry: entry.id, feed: entry.feed, author: entry.author });
    why.textContent = told.lines.join("\n");
    why.hidden = false;
  } catch (error) {
    notice(error.message);
  }
}

async function block(entry, notice) {
  const name = entry.author_name || "this author";
  if (!confirm(`Block ${name}? Nothing of this key will be taken in or shown any more.`)) return;
  try {
    await call("block", { key: entry.author });
    notice("");
  } catch (error) {
    notice(error.message);
  }
}
