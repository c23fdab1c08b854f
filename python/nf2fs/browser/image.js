/* ---- the page that shows an image ---- */

const MOST_SHOWN = 65536, MOST_FINDINGS = 200, MOST_RECORDS = 1000;
let module, data = null, fileName = "", chip = null, look = null, mounted = null, map = null, view = "use", items = [], chosen = null;

/* ---- opening ---- */

function fail(text) {
  byId("failure").textContent = text;
  byId("failure").hidden = false;
}

function forget() {
  look?.close();
  chip?.close();
  look = chip = mounted = chosen = null;
  byId("failure").hidden = true;
  byId("report").hidden = true;
}

function option(select, value, text) { return element("option", select, text, { value }); }

/* Takes the bytes for those of an image, and finds out of which chip where that is not said. */
async function openImage(name, bytes, said = "") {
  forget();
  data = bytes;
  fileName = name;
  if (data.length === 0) return fail(`${printable(name)} is empty.`);
  const parts = findParts(data, module.formatVersion), [saidChip, saidOffset, saidSize] = said.split(" ");
  let found = said ? module.chip(saidChip) : module.recognise(data);
  if (found === null && parts.length > 0) {
    const { block, unit } = parts[0];
    found = module.chip(genericName({ size: data.length, page: PAGE, block, unit }));
  }
  const known = module.chips().filter(one => one.size === data.length);
  found ??= known[0] ?? module.chip(genericName({ size: data.length, page: PAGE, block: BLOCK_SIZES[0], unit: 1 }));
  if (found === null)
    return fail(`${printable(name)} has ${figure(data.length)} bytes, and no volume was found in it: it is no image of a chip.`);
  const chips = byId("chip"), place = byId("part");
  chips.replaceChildren();
  for (const one of [found, ...known.filter(one => one.name !== found.name)])
    option(chips, one.name, one.name.startsWith("generic") ? `${sizeText(one.size)}, blocks of ${sizeText(one.block)}` : `${one.name}: ${one.description}`);
  place.replaceChildren();
  if (parts.length === 0 || parts[0].offset > 0) option(place, "0 0", "the whole chip");
  for (const part of parts) {
    const isWhole = part.offset === 0 && part.size === found.size;
    option(place, isWhole ? "0 0" : `${part.offset} ${part.size}`, isWhole ? "the whole chip" : `from ${hex(part.offset)} on, ${sizeText(part.size)}`);
  }
  if (parts.length > 0) place.value = place.options[parts[0].offset > 0 ? 1 : 0].value;
  if (said && saidOffset !== undefined) {
    const value = `${saidOffset} ${saidSize}`;
    if (![...place.options].some(one => one.value === value))
      option(place, value, value === "0 0" ? "the whole chip" : `from ${hex(Number(saidOffset))} on, ${sizeText(Number(saidSize))}`);
    place.value = value;
  }
  byId("part-label").hidden = place.options.length < 2;
  show();
}

/* Shows the image as one of the chosen chip. */
function show() {
  forget();
  const [offset, size] = byId("part").value.split(" ").map(Number);
  let error = null;
  try {
    chip = new Chip(module, byId("chip").value, { offset, size });
    chip.memory.set(data.subarray(0, chip.facts.size));
    try {
      chip.mount(true);
      mounted = { statfs: chip.statfs(), health: chip.health(), ...chip.states() };
    } catch (one) {
      if (!(one instanceof VolumeError)) throw one;
      error = one;
    }
    look = new Look(chip);
  } catch (one) {
    error ??= one;
    fail(one instanceof VolumeError ? `${printable(fileName)}: ${error.message}` :
      `${printable(fileName)} could not be read: ${one.message}. It may be too large for this browser.`);
  }
  byId("report").hidden = look === null && byId("chip").options.length < 2;
  byId("name").textContent = printable(fileName);
  byId("facts").textContent = factsText();
  for (const one of document.querySelectorAll("#report > :not(#name, #facts, .row)")) one.hidden = look === null;
  if (look === null) return;
  items = look.items();
  verdict(error);
  tree();
  findings();
  byId("file-section").hidden = true;
  byId("block").max = chip.blocks - 1;
  drawMap();
  showBlock(0);
}

function factsText() {
  const size = data.length === chip?.facts.size ? sizeText(data.length) :
    `${sizeText(data.length)} of a chip of ${sizeText(chip?.facts.size ?? 0)}`;
  if (!chip) return size;
  let text = `${size}; ${plural(chip.blocks, "block")} of ${sizeText(chip.facts.block)}`;
  if (mounted) {
    const { statfs, health } = mounted;
    text += `, ${figure(statfs.free)} of them free. Erased ${plural(health.total, "time")} in all since it was made; `
      + `${plural(health.unclean, "session")} ended without an unmount; ${plural(health.bad, "bad block")}`;
  }
  return `${text}.`;
}

function verdict(error) {
  const place = byId("verdict"), files = items.filter(one => !one.isDirectory);
  const wrong = look.findings().filter(one => one.isDamage), unchecked = files.reduce((sum, one) => sum + one.unchecked, 0);
  const parts = [];
  if (look.isLossy || wrong.length > 0) {
    place.className = "verdict bad";
    parts.push(`This volume is damaged: ${plural(wrong.length, "thing")} ${wrong.length === 1 ? "is" : "are"} wrong.`);
    if (error) parts.push(`A mount refuses it: ${error.message}.`);
    if (look.areNamesLost) parts.push("There may have been files that nothing tells of any more.");
    if (look.isLossy) parts.push("What is marked below is not as it was.");
  } else {
    place.className = error ? "verdict warn" : "verdict good";
    parts.push(error ? `A mount refuses it: ${error.message}.` : "All structures are whole.");
    if (!look.isClean) parts.push("The last session ended without an unmount, as by a power cut. That does no harm.");
  }
  if (unchecked > 0) parts.push(`${sizeText(unchecked)} of the files carry no checksum: whether they are right cannot be told.`);
  place.textContent = parts.join(" ");
}

/* ---- files ---- */

/* What each directory holds, from the flat list. */
function tree() {
  const children = new Map([["", []]]);
  for (const item of items) {
    if (item.isDirectory && !children.has(item.path)) children.set(item.path, []);
    const parent = item.path.slice(0, item.path.lastIndexOf("/"));
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(item);
  }
  const files = items.filter(one => !one.isDirectory), bytes = files.reduce((sum, one) => sum + one.size, 0);
  byId("totals").textContent = `${plural(files.length, "file")}, ${sizeText(bytes)}, in ${plural(items.length - files.length + 1, "directory", "directories")}.`;
  byId("save-all").disabled = files.length === 0;
  byId("tree").replaceChildren();
  fill(byId("tree"), "", children);
}

function fill(list, path, children) {
  const byName = (one, other) => other.isDirectory - one.isDirectory || (one.path < other.path ? -1 : 1);
  for (const item of children.get(path).sort(byName)) {
    const entry = element("li", list), name = printable(item.path.slice(path.length + 1));
    if (item.isDirectory) {
      const fold = element("details", entry), inside = children.get(item.path) ?? [];
      element("summary", fold, `${name}/ `).append(note(item, plural(inside.length, "entry", "entries")));
      fold.addEventListener("toggle", () => {
        if (fold.open && fold.children.length === 1) fill(element("ul", fold), item.path, children);
      });
      if (path === "" && inside.length <= 50) fold.open = true;
    } else {
      const button = element("button", entry, name, { class: "link", "data-path": item.path });
      button.addEventListener("click", () => showFile(item, button));
      entry.append(note(item, sizeText(item.size)));
    }
  }
}

function note(item, text) {
  const made = element("span", null, text, { class: "size" });
  if (item.state !== 0) element("span", made, ` ${item.stateText}`, { class: item.state === 1 ? "warn" : "bad" });
  return made;
}

function contentText(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!/[\u0000-\u0008\u000e-\u001f]/.test(text)) return text;
  } catch { /* not text */ }
  return null;
}

function showFile(item, button) {
  chosen = item;
  document.querySelector("#tree .chosen")?.classList.remove("chosen");
  button.classList.add("chosen");
  byId("file-section").hidden = false;
  byId("path").textContent = printable(item.path);
  const facts = [`${plural(item.size, "byte")}; ${item.stateText}.`];
  if (item.lost > 0) {
    const ranges = look.lostRanges(item).slice(0, 8).map(([from, to]) => `${figure(from)} to ${figure(to)}`);
    facts.push(`${plural(item.lost, "byte")} lost, with zeros in their place: ${ranges.join(", ")}.`);
  }
  if (item.isEndLost) facts.push("There may have been more of it.");
  if (item.unchecked > 0) facts.push(`${plural(item.unchecked, "byte")} carry no checksum.`);
  byId("file-facts").textContent = facts.join(" ");
  const bytes = look.read(item, Math.min(item.size, MOST_SHOWN)), text = contentText(bytes);
  const rest = item.size > bytes.length ? `\n\u2026 ${plural(item.size - bytes.length, "byte")} more` : "";
  byId("content").textContent = (text ?? dumpText(bytes.subarray(0, 8192))) + rest;
}

function save(name, parts) {
  const link = element("a", document.body, "", { href: URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" })), download: name });
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/* ---- a tar archive of all files: POSIX ustar, with a pax header where a path is long ---- */

function tarHeader(path, size, type) {
  const header = new Uint8Array(512), write = (at, text) => header.set(new TextEncoder().encode(text), at);
  header.set(new TextEncoder().encode(path).subarray(0, 100), 0);
  write(100, type === "5" ? "0000755\0" : "0000644\0");
  write(108, "0000000\u00000000000\0");
  write(124, `${size.toString(8).padStart(11, "0")}\0`);
  write(136, "00000000000\0");
  write(148, "        ");
  write(156, type);
  write(257, "ustar\u000000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  write(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return header;
}

function tarEntry(path, bytes, type = "0") {
  const parts = [], padding = new Uint8Array(-bytes.length & 511);
  if (new TextEncoder().encode(path).length > 100) {
    const rest = new TextEncoder().encode(` path=${path}\n`).length;
    let length = rest + String(rest).length;
    if (String(length).length > String(rest).length) length++;
    parts.push(...tarEntry("pax", new TextEncoder().encode(`${length} path=${path}\n`), "x"));
  }
  return [...parts, tarHeader(path, bytes.length, type), bytes, padding];
}

function saveAll() {
  const none = new Uint8Array(0);
  const parts = items.flatMap(item => item.isDirectory ? tarEntry(`${item.path.slice(1)}/`, none, "5")
    : tarEntry(item.path.slice(1), look.read(item)));
  save(`${fileName.replace(/\.[^.]*$/, "") || "files"}.tar`, [...parts, new Uint8Array(1024)]);
}

/* ---- what was found ---- */

function findings() {
  const place = byId("findings"), found = look.findings();
  place.replaceChildren();
  if (found.length === 0) {
    element("p", place, "Nothing is wrong, and there is nothing to remark.", { class: "soft" });
    return;
  }
  const table = element("table", element("div", place, undefined, { class: "wide" }));
  for (const one of found.slice(0, MOST_FINDINGS)) {
    const row = element("tr", table);
    element("td", row, one.isDamage ? "damage" : "remark", { class: one.isDamage ? "bad" : "soft" });
    const where = element("td", row);
    if (one.block !== null)
      element("button", where, `block ${figure(one.block)}`, { class: "link" }).addEventListener("click", () => showBlock(one.block));
    const names = one.from ? ` (${printable(one.from)}${one.to && one.to !== one.from ? ` to ${printable(one.to)}` : ""})` : "";
    element("td", row, one.text + names);
  }
  if (found.length > MOST_FINDINGS) element("p", place, `${figure(found.length - MOST_FINDINGS)} more are not shown.`);
}

/* ---- blocks ---- */

function useOf(block) {
  const use = look.use(block);
  if (use === "nothing" && mounted && mounted.states[block] === 0) return "dirty";
  return use;
}
const useText = use => ({ nothing: "free", dirty: "free, to be erased first" })[use] ?? use;

function drawMap() {
  const count = chip.blocks, colours = useColours(), uses = Array.from({ length: count }, (_, block) => useOf(block));
  const erases = mounted?.erases ?? new Uint32Array(count), damaged = new Set(look.findings().filter(one => one.isDamage).map(one => one.block));
  const least = erases.reduce((a, b) => Math.min(a, b)), most = erases.reduce((a, b) => Math.max(a, b));
  const ends = darkQuery.matches ? [[32, 44, 58], [122, 190, 255]] : [[222, 235, 247], [8, 48, 107]];
  const shade = value => {
    const part = most === least ? 0 : (value - least) / (most - least);
    return `rgb(${ends[0].map((from, i) => Math.round(from + (ends[1][i] - from) * part)).join(",")})`;
  };
  const red = darkQuery.matches ? "#ff5a64" : "#c0262d";
  map = new BlockMap(byId("map"), {
    count,
    colour: block => view === "wear" ? shade(erases[block]) : colours[uses[block]],
    mark: block => damaged.has(block) ? red : null,
    about: block => {
      byId("about").textContent = `Block ${figure(block)} at ${hex(chip.place.offset + block * chip.facts.block)}: ${useText(uses[block])}`
        + (mounted ? `; its region was erased ${plural(erases[block], "time")}, in the mean` : "");
    },
    choose: showBlock,
  });
  map.draw();
  const shown = Object.keys(colours).filter(use => uses.includes(use));
  const entries = view === "wear" ? [[shade(least), plural(least, "erase")], [shade(most), plural(most, "erase")]]
    : shown.map(use => [colours[use], useText(use)]);
  legend(byId("legend"), damaged.size > 0 ? [...entries, [red, "a frame: damage was found in it"]] : entries);
  for (const name of ["use", "wear"]) byId(`show-${name}`).setAttribute("aria-pressed", String(view === name));
}

function showBlock(block) {
  if (!(block >= 0 && block < chip.blocks)) return;
  byId("block").value = block;
  byId("use").textContent = useText(useOf(block));
  byId("wear").textContent = `At ${hex(chip.place.offset + block * chip.facts.block)}`
    + (mounted ? `; the blocks of its region were erased ${plural(mounted.erases[block], "time")} since the format, in the mean.` : ".");
  const records = look.records(block), table = byId("records");
  table.replaceChildren();
  if (records.length > 0) {
    const head = element("tr", table);
    for (const text of ["byte", "length", "session", "record", ""]) element("th", head, text);
  } else {
    element("td", element("tr", table), "This block has no records.", { class: "soft" });
  }
  for (const one of records.slice(0, MOST_RECORDS)) {
    const row = element("tr", table);
    element("td", row, figure(one.at), { class: "number" });
    element("td", row, figure(one.end - one.at), { class: "number" });
    element("td", row, figure(one.session), { class: "number" });
    element("td", row, one.name + (one.more ? " +" : ""));
    element("td", row, printable(one.text) + (one.mended ? " (a flipped bit is mended)" : ""));
  }
  if (byId("bytes").open) byId("dump").textContent = dumpText(chip.block(block), block * chip.facts.block);
}

/* ---- an example ---- */

/* A volume that was used: files of each kind, some changes, and a session without an end. */
function exampleImage() {
  const made = new Chip(module, "w25q80"), text = value => new TextEncoder().encode(value);
  made.format();
  made.mount(false);
  made.makeDirectory("/settings");
  made.makeDirectory("/logs");
  for (let i = 0; i < 5; i++) made.write(`/settings/profile ${i}`, text(`brightness = ${10 * i}\n`), OPEN.EMPTY);
  made.write("/firmware.bin", Uint8Array.from({ length: 180000 }, (_, i) => i * 7 & 255), OPEN.EMPTY);
  for (let i = 0; i < 400; i++) made.write("/logs/temperature.csv", text(`${i},${20 + i % 7}\n`), OPEN.APPEND);
  for (let i = 0; i < 300; i++) made.write("/settings/counter", text(`${i}\n`), OPEN.EMPTY);
  made.write("/read me", text("This image was made inside the page.\n"), OPEN.EMPTY);
  for (let i = 0; i < 40; i++) made.maintain(20000);
  made.unmount();
  made.mount(false);
  made.write("/logs/temperature.csv", text("the power went after this line\n"), OPEN.APPEND);
  const bytes = made.memory.slice();
  made.close();
  return bytes;
}

/* ---- events ---- */

async function openFile(file) {
  try {
    await openImage(file.name, new Uint8Array(await file.arrayBuffer()));
  } catch (error) {
    fail(`${printable(file.name)} could not be read: ${error.message}`);
  }
}

async function start() {
  module = await loadModule(byId("module").textContent);
  byId("version").textContent = module.version;
  byId("choose").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", () => { if (byId("file").files[0]) openFile(byId("file").files[0]); byId("file").value = ""; });
  byId("example").addEventListener("click", () => openImage("example.img", exampleImage()));
  byId("chip").addEventListener("change", show);
  byId("part").addEventListener("change", show);
  byId("save").addEventListener("click", () => save(chosen.path.slice(chosen.path.lastIndexOf("/") + 1), [look.read(chosen)]));
  byId("save-all").addEventListener("click", saveAll);
  byId("block").addEventListener("input", () => showBlock(byId("block").valueAsNumber));
  byId("bytes").addEventListener("toggle", () => showBlock(byId("block").valueAsNumber));
  for (const name of ["use", "wear"]) byId(`show-${name}`).addEventListener("click", () => { view = name; drawMap(); });
  darkQuery.addEventListener("change", () => { if (look) drawMap(); });
  document.addEventListener("dragover", event => { event.preventDefault(); byId("drop").classList.add("over"); });
  document.addEventListener("dragleave", () => byId("drop").classList.remove("over"));
  document.addEventListener("drop", event => {
    event.preventDefault();
    byId("drop").classList.remove("over");
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  });
  const inside = byId("image").textContent.trim();
  if (inside !== "") {
    const packed = Uint8Array.from(atob(inside), letter => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { name, chip: said } = byId("image").dataset;
    await openImage(name, new Uint8Array(await new Response(stream).arrayBuffer()), said);
  }
  document.body.dataset.ready = "yes";
}

start().catch(error => fail(`This browser cannot show the page: ${error.message}`));
