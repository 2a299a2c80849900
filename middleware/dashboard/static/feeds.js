// Feeds that are here and feeds that neighbours have; following and leaving them.
import { ago, count, h, show } from "./dom.js";
import { call } from "./node.js";

const MOST = 200;

export function drawFeeds(feeds, { notice, subscriptions }) {
  if (!feeds.length) {
    show("feed-list", h("p", { class: "empty" }, h("strong", {}, "No feeds yet."), "Publish to a new one, or follow one that is near."));
    return;
  }
  const sorted = [...feeds].sort((a, b) => Number(b.subscribed) - Number(a.subscribed) || (b.updated ?? 0) - (a.updated ?? 0));
  show("feed-list", sorted.slice(0, MOST).map((feed) => row(feed, { notice, subscriptions })),
    sorted.length > MOST && h("p", { class: "quiet" }, `and ${sorted.length - MOST} more; see: passerby feeds`));
}

function row(feed, { notice, subscriptions }) {
  const facts = [count(feed.entries, "entry", "entries"), feed.updated && ago(feed.updated),
    feed.owned && "owned", feed.listed === false && "unlisted"].filter(Boolean);
  const press = feed.subscribed ? () => leave(feed, subscriptions, notice) : () => follow(feed.id, notice);
  return h("div", { class: "feed" },
    h("div", {}, h("div", { class: "name" }, feed.title ?? feed.id), h("p", { class: "quiet" }, facts.join(" · "))),
    h("button", { type: "button", class: feed.subscribed ? "small following" : "small", onclick: press,
      "aria-label": `${feed.subscribed ? "Stop following" : "Follow"} ${feed.title ?? feed.id}` },
    feed.subscribed ? "Following" : "Follow"));
}

export function drawFound(found, feeds, notice) {
  const here = new Set(feeds.map((feed) => feed.id));
  const others = found.filter((feed) => !here.has(feed.id)).slice(0, MOST);
  if (!others.length) return show("found");
  return show("found", h("h3", {}, "Seen at neighbours"), others.map((feed) => h("div", { class: "feed" },
    h("div", {}, h("div", { class: "name" }, feed.title ?? feed.id),
      h("p", { class: "quiet" }, (feed.categories ?? []).map((term) => `#${term}`).join(" ") || "near you now")),
    h("button", { type: "button", class: "small", onclick: () => follow(feed.id, notice),
      "aria-label": `Follow ${feed.title ?? feed.id}` }, "Follow"))));
}

async function follow(feed, notice) {
  await attempt(() => call("subscribe", { feed }), notice);
}

async function leave(feed, subscriptions, notice) {
  if (!confirm(`Stop following ${feed.title ?? feed.id}? What is here stays.`)) return;
  await attempt(async () => {
    for (const each of subscriptions.filter((one) => one.feed === feed.id)) await call("unsubscribe", { id: each.id });
  }, notice);
}

async function attempt(work, notice) {
  try {
    await work();
    notice("");
  } catch (error) {
    notice(error.message);
  }
}
