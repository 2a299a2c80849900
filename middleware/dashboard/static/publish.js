// Publishing text and files. What is published is public, and the form says so where one publishes.
import { at, bar, h } from "./dom.js";
import { call, upload } from "./node.js";

const NEW = "new";

export function openPublish(feeds) {
  const dialog = at("publish");
  const feed = h("select", { name: "feed", required: true },
    feeds.map((each) => h("option", { value: each.id }, each.title ?? each.id)),
    h("option", { value: NEW }, "a new feed …"));
  const newTitle = h("input", { type: "text", name: "new", maxlength: 200 });
  const newRow = h("label", {}, "Name of the new feed", newTitle);
  const title = h("input", { type: "text", name: "title", required: true, maxlength: 500, autocomplete: "off" });
  const words = h("textarea", { name: "words", rows: 5, maxlength: 20000 });
  const files = h("input", { type: "file", name: "files", multiple: true });
  const trouble = h("p", { class: "notice", role: "alert", hidden: true });
  const progress = h("div", {});
  const go = h("button", { class: "primary", type: "submit" }, "Publish");
  const pick = () => { newRow.hidden = feed.value !== NEW; newTitle.required = feed.value === NEW; };
  feed.addEventListener("change", pick);
  const submit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    trouble.hidden = true;
    try {
      await publish({ feed: feed.value, newTitle: newTitle.value, title: title.value, words: words.value, files: [...files.files] },
        (done, total, name) => progress.replaceChildren(h("p", { class: "quiet" }, name), bar(done, total)));
      dialog.close();
    } catch (error) {
      trouble.textContent = error.message;
      trouble.hidden = false;
      progress.replaceChildren();
    }
    go.disabled = false;
  };
  dialog.replaceChildren(h("form", { method: "dialog", onsubmit: submit },
    h("h2", { id: "publish-title" }, "Publish"),
    h("label", {}, "Feed", feed), newRow,
    h("label", {}, "Title", title), h("label", {}, "Text", words), h("label", {}, "Files", files),
    h("p", { class: "public" }, "Public: whoever is near can read this and carry it on to others. You can retract it, not recall it."),
    progress, trouble,
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), go)));
  pick();
  dialog.showModal();
  title.focus();
}

async function publish(draft, progress) {
  const uploads = [];
  for (const file of draft.files) uploads.push(await upload(file, (done, total) => progress(done, total, file.name)));
  let feed = draft.feed;
  if (feed === NEW) feed = (await call("create_feed", { title: draft.newTitle })).id;
  const params = { feed, title: draft.title, uploads };
  if (draft.words) params.summary = draft.words;
  await call("publish", params);
}
