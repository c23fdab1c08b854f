/* ---- the page with a chip to play with ---- */

const ROOM = 1 << 20;           /* taken and given back at the start, so that calls do not make the memory grow */
const MOST_CUTS = 2000;         /* that one search tries */
const MOST_BUTTONS = 400;
const TORN = [0, 0.5, 0.95, 1], ERASE_TORN = [0, 1, 2, 4]; /* enum vflash_erase_cut: untouched, partly, weak, done */
const TORN_TEXTS = ["none", "half", "nearly all", "all"];

let module, chip, look = null, isMounted = false, isOff = false;
/* The last call: what it was, the whole memory in front of it, its operations, the files before and after it. */
let last = null;
let touched = new Set();

/* ---- the memory, to go back to ---- */

/* What was looked at is not a part of it: a look lies in the same memory. */
function remember() {
  forgetLook();
  return module.bytes.slice();
}
function goBack(memory) {
  look = null;
  module.bytes.set(memory);
  module.bytes.fill(0, memory.length);
}
function forgetLook() {
  look?.close();
  look = null;
}

/* ---- files ---- */

/* Path and content of all; directories have null. */
function readAll() {
  const found = new Map(), pending = ["/"];
  while (pending.length > 0) {
    const place = pending.pop();
    for (const entry of chip.list(place)) {
      const path = (place === "/" ? "" : place) + "/" + entry.name;
      found.set(path, entry.isDirectory ? null : chip.read(path));
      if (entry.isDirectory) pending.push(path);
    }
  }
  return found;
}

function areSame(one, other) {
  if (one.size !== other.size) return false;
  for (const [path, bytes] of one) {
    const against = other.get(path);
    if (against === undefined || bytes?.length !== against?.length) return false;
    if (bytes && bytes.some((byte, index) => byte !== against[index])) return false;
  }
  return true;
}

/* ---- calls ---- */

const chosenPath = () => `/${byId("file-name").value.replace(/^\/+/, "")}`;
function chosenBytes(end) {
  const times = Math.min(Math.max(byId("file-times").valueAsNumber || 1, 1), 100000), piece = byId("file-text").value + end;
  if (piece.length * times > 1 << 20) throw new VolumeError(-27, "This is more than the page writes at once.");
  return new TextEncoder().encode(piece.repeat(times));
}

function callOf(name) {
  const path = chosenPath();
  if (name === "save") {
    const bytes = chosenBytes("\n");
    return { text: `a save of ${printable(path)}`, run: () => chip.write(path, bytes, OPEN.EMPTY) };
  }
  if (name === "append") {
    const bytes = chosenBytes("\n");
    return { text: `an append to ${printable(path)}`, run: () => chip.write(path, bytes, OPEN.APPEND) };
  }
  if (name === "remove") return { text: `the removal of ${printable(path)}`, run: () => chip.remove(path) };
  if (name === "idle") return { text: "idle work", run: () => { for (let i = 0; i < 20; i++) chip.maintain(50000); } };
  if (name === "unmount") return { text: "an unmount", run: () => chip.unmount(), mounts: false };
  return { text: "a mount", run: () => chip.mount(false), mounts: true };
}

function say(text, kind = "") {
  byId("verdict").textContent = text;
  byId("verdict").className = `verdict ${kind}`;
}

function make(name) {
  let error = null;
  try {
    const call = callOf(name), wasMounted = isMounted, before = isMounted ? readAll() : null;
    const memory = remember(), start = chip.microseconds();
    chip.cutAt(0);
    try {
      call.run();
      if (call.mounts !== undefined) isMounted = call.mounts;
    } catch (one) {
      if (!(one instanceof VolumeError)) throw one;
      error = one;
    }
    const operations = chip.operations(), count = module.calls.browser_operations();
    const took = chip.microseconds() - start;
    last = { ...call, memory, wasMounted, before, operations, count, took, error };
    last.after = isMounted ? readAll() : null;
    last.before ??= last.after;
    last.after ??= last.before;
    touch(operations);
  } catch (one) {
    if (!(one instanceof VolumeError)) throw one;
    say(one.message, "bad");
    return;
  }
  const done = plural(last.count, "operation");
  say(error ? `The call failed: ${error.message}.` : `Done: ${last.text} took ${done} of the chip, ${timeText(last.took)}.`, error ? "bad" : "good");
  byId("operation").value = 1;
  forgetEvery();
  show();
}

function timeText(microseconds) {
  return microseconds < 1000 ? `${figure(microseconds)} \u00b5s` : `${figure(+(microseconds / 1000).toFixed(1))} ms`;
}

function touch(operations) {
  const size = chip.facts.block;
  touched = new Set(operations.flatMap(one => {
    const first = Math.floor(one.address / size), end = Math.ceil((one.address + one.length) / size);
    return Array.from({ length: end - first }, (_, index) => first + index);
  }));
}

/* ---- power cuts ---- */

/* The last call once more, with a cut: `torn` of the operation is done. */
function runCut(number, torn) {
  goBack(last.memory);
  const operation = last.operations[number - 1];
  const whole = operation.isErase ? 0 : operation.length;
  chip.cutAt(number, { bytes: torn === 3 ? whole : Math.min(Math.floor(whole * TORN[torn]), Math.max(whole - 1, 0)),
                       erase: ERASE_TORN[torn], seed: number });
  try {
    last.run();
  } catch (error) {
    if (!(error instanceof VolumeError)) throw error; /* a call without power fails, as it must */
  }
}

function cut() {
  const number = Math.min(Math.max(byId("operation").valueAsNumber || 1, 1), last.operations.length);
  byId("operation").value = number;
  runCut(number, Number(byId("torn").value));
  isOff = chip.isOff;
  isMounted = false;
  touch(chip.operations());
  const operation = last.operations[number - 1];
  say(`The power failed in operation ${figure(number)} of ${figure(last.count)}, ${operationText(operation)}. `
    + "What was in RAM is gone. Switch it on, and mount.", "warn");
  show();
}

function switchOn() {
  chip.powerOn();
  isOff = false;
  try {
    chip.mount(false);
    isMounted = true;
    const found = readAll(), isBefore = areSame(found, last.before), isAfter = areSame(found, last.after);
    say(isBefore && isAfter ? `Mounted: all files are as they were. ${upper(last.text)} changes none.`
      : isBefore ? `Mounted: all files are as before the call, ${last.text}.`
      : isAfter ? `Mounted: all files are as after the call, ${last.text}.`
      : "Mounted, but the files are neither as before the call nor as after it.", isBefore || isAfter ? "good" : "bad");
  } catch (error) {
    if (!(error instanceof VolumeError)) throw error;
    say(`The mount failed: ${error.message}.`, "bad");
  }
  last = null;
  touched = new Set();
  show();
}

/* Each operation of the last call, cut in each way. */
async function every() {
  const now = remember(), state = { isMounted, isOff }, step = Math.max(1, Math.ceil(4 * last.operations.length / MOST_CUTS));
  const rows = [], counts = { both: 0, before: 0, after: 0, other: 0 };
  for (let number = 1; number <= last.operations.length; number += step) {
    const outcomes = [0, 1, 2, 3].map(torn => {
      runCut(number, torn);
      chip.powerOn();
      let outcome = "other";
      try {
        chip.mount(false);
        const found = readAll(), isBefore = areSame(found, last.before), isAfter = areSame(found, last.after);
        outcome = isBefore && isAfter ? "both" : isBefore ? "before" : isAfter ? "after" : "other";
      } catch (error) {
        if (!(error instanceof VolumeError)) throw error;
      }
      counts[outcome]++;
      return outcome;
    });
    rows.push([number, last.operations[number - 1], outcomes]);
    if (number % 16 === 0) {
      byId("every").textContent = `Trying it: ${figure(number)} of ${figure(last.operations.length)}`;
      await new Promise(resolve => setTimeout(resolve));
    }
  }
  goBack(now);
  ({ isMounted, isOff } = state);
  byId("every").textContent = "Try it in every operation";
  showEvery(rows, counts, step);
  show();
}

function showEvery(rows, counts, step) {
  const tried = 4 * rows.length, place = byId("every-verdict"), table = byId("every-table");
  const parts = [`Cut ${plural(tried, "time")}, in ${step > 1 ? `every ${step}th` : "each"} operation, in four ways.`];
  if (counts.both > 0) parts.push(`After ${figure(counts.both)} the files were as before and after the call, which changes none.`);
  if (counts.before > 0) parts.push(`After ${figure(counts.before)} the files were as before the call.`);
  if (counts.after > 0) parts.push(`After ${figure(counts.after)} they were as after it.`);
  parts.push(counts.other > 0 ? `After ${figure(counts.other)} they were something else, or the mount failed.` : "After none were they anything else.");
  place.textContent = parts.join(" ");
  place.className = `verdict ${counts.other > 0 ? "bad" : "good"}`;
  place.hidden = false;
  table.replaceChildren();
  const head = element("tr", table), words = { both: "unchanged", before: "before", after: "after", other: "NEITHER" };
  for (const text of ["", "operation", ...TORN_TEXTS.map(one => `${one} done`)]) element("th", head, text);
  for (const [number, operation, outcomes] of rows.slice(0, 100)) {
    const row = element("tr", table);
    element("td", row, figure(number), { class: "number" });
    element("td", row, operationText(operation));
    for (const outcome of outcomes) element("td", row, words[outcome], { class: { after: "good", other: "bad" }[outcome] ?? "" });
  }
  if (rows.length > 100) element("td", element("tr", table), `and ${figure(rows.length - 100)} more`, { colspan: 6 });
}

function forgetEvery() {
  byId("every-verdict").hidden = true;
  byId("every-table").replaceChildren();
}

/* ---- showing ---- */

const upper = text => text[0].toUpperCase() + text.slice(1);
function operationText(operation) {
  const block = Math.floor(operation.address / chip.facts.block), at = operation.address % chip.facts.block;
  return operation.isErase ? `the erase of ${operation.length > chip.facts.block ? `${operation.length / chip.facts.block} blocks from block ${figure(block)} on` : `block ${figure(block)}`}`
    : `a program of ${plural(operation.length, "byte")} in block ${figure(block)}, at ${hex(at, 3)}`;
}

function show() {
  const canCall = !isOff, canCut = last !== null && last.operations.length > 0;
  for (const name of ["save", "append", "remove", "idle", "unmount"]) byId(`call-${name}`).disabled = !(canCall && isMounted);
  byId("call-mount").disabled = !canCall || isMounted;
  byId("cut").disabled = byId("every").disabled = !canCut || isOff;
  byId("cut").hidden = isOff;
  byId("power").hidden = !isOff;
  showOperations(canCut);
  showFiles();
  showMap();
  showBlock(byId("block").valueAsNumber || 0);
}

function showOperations(canCut) {
  const list = byId("operations");
  list.replaceChildren();
  byId("call-facts").textContent = last === null ? "Make a call first." : last.operations.length === 0 ? `${upper(last.text)} did nothing to the chip.`
    : `${upper(last.text)}: ${plural(last.count, "operation")}. Choose the one in which the power fails.`;
  byId("cut-row").hidden = !canCut && !isOff;
  if (!canCut) return;
  byId("operation").max = last.operations.length;
  last.operations.slice(0, MOST_BUTTONS).forEach((operation, index) => {
    const text = operation.isErase ? `erase ${Math.floor(operation.address / chip.facts.block)}` : `${operation.length} B`;
    const button = element("button", list, `${index + 1}: ${text}`, { title: operationText(operation), "data-operation": index + 1 });
    button.classList.toggle("erase", operation.isErase);
    button.addEventListener("click", () => { byId("operation").value = index + 1; chooseOperation(); });
  });
  if (last.operations.length > MOST_BUTTONS) element("span", list, `and ${figure(last.operations.length - MOST_BUTTONS)} more: give the number below.`);
  chooseOperation();
}

function chooseOperation() {
  for (const button of byId("operations").querySelectorAll("button"))
    button.classList.toggle("chosen", button.dataset.operation === byId("operation").value);
}

function showFiles() {
  const list = byId("files");
  list.replaceChildren();
  byId("space").textContent = "";
  if (!isMounted) {
    element("li", list, isOff ? "The power is off." : "The volume is not mounted.", { class: "soft" });
    return;
  }
  const files = [...readAll()].sort(([one], [other]) => one < other ? -1 : 1);
  if (files.length === 0) element("li", list, "There are no files.", { class: "soft" });
  for (const [path, bytes] of files) {
    const entry = element("li", list);
    element("button", entry, printable(path.slice(1)), { class: "link", "data-path": path })
      .addEventListener("click", () => { byId("file-name").value = path.slice(1); });
    element("span", entry, bytes ? plural(bytes.length, "byte") : "directory", { class: "size" });
    if (bytes) {
      const text = new TextDecoder().decode(bytes.subarray(-60)).replace(/\n/g, "\u23ce");
      element("span", entry, (bytes.length > 60 ? "\u2026" : "") + printable(text), { class: "text" });
    }
  }
  const { free, erased, blocks } = chip.statfs();
  byId("space").textContent = `${figure(free)} of ${plural(blocks, "block")} are free, ${figure(erased)} of them erased.`;
}

function isErased(block) {
  return chip.block(block).every(byte => byte === 0xff);
}

function useOf(block) {
  const use = look ? look.use(block) : "nothing";
  return use === "nothing" && !isErased(block) ? "dirty" : use;
}
const useText = use => ({ nothing: "free and erased", dirty: "free, to be erased first" })[use] ?? use;

function showMap() {
  forgetLook();
  try {
    look = new Look(chip);
  } catch {
    look = null; /* a chip without a volume */
  }
  const colours = useColours(), count = chip.blocks, uses = Array.from({ length: count }, (_, block) => useOf(block));
  const frame = darkQuery.matches ? "#ffffff" : "#000000";
  new BlockMap(byId("map"), {
    count,
    colour: block => colours[uses[block]],
    mark: block => touched.has(block) ? frame : null,
    about: block => { byId("about").textContent = `Block ${figure(block)}: ${useText(uses[block])}; erased ${plural(chip.wear(block), "time")}`; },
    choose: showBlock,
  }).draw();
  legend(byId("legend"), [...Object.keys(colours).filter(use => uses.includes(use)).map(use => [colours[use], useText(use)])]);
  byId("block").max = count - 1;
}

function showBlock(block) {
  if (!(block >= 0 && block < chip.blocks)) return;
  byId("block").value = block;
  byId("use").textContent = useText(useOf(block));
  const records = look ? look.records(block) : [], table = byId("records");
  table.replaceChildren();
  if (records.length === 0) element("td", element("tr", table), "This block has no records.", { class: "soft" });
  for (const one of records.slice(-200)) {
    const row = element("tr", table);
    element("td", row, figure(one.at), { class: "number" });
    element("td", row, one.name);
    element("td", row, printable(one.text));
  }
  if (byId("bytes").open) byId("dump").textContent = dumpText(chip.block(block), block * chip.facts.block);
}

/* ---- begin ---- */

function begin() {
  forgetLook();
  chip?.close();
  last = null;
  isOff = false;
  touched = new Set();
  chip = new Chip(module, byId("size").value);
  module.calls.free(module.take(ROOM));
  chip.format();
  chip.mount(false);
  isMounted = true;
  say("A new chip, formatted and mounted.");
  forgetEvery();
  show();
}

function saveImage() {
  const link = element("a", document.body, "", { href: URL.createObjectURL(new Blob([chip.memory.slice()], { type: "application/octet-stream" })), download: "chip.img" });
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function start() {
  module = await loadModule(byId("module").textContent);
  byId("version").textContent = module.version;
  for (const name of ["save", "append", "remove", "idle", "unmount", "mount"]) byId(`call-${name}`).addEventListener("click", () => make(name));
  byId("new").addEventListener("click", begin);
  byId("size").addEventListener("change", begin);
  byId("cut").addEventListener("click", cut);
  byId("power").addEventListener("click", switchOn);
  byId("every").addEventListener("click", every);
  byId("save-image").addEventListener("click", saveImage);
  byId("operation").addEventListener("input", chooseOperation);
  byId("block").addEventListener("input", () => showBlock(byId("block").valueAsNumber));
  byId("bytes").addEventListener("toggle", () => showBlock(byId("block").valueAsNumber));
  darkQuery.addEventListener("change", showMap);
  byId("play").hidden = false;
  begin();
  document.body.dataset.ready = "yes";
}

start().catch(error => {
  byId("failure").textContent = `This browser cannot show the page: ${error.message}`;
  byId("failure").hidden = false;
});
