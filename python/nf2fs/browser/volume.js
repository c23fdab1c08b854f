"use strict";
/* SPDX-License-Identifier: BSD-2-Clause */
/* The module (python/native/host.h and browser.c), and what its calls give as values of this language. */

const ERRORS = { NOENT: -2, CORRUPT: -202 };
const OPEN = { READ: 1, WRITE: 2, CREATE: 0x10, EMPTY: 0x40, APPEND: 0x80 };

const BLOCK_SIZES = [4096, 8192, 16384, 32768, 65536], UNITS = [1, 2, 4, 8, 16, 32];
const CHIP_SIZES = Array.from({ length: 12 }, (_, i) => 131072 << i);
const PAGE = 256, SLOT = 32, MAGIC = 0x4632464e;

class VolumeError extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

/* The page has the module inside: compressed, as text. */
async function loadModule(text) {
  const packed = Uint8Array.from(atob(text.trim()), letter => letter.charCodeAt(0));
  const bytes = await new Response(
    new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  const imports = {};
  for (const one of WebAssembly.Module.imports(module)) /* there are no files: each call fails */
    (imports[one.module] ??= {})[one.name] = () => 8;
  const instance = await WebAssembly.instantiate(module, imports);
  instance.exports._initialize();
  return new Module(instance.exports);
}

/* Places in the scratch memory, for what goes into a call and comes back. */
const OUT = 0, NAME = 128, PATH = 512, OTHER_PATH = 2048, MESSAGE = 3584, SCRATCH = 4096;
const PATH_MAX = OTHER_PATH - PATH - 1, MESSAGE_MAX = SCRATCH - MESSAGE;

class Module {
  constructor(calls) {
    this.calls = calls;
    this.scratch = calls.malloc(SCRATCH);
  }

  get bytes() { return new Uint8Array(this.calls.memory.buffer); }
  get view() { return new DataView(this.calls.memory.buffer); }

  at(place) { return this.scratch + place; }
  number(index) { return Number(this.view.getBigUint64(this.at(OUT) + 8 * index, true)); }
  numbers(count) { return Array.from({ length: count }, (_, index) => this.number(index)); }

  text(pointer) {
    if (pointer === 0) return null;
    const bytes = this.bytes;
    return new TextDecoder().decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
  }
  put(place, text) {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > PATH_MAX || bytes.includes(0)) throw new VolumeError(-36, "This path is too long, or no path.");
    this.bytes.set(bytes, this.at(place));
    this.bytes[this.at(place) + bytes.length] = 0;
    return this.at(place);
  }
  message() { return this.text(this.at(MESSAGE)); }

  check(result) {
    if (result < 0) throw new VolumeError(result, this.text(this.calls.nf2h_error_text(result)));
    return result;
  }

  take(length) {
    const pointer = this.calls.malloc(Math.max(length, 1));
    if (pointer === 0) throw new VolumeError(-5, "The browser has no memory left for this.");
    return pointer;
  }
  /* Calls `use` with the place of a copy of the bytes, which is then given back. */
  with(bytes, use) {
    const pointer = this.take(bytes.length);
    this.bytes.set(bytes, pointer);
    try {
      return use(pointer);
    } finally {
      this.calls.free(pointer);
    }
  }

  get formatVersion() { return this.calls.nf2h_format_version(); }
  get version() { return this.text(this.calls.nf2h_version()); }

  /* A chip by its name; null: there is none. */
  chip(name) {
    this.bytes.fill(0, this.at(NAME), this.at(NAME) + 128);
    const result = this.calls.nf2h_chip_info(this.put(PATH, name), this.at(OUT), this.at(NAME), this.at(NAME) + 32,
                                             this.at(MESSAGE), MESSAGE_MAX);
    if (result < 0) return null;
    const [size, page, block, unit, endurance] = this.numbers(5);
    return { name: this.text(this.at(NAME)), description: this.text(this.at(NAME) + 32), size, page, block, unit, endurance };
  }

  /* Those of the catalogue that a volume can be on. */
  chips() {
    const found = [];
    for (let index = 0, pointer; (pointer = this.calls.nf2h_chip_name(index)) !== 0; index++) {
      const chip = this.chip(this.text(pointer));
      if (chip && BLOCK_SIZES.includes(chip.block) && UNITS.includes(chip.unit) && chip.page <= 512) found.push(chip);
    }
    return found;
  }

  /* How a mount of these bytes answers, taken for a chip of that geometry. */
  probe(pointer, length, chip) {
    const view = this.view, at = this.at(OUT);
    [chip.size, chip.page, chip.block, chip.unit].forEach((value, index) => view.setUint32(at + 4 * index, value, true));
    return this.calls.nf2h_probe(pointer, BigInt(length), at);
  }

  /* The chip whose bytes these are, found by trying: of the catalogue, else any. */
  recognise(data) {
    const length = data.length;
    return this.with(data, pointer => {
      const known = this.chips().filter(chip => chip.size === length);
      const mounts = known.find(chip => this.probe(pointer, length, chip) === 0);
      if (mounts) return mounts;
      const sizes = [length, ...CHIP_SIZES.filter(size => size > length), ...CHIP_SIZES.filter(size => size < length).reverse()];
      for (const size of sizes) {
        for (const block of BLOCK_SIZES) {
          for (const unit of UNITS) {
            const chip = { size, page: PAGE, block, unit };
            if (size % block === 0 && [0, ERRORS.CORRUPT].includes(this.probe(pointer, length, chip)))
              return known.find(one => one.block === block && one.unit === unit && size === length) ?? this.chip(genericName(chip));
          }
        }
      }
      return null;
    });
  }
}

function genericName(chip) {
  return `generic-${chip.size}-${chip.page}-${chip.block}-${chip.unit}`;
}

/* Where in an image volumes begin: at each block that has an anchor of this version of the format in a slot. */
function findParts(data, version) {
  const view = new DataView(data.buffer, data.byteOffset, data.length), found = [];
  for (let at = 0; at + BLOCK_SIZES[0] <= data.length; at += BLOCK_SIZES[0]) {
    if (found.length && at < found.at(-1).end) continue;
    for (let slot = at; slot < at + BLOCK_SIZES[0]; slot += SLOT) {
      if (view.getUint32(slot + 4, true) !== MAGIC || view.getUint32(slot + 8, true) !== version) continue;
      const sizes = view.getUint32(slot + 12, true) & 0x1ffff, blocks = view.getUint16(slot + 16, true) + 1;
      const block = BLOCK_SIZES.findLast(size => size <= sizes), unit = sizes - block - PAGE, size = block * blocks;
      if (block && UNITS.includes(unit) && size <= data.length - at) found.push({ offset: at, size, block, unit, end: at + size });
      break;
    }
  }
  return found;
}

/* ---- a chip in memory, and the volume on it ---- */

class Chip {
  /* `place`: offset and size of the volume; without it the whole chip. */
  constructor(module, name, place = { offset: 0, size: 0 }) {
    this.module = module;
    this.calls = module.calls;
    this.facts = module.chip(name);
    this.place = place;
    this.image = this.calls.nf2h_image_open(module.put(PATH, name), 0, 0, place.offset, place.size,
                                            module.at(MESSAGE), MESSAGE_MAX);
    if (this.image === 0) throw new VolumeError(-5, module.message());
  }

  get memory() {
    const pointer = this.calls.nf2h_image_memory(this.image);
    return this.module.bytes.subarray(pointer, pointer + this.facts.size);
  }
  get blocks() { return Math.floor((this.place.size || this.facts.size - this.place.offset) / this.facts.block); }
  /* The bytes of a block of the volume. */
  block(number) {
    const at = this.place.offset + number * this.facts.block;
    return this.memory.subarray(at, at + this.facts.block);
  }

  close() { this.calls.nf2h_image_close(this.image); }
  format() { this.module.check(this.calls.nf2h_format(this.image, 0)); }
  mount(readOnly) { this.module.check(this.calls.nf2h_mount(this.image, readOnly ? 1 : 0)); }
  unmount() { this.module.check(this.calls.nf2h_unmount(this.image)); }
  maintain(microseconds) { return this.module.check(this.calls.nf2h_maintain(this.image, microseconds)); }

  statfs() {
    this.module.check(this.calls.nf2h_statfs(this.image, this.module.at(OUT)));
    const [blockSize, blocks, free, erased, available, bad] = this.module.numbers(6);
    return { blockSize, blocks, free, erased, available, bad };
  }
  health() {
    this.module.check(this.calls.nf2h_health(this.image, this.module.at(OUT)));
    const [least, most, mean, total, unclean, bad] = this.module.numbers(6);
    return { least, most, mean, total, unclean, bad };
  }
  /* State and erases of each block. */
  states() {
    const count = this.blocks, states = this.module.take(5 * count + 4), erases = states + count + 4 & ~3;
    try {
      this.module.check(this.calls.nf2h_blocks(this.image, states, erases, count));
      const bytes = this.module.bytes;
      return {
        states: bytes.slice(states, states + count),
        erases: new Uint32Array(bytes.slice(erases, erases + 4 * count).buffer),
      };
    } finally {
      this.calls.free(states);
    }
  }
  microseconds() {
    this.calls.nf2h_image_counts(this.image, this.module.at(OUT));
    return this.module.number(9);
  }

  list(path) {
    const { calls, module } = this, at = module.at(OUT), found = [];
    module.check(calls.nf2h_dir_open(this.image, module.put(PATH, path), at));
    const dir = module.view.getUint32(at, true);
    let result;
    while ((result = calls.nf2h_dir_read(dir, module.at(NAME), at)) > 0)
      found.push({ name: module.text(module.at(NAME)), isDirectory: module.number(0) === 2, size: module.number(1) });
    calls.nf2h_dir_close(dir);
    module.check(result);
    return found;
  }

  /* Opens a file, calls `use` with its handle, and closes it. */
  opened(path, flags, use) {
    const { calls, module } = this, at = module.at(OUT);
    module.check(calls.nf2h_file_open(this.image, module.put(PATH, path), flags, at));
    const file = module.view.getUint32(at, true);
    let result;
    try {
      result = use(file);
    } catch (error) {
      calls.nf2h_file_close(file);
      throw error;
    }
    module.check(calls.nf2h_file_close(file));
    return result;
  }
  read(path) {
    return this.opened(path, OPEN.READ, file => {
      const length = this.module.check(this.calls.nf2h_file_size(file)), pointer = this.module.take(length);
      try {
        const count = this.module.check(this.calls.nf2h_file_read(file, pointer, length));
        return this.module.bytes.slice(pointer, pointer + count);
      } finally {
        this.calls.free(pointer);
      }
    });
  }
  write(path, bytes, flags) {
    this.opened(path, OPEN.WRITE | OPEN.CREATE | flags, file => this.module.with(bytes, pointer =>
      this.module.check(this.calls.nf2h_file_write(file, pointer, bytes.length))));
  }
  remove(path) { this.module.check(this.calls.nf2h_remove(this.image, this.module.put(PATH, path))); }
  makeDirectory(path) { this.module.check(this.calls.nf2h_mkdir(this.image, this.module.put(PATH, path))); }
  rename(from, to) {
    this.module.check(this.calls.nf2h_rename(this.image, this.module.put(PATH, from), this.module.put(OTHER_PATH, to)));
  }

  /* ---- power ---- */

  /* Operations count from now on; the power fails in number `operation` (0: in none). */
  cutAt(operation, { bytes = 0, erase = 0, seed = 1 } = {}) {
    this.calls.browser_cut_at(this.image, operation, bytes, erase, seed);
  }
  operations() {
    const at = this.module.at(OUT), found = [];
    while (this.calls.browser_operation(found.length, at)) {
      const view = this.module.view;
      found.push({ isErase: view.getUint32(at, true) === 1, address: view.getUint32(at + 4, true), length: view.getUint32(at + 8, true) });
    }
    return found;
  }
  get isOff() { return this.calls.browser_is_off(this.image) === 1; }
  powerOn() { this.calls.browser_power_on(this.image); }
  flip(address, mask) { this.calls.browser_flip(this.image, address, mask); }
  wear(block) { return this.calls.browser_wear(this.image, block); }
}

/* ---- what is on the chip, seen from outside ---- */

class Look {
  constructor(chip) {
    this.module = chip.module;
    this.calls = chip.calls;
    this.repair = this.calls.nf2h_repair_of(chip.image);
    if (this.repair === 0) throw new VolumeError(ERRORS.CORRUPT, "Nothing of a volume was found in it.");
  }
  close() { this.calls.nf2h_repair_close(this.repair); }

  get isLossy() { return this.calls.nf2h_repair_lossy(this.repair) !== 0; }
  get areNamesLost() { return this.calls.nf2h_repair_names_lost(this.repair) !== 0; }
  get isClean() { return this.calls.nf2h_repair_clean(this.repair) !== 0; }

  items() {
    const found = [];
    for (let pointer; (pointer = this.calls.nf2h_repair_item(this.repair, found.length, this.module.at(OUT))) !== 0;) {
      const [type, state, size, lost, isEndLost, , unchecked] = this.module.numbers(7);
      found.push({ index: found.length, path: this.module.text(pointer), isDirectory: type === 2, state, size, lost,
                   isEndLost: isEndLost !== 0, unchecked, stateText: this.module.text(this.calls.nf2h_repair_state_text(state)) });
    }
    return found;
  }
  lostRanges(item) {
    const found = [];
    while (this.calls.nf2h_repair_lost(this.repair, item.index, found.length, this.module.at(OUT))) found.push(this.module.numbers(2));
    return found;
  }
  read(item, length = item.size) {
    const pointer = this.module.take(length);
    try {
      const count = this.calls.nf2h_repair_read(this.repair, item.index, 0, pointer, length);
      return this.module.bytes.slice(pointer, pointer + count);
    } finally {
      this.calls.free(pointer);
    }
  }

  findings() {
    const found = [], texts = this.module.at(NAME);
    while (this.calls.nf2h_repair_finding(this.repair, found.length, this.module.at(OUT), texts)) {
      const [, block, , , isDamage] = this.module.numbers(5), view = this.module.view;
      const [text, from, to] = [0, 4, 8].map(at => this.module.text(view.getUint32(texts + at, true)));
      found.push({ block: block === 0xffffffff ? null : block, isDamage: isDamage !== 0, text, from, to });
    }
    return found;
  }

  use(block) { return this.module.text(this.calls.nf2h_repair_use(this.repair, block)); }
  records(block) {
    const count = this.calls.nf2h_repair_records(this.repair, block), texts = this.module.at(NAME);
    return Array.from({ length: count }, (_, index) => {
      this.calls.nf2h_repair_record(this.repair, index, this.module.at(OUT), texts);
      const [at, end, session, more, mended] = this.module.numbers(5), view = this.module.view;
      const [name, text] = [0, 4].map(place => this.module.text(view.getUint32(texts + place, true)));
      return { at, end, session, more: more !== 0, mended: mended !== 0, name, text };
    });
  }
}

/* ---- texts and elements, for both pages ---- */

const byId = id => document.getElementById(id);
const figure = value => value.toLocaleString("en");
const hex = (value, digits = 8) => `0x${value.toString(16).padStart(digits, "0")}`;
const plural = (count, one, many = `${one}s`) => `${figure(count)} ${count === 1 ? one : many}`;

function sizeText(bytes) {
  if (bytes < 1024) return plural(bytes, "byte");
  return bytes < 1048576 ? `${figure(+(bytes / 1024).toFixed(1))} KiB` : `${figure(+(bytes / 1048576).toFixed(1))} MiB`;
}

/* Characters that would do something, or that none sees. */
function printable(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

function element(name, parent, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

/* Rows of 16 bytes. */
function dumpText(bytes, first = 0) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const values = row.map(byte => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const letters = row.map(byte => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".").join("");
    lines.push(`${(first + at).toString(16).padStart(6, "0")}  ${values}  ${letters}`);
  }
  return lines.join("\n");
}

/* One square for each block. `colour(block)` gives its colour, `mark(block)` a frame around it or null. */
class BlockMap {
  constructor(canvas, { count, colour, mark = () => null, about, choose }) {
    Object.assign(this, { canvas, count, colour, mark });
    this.columns = count <= 64 ? 16 : count <= 1024 ? 32 : count <= 4096 ? 64 : count <= 16384 ? 128 : 256;
    this.cell = this.columns <= 16 ? 30 : this.columns <= 32 ? 18 : this.columns <= 64 ? 12 : this.columns <= 128 ? 8 : 5;
    canvas.width = this.columns * this.cell;
    canvas.height = Math.ceil(count / this.columns) * this.cell;
    canvas.onmousemove = event => { const block = this.at(event); if (block !== null) about(block); };
    canvas.onclick = event => { const block = this.at(event); if (block !== null) choose(block); };
  }
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / box.width * this.columns);
    const y = Math.floor((event.clientY - box.top) / box.height * Math.ceil(this.count / this.columns));
    const block = y * this.columns + x;
    return x >= 0 && x < this.columns && block >= 0 && block < this.count ? block : null;
  }
  draw() {
    const brush = this.canvas.getContext("2d"), { cell, columns } = this;
    brush.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (let block = 0; block < this.count; block++) {
      const x = block % columns * cell, y = Math.floor(block / columns) * cell, mark = this.mark(block);
      brush.fillStyle = this.colour(block);
      brush.fillRect(x, y, cell - 1, cell - 1);
      if (mark) {
        brush.strokeStyle = mark;
        brush.lineWidth = Math.min(3, cell / 4);
        brush.strokeRect(x + 1, y + 1, cell - 3, cell - 3);
      }
    }
  }
}

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
/* What is free lies near the page's own colour, in the dark as by day. */
function useColours() {
  const dark = darkQuery.matches;
  return {
    "nothing": dark ? "#27303a" : "#e3e8ed",
    "dirty": dark ? "#4a4128" : "#efe2bd",
    "super block": dark ? "#d3b13a" : "#c79a00",
    "root log": dark ? "#e08a3c" : "#c96a16",
    "the root log's next block": dark ? "#8a6a4a" : "#e3b48c",
    "inner node": dark ? "#b48ad8" : "#6b3f96",
    "leaf": dark ? "#8f6cb8" : "#9a72c4",
    "data": dark ? "#4f92d8" : "#2563a8",
    "frames": dark ? "#46b0a6" : "#2c8c84",
    "set aside": dark ? "#5d6a78" : "#a9b4c0",
    "bad": "#c0262d",
  };
}

function legend(list, entries) {
  list.replaceChildren();
  for (const [colour, text] of entries) {
    const item = element("li", list);
    element("i", item).style.background = colour;
    item.append(text);
  }
}
