// Talks to the node: calls, and the stream of what changes. The token came in the fragment of the address.
const KEPT = "passerby-token";

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

const headers = () => ({ Authorization: `Bearer ${token()}` });

export class Refused extends Error {}

async function sentence(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim() || `the node answered with ${response.status}`;
  }
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  } catch {
    throw new Refused("The node does not answer. Is it still running? Start it with: passerby up");
  }
  if (!response.ok) throw new Refused(await sentence(response));
  return response;
}

export async function call(method, params = {}) {
  const body = JSON.stringify({ method, params });
  const response = await send("/call", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  return (await response.json()).result;
}

export async function mediaPath(enclosure) {
  const { root, name, type } = enclosure;
  const body = JSON.stringify({ root, name, type });
  const response = await send("/media", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  return (await response.json()).path;
}

// XMLHttpRequest, because fetch does not tell how far an upload has come.
export function upload(file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/upload?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Authorization", headers().Authorization);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => progress(event.loaded, file.size);
    request.onerror = () => reject(new Refused(`${file.name} could not be handed to the node`));
    request.onload = () => {
      if (request.status === 200) resolve(JSON.parse(request.responseText).upload);
      else reject(new Refused(request.responseText.trim()));
    };
    request.send(file);
  });
}

// Calls `changed(section, document)` for each change, for ever; `told(isLive, why)` when the line goes and comes.
export async function follow(changed, told) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const response = await send("/live", {});
      told(true);
      wait = 500;
      await readEvents(response.body, changed);
      told(false, "The node has stopped.");
    } catch (error) {
      told(false, error instanceof Refused ? error.message : "The line to the node was cut.");
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function readEvents(body, changed) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const section = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const text = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (section && text) changed(section, JSON.parse(text));
    }
  }
}
