// A terminal: a grid of characters that understands what shells, editors and pagers send to an
// xterm. `Screen` is the grid and knows no page; `Terminal` shows one and knows no network.

const SCROLLBACK = 1000; // lines
const LONGEST_SEQUENCE = 4096; // characters; what is longer is no sequence
const ROW = 17; // pixels, as in the style sheet
const PLAIN = Object.freeze({});
const BLANK = Object.freeze({ text: " ", width: 1, style: PLAIN });

const TEXT = /[^\x00-\x1f\x7f]+/y;
const CSI = /\x1b\[([<-?]?)([\d;:]*)([ -/]*)([@-~])/y;
const STRING = /\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\)/y; // titles and such: ignored
const ESCAPE = /\x1b([ #%(-+]?)([0-Z\\`-~])/y;
const BEGUN = /\x1b(?:\[[<-?]?[\d;:]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ #%(-+])?$/y;

const MARK = /^[\p{M}\u200b-\u200d\ufe00-\ufe0f]$/u; // joins the character before it
const WIDE = new RegExp(`^[${[
  "\u1100-\u115f\u231a\u231b\u23e9-\u23ec\u2614\u2615\u26a1\u2705\u274c\u2728\u2b50\u2e80-\u303e",
  "\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6",
  "\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}",
].join("")}]$`, "u");
const DRAWN = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"; // the graphics set, from ` to ~

const widthOf = (char) => (char < "\u0300" ? 1 : MARK.test(char) ? 0 : WIDE.test(char) ? 2 : 1);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

export class Screen {
  constructor(columns, rows, reply) {
    Object.assign(this, { columns, rows, reply });
    this.reset();
  }

  reset() {
    Object.assign(this, { x: 0, y: 0, style: PLAIN, full: false, top: 0, bottom: this.rows - 1 });
    this.modes = { wrap: true, cursor: true, insert: false, origin: false, arrows: false, paste: false };
    this.graphics = [false, false]; // which of the two character sets draws lines
    this.set = 0;
    this.saved = null; // what ESC 7 keeps
    this.main = null; // the ordinary lines, while the alternate screen is shown
    this.left = []; // lines that scrolled out at the top since somebody took them
    this.forget = false; // the scrollback is to be emptied
    this.rest = ""; // the beginning of a sequence
    this.lines = Array.from({ length: this.rows }, () => this.row());
  }

  blank() { // cells are shared and never changed, only replaced
    if (this.style.back === undefined) return BLANK;
    return { text: " ", width: 1, style: { back: this.style.back } };
  }

  row() { return { changed: true, cells: new Array(this.columns).fill(this.blank()) }; }

  write(text) {
    const input = this.rest + text;
    let at = 0;
    const match = (pattern) => {
      pattern.lastIndex = at;
      const found = pattern.exec(input);
      if (found) at = pattern.lastIndex;
      return found;
    };
    for (let found; at < input.length;) {
      if ((found = match(TEXT))) this.put(found[0]);
      else if (input[at] !== "\x1b") this.control(input[at++]);
      else if ((found = match(CSI))) this.csi(found[1] + found[3], found[2], found[4]);
      else if ((found = match(STRING))) continue;
      else if (input.length - at < LONGEST_SEQUENCE && ((BEGUN.lastIndex = at), BEGUN.test(input))) break;
      else if ((found = match(ESCAPE))) this.escape(found[1], found[2]);
      else at++;
    }
    this.rest = input.slice(at);
  }

  put(text) {
    for (let char of text) {
      if (this.graphics[this.set] && char >= "`" && char <= "~") char = DRAWN[char.charCodeAt(0) - 96];
      const width = Math.min(widthOf(char), this.columns);
      if (width === 0) { this.join(char); continue; }
      if (this.full || this.x + width > this.columns) {
        if (this.modes.wrap) { this.x = 0; this.feed(); } else this.x = this.columns - width;
      }
      if (this.modes.insert) this.insert(width);
      const row = this.lines[this.y];
      this.part(row, this.x);
      this.part(row, this.x + width);
      row.cells[this.x] = { text: char, width, style: this.style };
      if (width === 2) row.cells[this.x + 1] = { text: "", width: 0, style: this.style };
      row.changed = true;
      this.full = this.x + width >= this.columns;
      this.x = Math.min(this.x + width, this.columns - 1);
    }
  }

  part(row, x) { // no wide character may lie across the left edge of a cell that changes
    if (row.cells[x]?.width === 0) row.cells[x - 1] = row.cells[x] = this.blank();
  }

  join(mark) {
    const row = this.lines[this.y];
    let x = this.full ? this.x : this.x - 1;
    if (x > 0 && row.cells[x].width === 0) x--;
    if (x >= 0 && row.cells[x].text.length < 16) row.cells[x] = { ...row.cells[x], text: row.cells[x].text + mark };
    row.changed = true;
  }

  control(char) {
    if (char === "\r") this.to(0);
    else if (char === "\n" || char === "\v" || char === "\f") this.feed();
    else if (char === "\b") this.to(this.x - 1);
    else if (char === "\t") this.to((this.x >> 3 << 3) + 8);
    else if (char === "\x0e") this.set = 1;
    else if (char === "\x0f") this.set = 0;
  }

  to(x, y = this.y) {
    Object.assign(this, { x: clamp(x, 0, this.columns - 1), y: clamp(y, 0, this.rows - 1), full: false });
  }

  at(x, y) { // as a program counts: in its region, where it asked for that
    if (this.modes.origin) this.to(x, clamp(y + this.top, this.top, this.bottom)); else this.to(x, y);
  }

  feed() {
    this.full = false;
    if (this.y === this.bottom) this.scroll(1, this.top, true); else this.to(this.x, this.y + 1);
  }

  scroll(count, top = this.top, keep = false) { // up; a negative count goes down
    for (let n = Math.min(Math.abs(count), this.bottom - top + 1); n > 0; n--) {
      const [gone] = this.lines.splice(count > 0 ? top : this.bottom, 1);
      this.lines.splice(count > 0 ? this.bottom : top, 0, this.row());
      if (keep && top === 0 && !this.main) this.left.push(gone);
    }
    if (this.left.length > 2 * SCROLLBACK) this.left = this.left.slice(-SCROLLBACK);
  }

  erase(y, from = 0, to = this.columns) {
    const row = this.lines[y];
    this.part(row, from);
    this.part(row, to);
    row.cells.fill(this.blank(), from, to);
    row.changed = true;
  }

  insert(count) { // cells at the cursor; a negative count deletes them
    const row = this.lines[this.y];
    const blanks = new Array(Math.min(Math.abs(count), this.columns - this.x)).fill(this.blank());
    this.part(row, this.x);
    this.part(row, count > 0 ? this.columns - blanks.length : this.x + blanks.length);
    if (count > 0) row.cells.splice(this.x, 0, ...blanks);
    else { row.cells.splice(this.x, blanks.length); row.cells.push(...blanks); }
    row.cells.length = this.columns;
    row.changed = true;
  }

  save() { this.saved = { x: this.x, y: this.y, style: this.style, set: this.set, graphics: [...this.graphics] }; }

  restore() {
    const { x, y, ...rest } = this.saved ?? { x: 0, y: 0, style: PLAIN };
    Object.assign(this, rest);
    this.to(x, y);
  }

  escape(kind, final) {
    if (kind === "(" || kind === ")") this.graphics[kind === "(" ? 0 : 1] = final === "0";
    else if (kind) return;
    else if (final === "7") this.save();
    else if (final === "8") this.restore();
    else if (final === "D") this.feed();
    else if (final === "E") { this.to(0); this.feed(); }
    else if (final === "M") { if (this.y === this.top) this.scroll(-1); else this.to(this.x, this.y - 1); }
    else if (final === "c") { this.reset(); this.forget = true; }
  }

  csi(kind, parameters, final) {
    const p = parameters.split(/[;:]/).map(Number);
    const n = p[0] || 1;
    if (kind === "?" && (final === "h" || final === "l")) p.forEach((mode) => this.mode(mode, final === "h"));
    else if (kind === ">" && final === "c") this.reply("\x1b[>0;0;0c");
    else if (kind === "!" && final === "p") { this.modes.origin = this.modes.insert = false; this.style = PLAIN; }
    if (kind) return;
    switch (final) {
      case "A": this.to(this.x, Math.max(this.y - n, this.y >= this.top ? this.top : 0)); break;
      case "B": this.to(this.x, Math.min(this.y + n, this.y <= this.bottom ? this.bottom : this.rows)); break;
      case "C": case "a": this.to(this.x + n); break;
      case "D": this.to(this.x - n); break;
      case "E": this.to(0, this.y + n); break;
      case "F": this.to(0, this.y - n); break;
      case "G": case "`": this.to(n - 1); break;
      case "H": case "f": this.at((p[1] || 1) - 1, n - 1); break;
      case "d": this.at(this.x, n - 1); break;
      case "I": this.to(((this.x >> 3) + n) * 8); break;
      case "Z": this.to((((this.x + 7) >> 3) - n) * 8); break;
      case "J":
        if (p[0] === 3) this.forget = true;
        else if (p[0] !== 1) this.erase(this.y, p[0] === 2 ? 0 : this.x); else this.erase(this.y, 0, this.x + 1);
        if (p[0] === 1 || p[0] === 2) for (let y = 0; y < this.y; y++) this.erase(y);
        if (p[0] === 0 || p[0] === 2) for (let y = this.y + 1; y < this.rows; y++) this.erase(y);
        break;
      case "K": this.erase(this.y, p[0] ? 0 : this.x, p[0] === 1 ? this.x + 1 : this.columns); break;
      case "L": case "M":
        if (this.y >= this.top && this.y <= this.bottom) this.scroll(final === "L" ? -n : n, this.y);
        break;
      case "P": this.insert(-n); break;
      case "@": this.insert(n); break;
      case "X": this.erase(this.y, this.x, this.x + n); break;
      case "S": this.scroll(n); break;
      case "T": this.scroll(-n); break;
      case "b": {
        const last = this.lines[this.y].cells[this.full ? this.x : this.x - 1];
        this.put((last?.text ?? "").repeat(Math.min(n, this.columns)));
        break;
      }
      case "c": this.reply("\x1b[?1;2c"); break;
      case "n":
        if (p[0] === 5) this.reply("\x1b[0n");
        if (p[0] === 6) this.reply(`\x1b[${this.y - (this.modes.origin ? this.top : 0) + 1};${this.x + 1}R`);
        break;
      case "r": {
        const [top, bottom] = [n - 1, Math.min(p[1] || this.rows, this.rows) - 1];
        if (top < bottom) { Object.assign(this, { top, bottom }); this.at(0, 0); }
        break;
      }
      case "s": this.save(); break;
      case "u": this.restore(); break;
      case "h": case "l": if (p.includes(4)) this.modes.insert = final === "h"; break;
      case "m": this.paint(parameters); break;
    }
  }

  mode(mode, on) {
    const named = { 1: "arrows", 6: "origin", 7: "wrap", 25: "cursor", 2004: "paste" }[mode];
    if (named) this.modes[named] = on;
    if (mode === 6) this.at(0, 0);
    if (mode !== 47 && mode !== 1047 && mode !== 1049) return;
    if (mode === 1049 && on) this.save();
    if (on && !this.main) {
      this.main = this.lines;
      this.lines = Array.from({ length: this.rows }, () => this.row());
    } else if (!on && this.main) {
      this.lines = this.main;
      this.main = null;
    }
    if (mode === 1049 && !on) this.restore();
  }

  paint(parameters) {
    const style = { ...this.style };
    const codes = parameters.replace(/(?<![^;])4:(\d)/g, (_, kind) => (kind === "0" ? "24" : "4"))
      .replace(/([34]8):2:\d*:(\d+:\d+:\d+)/g, "$1:2:$2").split(/[;:]/).map(Number);
    const flags = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 8: "hidden", 9: "strike" };
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i];
      const ground = code % 100 < 40 && code < 100 ? "fore" : "back";
      if (code === 0) for (const key of Object.keys(style)) delete style[key];
      else if (flags[code]) style[flags[code]] = true;
      else if (code === 22) { delete style.bold; delete style.dim; }
      else if (flags[code - 20]) delete style[flags[code - 20]];
      else if (code === 39 || code === 49) delete style[ground];
      else if (code === 38 || code === 48) {
        if (codes[i + 1] === 5) { style[ground] = codes[i + 2]; i += 2; }
        else if (codes[i + 1] === 2) { style[ground] = `rgb(${codes.slice(i + 2, i + 5)})`; i += 4; }
      } else if (code >= 30 && code <= 47) style[ground] = code % 10;
      else if (code >= 90 && code <= 97) style.fore = code - 82;
      else if (code >= 100 && code <= 107) style.back = code - 92;
    }
    this.style = Object.freeze(style);
  }

  resize(columns, rows) {
    Object.assign(this, { columns, full: false });
    for (const lines of this.main ? [this.lines, this.main] : [this.lines]) {
      for (const row of lines) {
        this.part(row, columns);
        while (row.cells.length < columns) row.cells.push(BLANK);
        row.cells.length = columns;
        row.changed = true;
      }
      while (lines.length < rows) lines.push(this.row());
      while (lines.length > rows) {
        if (lines.length - 1 > this.y) { lines.pop(); continue; }
        const gone = lines.shift();
        if (!this.main) this.left.push(gone);
        if (lines === this.lines) this.y--;
      }
    }
    Object.assign(this, { rows, top: 0, bottom: rows - 1 });
    this.to(this.x, this.y);
  }
}

const colour = (told) => {
  if (typeof told === "string") return told;
  if (told < 16) return `var(--c${told})`;
  if (told > 231) return `rgb(${Array(3).fill((told - 232) * 10 + 8)})`;
  return `rgb(${[36, 6, 1].map((step) => Math.floor((told - 16) / step) % 6).map((part) => part && part * 40 + 55)})`;
};

const FINAL = {
  ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F",
  F1: "P", F2: "Q", F3: "R", F4: "S",
};
const NUMBER = {
  Insert: 2, Delete: 3, PageUp: 5, PageDown: 6,
  F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F11: 23, F12: 24,
};
const PLAINLY = { Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b" };

// What a key sends, or null when the page is to have it.
export function keySequence(event, arrows) {
  const { key, ctrlKey, altKey, shiftKey, metaKey } = event;
  if (metaKey || (shiftKey && key === "Insert") || event.getModifierState("AltGraph")) return null;
  const modifiers = 1 + shiftKey + 2 * altKey + 4 * ctrlKey;
  if (FINAL[key]) {
    const applies = arrows || key.startsWith("F");
    return modifiers > 1 ? `\x1b[1;${modifiers}${FINAL[key]}` : `\x1b${applies ? "O" : "["}${FINAL[key]}`;
  }
  if (NUMBER[key]) return `\x1b[${NUMBER[key]}${modifiers > 1 ? `;${modifiers}` : ""}~`;
  if (key === "Tab" && shiftKey) return "\x1b[Z";
  const alt = altKey ? "\x1b" : "";
  if (PLAINLY[key]) return alt + (key === "Backspace" && ctrlKey ? "\b" : PLAINLY[key]);
  if (key.length !== 1) return null;
  if (ctrlKey && key === " ") return `${alt}\0`;
  if (ctrlKey && (shiftKey ? /[@^_]/ : /[@-_a-z]/).test(key)) {
    return alt + String.fromCharCode(key.charCodeAt(0) & 31);
  }
  if (ctrlKey) return null; // Ctrl+Shift with a letter is the browser's: copy, paste
  return altKey && !/Mac/.test(navigator.platform) ? alt + key : null;
}

export class Terminal {
  constructor(parent, { send, resized }) {
    this.send = send;
    this.resized = resized;
    const make = (tag, className, into) =>
      into.appendChild(Object.assign(document.createElement(tag), { className }));
    this.view = make("div", "view", parent);
    this.history = make("div", "history", this.view);
    this.grid = make("div", "grid", this.view);
    this.rows = make("div", "rows", this.grid);
    this.cursor = make("div", "cursor", this.grid);
    this.input = make("textarea", "input", this.grid);
    this.probe = make("span", "probe", this.grid);
    this.probe.textContent = "0".repeat(100);
    this.probe.ariaHidden = "true";
    for (const [name, value] of Object.entries({
      "aria-label": "Terminal input", "aria-describedby": "keys",
      spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    })) this.input.setAttribute(name, value);
    this.view.tabIndex = -1;
    this.screen = new Screen(80, 24, (text) => this.send(text));
    this.kept = 0; // when lines were last added to the scrollback
    this.restart();
    this.listen();
    new ResizeObserver(() => this.fit()).observe(parent);
  }

  restart() {
    this.decoder = new TextDecoder();
    this.screen.reset();
    this.draw();
  }

  write(bytes) {
    this.screen.write(this.decoder.decode(bytes, { stream: true }));
    this.draw();
  }

  focus() { this.input.focus({ preventScroll: true }); }

  fit() {
    const cell = this.probe.getBoundingClientRect().width / 100;
    const columns = clamp(Math.floor(this.view.clientWidth / cell), 2, 500);
    const rows = clamp(Math.floor(this.view.clientHeight / ROW), 2, 200);
    this.grid.style.paddingBottom = `${Math.max(this.view.clientHeight - rows * ROW, 0)}px`; // no half row above
    if (!cell || (columns === this.screen.columns && rows === this.screen.rows)) return;
    this.screen.resize(columns, rows);
    this.draw();
    this.resized(columns, rows);
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.show(); });
  }

  show() {
    const { screen, view } = this;
    const following = view.scrollHeight - view.scrollTop - view.clientHeight < 20;
    view.classList.toggle("alternate", Boolean(screen.main));
    if (screen.forget) this.history.replaceChildren();
    screen.forget = false;
    if (screen.left.length > 200 && performance.now() - this.kept < 500) this.draw(); // a flood: not every frame
    else this.keep(screen.left.splice(0).slice(-SCROLLBACK));
    const shown = screen.lines.map((row) => this.element(row));
    if (shown.length !== this.rows.childElementCount || shown.some((row, y) => row !== this.rows.children[y])) {
      this.rows.replaceChildren(...shown); // only when it must be: a selection survives
    }
    this.cursor.hidden = !screen.modes.cursor;
    const place = `translate(${screen.x}ch, ${screen.y * ROW}px)`;
    this.cursor.style.transform = this.input.style.transform = place;
    if (following) view.scrollTop = view.scrollHeight;
  }

  keep(rows) {
    this.kept = performance.now();
    this.history.append(...rows.map((row) => this.element(row)));
    while (this.history.childElementCount > SCROLLBACK) this.history.firstChild.remove();
  }

  element(row) {
    row.element ??= Object.assign(document.createElement("div"), { className: "row" });
    if (!row.changed) return row.element;
    row.changed = false;
    const spans = [];
    let last = null;
    for (const cell of row.cells) {
      if (cell.width === 0) continue;
      if (!last || cell.width === 2 || last.width === 2 || cell.style !== last.style) {
        last = { ...cell, text: "" };
        spans.push(last);
      }
      last.text += cell.text;
    }
    row.element.replaceChildren(...spans.map(({ text, width, style }) => {
      if (style === PLAIN && width === 1) return text;
      const span = document.createElement("span");
      span.textContent = text;
      span.className = Object.keys(style).filter((key) => style[key] === true).join(" ");
      if (width === 2) span.classList.add("wide");
      let { fore, back } = style;
      if (style.inverse) [fore, back] = [back ?? "var(--pane)", fore ?? "var(--text)"];
      if (fore !== undefined) span.style.color = colour(fore);
      if (back !== undefined) span.style.background = colour(back);
      return span;
    }));
    return row.element;
  }

  type(text) {
    this.view.scrollTop = this.view.scrollHeight;
    this.send(text);
  }

  paste(text) {
    const clean = text.replace(/\r?\n/g, "\r").replace(/\x1b/g, ""); // no pasted text ends the paste
    this.type(this.screen.modes.paste ? `\x1b[200~${clean}\x1b[201~` : clean);
  }

  listen() {
    const { view, input } = this;
    view.addEventListener("keydown", (event) => {
      if (event.isComposing || (event.ctrlKey && event.key === "F6")) return;
      const copies = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c";
      if (copies && !getSelection().isCollapsed && event.target !== input) return;
      if (["Control", "Shift", "Alt", "Meta"].includes(event.key)) return;
      this.focus(); // what was selected is done with
      const sequence = keySequence(event, this.screen.modes.arrows);
      if (sequence === null) return;
      event.preventDefault();
      this.type(sequence);
    });
    const typed = (event) => {
      if (event.isComposing) return;
      if (input.value) this.type(input.value.replace(/\n/g, "\r"));
      input.value = "";
    };
    input.addEventListener("input", typed);
    input.addEventListener("compositionend", typed);
    input.addEventListener("paste", (event) => {
      event.preventDefault();
      this.paste(event.clipboardData.getData("text/plain"));
    });
    view.addEventListener("mouseup", () => { if (getSelection().isCollapsed) this.focus(); });
    view.addEventListener("wheel", (event) => {
      if (!this.screen.main) return; // a pager has no scrollback; it is moved instead
      event.preventDefault();
      this.type((this.screen.modes.arrows ? "\x1bO" : "\x1b[").concat(event.deltaY < 0 ? "A" : "B").repeat(3));
    }, { passive: false });
  }
}
