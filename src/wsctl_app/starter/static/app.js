// The page of the starter workspace: the files on the left, a terminal on the right. Every address
// is relative, so that the page works wherever it is mounted.

import { Terminal } from "./terminal.js";

const get = (id) => document.getElementById(id);
const PIECE = 64 * 1024; // bytes of input in one frame

// ------------------------------------------------------------------------------------ terminal

const encoder = new TextEncoder();
let socket = null;

const terminal = new Terminal(get("terminal"), {
  send(text) {
    if (socket?.readyState !== WebSocket.OPEN) return;
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length; at += PIECE) socket.send(bytes.subarray(at, at + PIECE));
  },
  resized(columns, rows) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "resize", columns, rows }));
  },
});

function connect() {
  const { columns, rows } = terminal.screen;
  const url = new URL(`terminal?columns=${columns}&rows=${rows}`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.hash = "";
  socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  get("reconnect").hidden = true;
  get("state").textContent = "Connecting…";
  terminal.restart();
  socket.onopen = () => {
    get("state").textContent = "";
    terminal.resized(terminal.screen.columns, terminal.screen.rows);
  };
  socket.onmessage = ({ target, data }) => {
    terminal.write(new Uint8Array(data));
    target.send(JSON.stringify({ type: "taken", bytes: data.byteLength })); // so that it is sent no faster
  };
  socket.onclose = ({ reason }) => {
    get("state").textContent = reason || "The connection is closed.";
    get("reconnect").hidden = false;
    if (get("terminal").contains(document.activeElement)) get("reconnect").focus();
  };
}

get("reconnect").onclick = () => { connect(); terminal.focus(); };

// --------------------------------------------------------------------------------------- files

const folder = () => location.hash.replace(/^#\/?/, ""); // percent-encoded, as the server told it
const readable = (path) => { try { return decodeURIComponent(path); } catch { return path; } };
const inFolder = (path, name) => (path ? `${path}/${name}` : name);

function say(sentence, wrong = false) {
  get("note").textContent = sentence ?? "";
  get("note").classList.toggle("wrong", wrong);
}

async function ask(address, options) {
  const answer = await fetch(address, options);
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({ detail: `The answer was ${answer.status}.` }));
  throw new Error(problem.detail);
}

// An action whose failure is a sentence above the files.
const telling = (action) => async (...given) => {
  try {
    await action(...given);
  } catch (error) {
    say(error instanceof TypeError ? "The workspace does not answer." : error.message, true);
  }
};

function size(bytes) {
  const power = bytes ? Math.min(Math.floor(Math.log2(bytes) / 10), 4) : 0;
  return `${(bytes / 1024 ** power).toFixed(power ? 1 : 0)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

const SAID = { other: "special", broken: "broken link", outside: "link to outside", unknown: "unreadable" };

function line(entry) {
  const openable = { folder: "a", file: "button" }[entry.kind];
  const element = document.createElement(openable ?? "span");
  if (entry.kind === "folder") element.href = `#/${entry.path}`;
  if (entry.kind === "file") { element.type = "button"; element.onclick = () => openFile(entry.path, entry.name); }
  if (!openable) element.className = "off";
  if (entry.modified_seconds !== null) element.title = new Date(entry.modified_seconds * 1000).toLocaleString();
  const facts = [entry.link && openable ? "link" : "", entry.size_bytes === null ? "" : size(entry.size_bytes)];
  const more = SAID[entry.kind] ?? facts.filter(Boolean).join(", ");
  for (const [className, textContent] of [["name", entry.name], ["more", more]]) {
    element.append(Object.assign(document.createElement("span"), { className, textContent }));
  }
  const item = document.createElement("li");
  item.append(element);
  return item;
}

function crumb(label, path, current) {
  const link = Object.assign(document.createElement("a"), { href: `#/${path}`, textContent: label });
  if (current) link.ariaCurrent = "page";
  return link;
}

const list = telling(async () => {
  const path = folder();
  const parts = path.split("/").filter(Boolean);
  const links = ["", ...parts].map((part, i) =>
    crumb(i ? readable(part) : "home", parts.slice(0, i).join("/"), i === parts.length));
  const trail = document.createElement("span");
  trail.append(...links.flatMap((link, i) => (i ? [" / ", link] : [link])));
  get("crumbs").replaceChildren(trail);
  const told = await (await ask(`api/files?path=${path}`)).json();
  if (path !== folder()) return; // another folder was asked for in the meantime
  say(told.note);
  get("list").replaceChildren(...told.entries.map(line));
});

// -------------------------------------------------------------------------------------- editor

let edited = null; // { path, version, ends, saved }; null while nothing is open

const changed = () => edited !== null && get("text").value !== edited.saved;
const mayLeave = () => !changed() || confirm("Leave the changes to this file unsaved?");
const offerSave = () => { get("save").disabled = !changed(); };

function show(path, name, text, version) {
  // A text area knows one kind of line end; the file's own is put back when it is saved.
  const ends = text.includes("\r\n") ? "\r\n" : "\n";
  const plain = text.replaceAll("\r\n", "\n");
  const mixed = plain.replaceAll("\n", ends) !== text || plain.includes("\r");
  edited = { path, version, ends, saved: plain };
  Object.assign(get("text"), { value: plain, readOnly: mixed });
  get("name").textContent = name;
  get("download").href = `api/file?download&path=${path}`;
  get("editor").hidden = false;
  offerSave();
  say(mixed ? "This file mixes line ends, which an editor here would change: it can only be read." : "");
  get("text").focus();
  get("text").setSelectionRange(0, 0);
}

const openFile = telling(async (path, name) => {
  if (!mayLeave()) return;
  const answer = await fetch(`api/file?path=${path}`);
  if (answer.status === 413 || answer.status === 415) { // nothing to edit, so it is fetched
    Object.assign(document.createElement("a"), { href: `api/file?download&path=${path}`, download: "" }).click();
  }
  if (!answer.ok) throw new Error((await answer.json()).detail);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await answer.arrayBuffer());
  show(path, name, text, answer.headers.get("ETag"));
});

const save = telling(async () => {
  if (!changed()) return;
  const { path, version, ends } = edited;
  const value = get("text").value;
  const condition = version ? { "If-Match": version } : { "If-None-Match": "*" };
  const body = value.replaceAll("\n", ends);
  const answer = await ask(`api/file?path=${path}`, { method: "PUT", headers: condition, body });
  if (edited?.path === path) Object.assign(edited, { version: answer.headers.get("ETag"), saved: value });
  offerSave();
  await list();
});

function closeFile() {
  if (!mayLeave()) return;
  edited = null;
  get("editor").hidden = true;
  get("list").focus();
}

get("new").onclick = () => {
  if (!mayLeave()) return;
  const name = prompt("The name of the new file");
  if (!name) return;
  show(inFolder(folder(), encodeURIComponent(name)), name, "", null);
  edited.saved = null; // an empty new file can be saved too
  offerSave();
};
get("editor").onsubmit = (event) => { event.preventDefault(); save(); };
get("text").oninput = offerSave;
get("text").onkeydown = (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
};
get("close").onclick = closeFile;
get("refresh").onclick = list;
addEventListener("hashchange", list);
addEventListener("beforeunload", (event) => { if (changed()) event.preventDefault(); });
addEventListener("keydown", (event) => {
  if (!event.ctrlKey || event.key !== "F6") return;
  event.preventDefault();
  if (get("shell").contains(document.activeElement)) (get("list").querySelector("a, button") ?? get("list")).focus();
  else terminal.focus();
});

list();
terminal.fit();
connect();
terminal.focus();
