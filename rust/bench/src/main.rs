// SPDX-License-Identifier: BSD-2-Clause
//! The same work over NF2FS, sequential-storage and ekv, on the project's counting chip. Each value
//! that is read is compared. `nf2fs-bench [--write PAGE]` prints the tables, or puts them between
//! the marks of a page.

mod chip;
mod stores;

use nf2fs_chip::{Chip, Counts};
use stores::{Ekv, Nf2, Sequential, Store, BLOCKS, VALUE_MAX};

pub const RECORD: usize = 32;
const CHIP: &str = "w25q80";
const BEGIN: &str = "<!-- bench:begin -->\n";
const END: &str = "<!-- bench:end -->\n";

/// How much work there is.
#[derive(Clone, Copy)]
struct Scale {
    settings: u32,
    replacements: u32,
    keys: u32,
    reads: u32,
    records: u32,
    batch: u32,
}

const FULL: Scale = Scale {
    settings: 40,
    replacements: 10_000,
    keys: 1000,
    reads: 1000,
    records: 10_000,
    batch: 50,
};

/// A generator of numbers that is the same everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u64::from((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32) * u64::from(bound))
            >> 32) as u32
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

/// What a part of the work cost.
#[derive(Clone, Copy)]
struct Cost {
    counts: Counts,
    longest_us: u64,
    calls: u32,
    changes: bool,
}

/// What happened between two readings of the counters.
fn between(start: &Counts, end: &Counts) -> Counts {
    Counts {
        read_pages: end.read_pages - start.read_pages,
        read_calls: end.read_calls - start.read_calls,
        read_bytes: end.read_bytes - start.read_bytes,
        program_calls: end.program_calls - start.program_calls,
        program_pages: end.program_pages - start.program_pages,
        program_bytes: end.program_bytes - start.program_bytes,
        erases: std::array::from_fn(|size| end.erases[size] - start.erases[size]),
        time_us: end.time_us - start.time_us,
        time_byte_ns: end.time_byte_ns - start.time_byte_ns,
    }
}

/// Measures a number of calls, one after the other.
fn measure(chip: &Chip<1>, calls: u32, mut call: impl FnMut(u32)) -> Cost {
    let start = chip.counts();
    let mut longest_us = 0;
    for index in 0..calls {
        let before = chip.counts().time_us;
        call(index);
        longest_us = longest_us.max(chip.counts().time_us - before);
    }
    let end = chip.counts();
    Cost {
        counts: between(&start, &end),
        longest_us,
        calls,
        changes: end.program_calls > start.program_calls,
    }
}

type Row = (&'static str, Cost);

fn setting(index: u32) -> String {
    format!("setting{index:03}")
}

/// Settings of 20 to 400 bytes that are replaced at random, then read; the costs.
fn settings(chip: &Chip<1>, store: &mut dyn Store, scale: Scale) -> Vec<Row> {
    let mut random = Random(42);
    let mut model: Vec<Vec<u8>> = vec![];
    let mut rows = vec![];
    store.session(&mut |session| {
        for index in 0..scale.settings {
            let length = 20 + random.below(381) as usize;
            model.push(random.bytes(length));
            session.put(&setting(index), &model[index as usize]);
        }
        let cost = measure(chip, scale.replacements, |_| {
            let index = random.below(scale.settings);
            let length = 20 + random.below(381) as usize;
            model[index as usize] = random.bytes(length);
            session.put(&setting(index), &model[index as usize]);
        });
        rows.push(("replace a setting of 20 to 400 B (40 of them)", cost));
    });
    let mut buffer = [0; VALUE_MAX + 12];
    let mut first = None;
    let begun = chip.counts();
    store.session(&mut |session| {
        assert_eq!(session.get(&setting(7), &mut buffer), model[7]);
        first = Some(between(&begun, &chip.counts()));
        let cost = measure(chip, scale.reads, |_| {
            let index = random.below(scale.settings);
            assert_eq!(session.get(&setting(index), &mut buffer), model[index as usize]);
        });
        rows.push(("read one of the settings", cost));
    });
    let counts = first.unwrap();
    let start = Cost { counts, longest_us: counts.time_us, calls: 1, changes: false };
    rows.push(("from a start to the first setting", start));
    rows
}

/// Many small values.
fn many(chip: &Chip<1>, store: &mut dyn Store, scale: Scale) -> Vec<Row> {
    let mut random = Random(43);
    let model: Vec<Vec<u8>> = (0..scale.keys).map(|_| random.bytes(RECORD)).collect();
    let mut rows = vec![];
    let mut buffer = [0; VALUE_MAX + 12];
    store.session(&mut |session| {
        let cost = measure(chip, scale.keys, |index| {
            session.put(&setting(index), &model[index as usize]);
        });
        rows.push(("store a new value of 32 B (1,000 of them)", cost));
        let cost = measure(chip, scale.reads, |_| {
            let index = random.below(scale.keys);
            assert_eq!(session.get(&setting(index), &mut buffer), model[index as usize]);
        });
        rows.push(("read one of the values", cost));
    });
    rows
}

/// A log; `batch` records become durable together.
fn log(chip: &Chip<1>, store: &mut dyn Store, scale: Scale, batch: u32) -> Vec<Row> {
    let mut random = Random(44);
    let model: Vec<Vec<u8>> = (0..scale.records).map(|_| random.bytes(RECORD)).collect();
    let mut rows = vec![];
    store.session(&mut |session| {
        let cost = measure(chip, scale.records / batch, |index| {
            let first = (index * batch) as usize;
            session.push(&model[first..first + batch as usize]);
        });
        rows.push((
            if batch == 1 {
                "append a record of 32 B to a log"
            } else {
                "append 50 records that become durable together"
            },
            cost,
        ));
    });
    if batch == 1 {
        store.session(&mut |session| {
            let cost = measure(chip, 1, |_| {
                let mut records = model.iter();
                session.read_log(&mut |record| {
                    assert_eq!(Some(record), records.next().map(|r| &r[..]))
                });
                assert_eq!(records.len(), 0, "records are missing");
            });
            rows.push(("read the whole log of 10,000 records", cost));
        });
    }
    rows
}

/// What was measured of one store.
struct Result {
    name: String,
    ram: usize,
    rows: Vec<Row>,
}

/// All work over one store, each part on a chip of its own.
fn run(new_store: for<'c> fn(&'c Chip<1>) -> Box<dyn Store + 'c>, scale: Scale) -> Result {
    type Work = fn(&Chip<1>, &mut dyn Store, Scale) -> Vec<Row>;
    let work: [Work; 4] = [
        settings,
        many,
        |chip, store, scale| log(chip, store, scale, 1),
        |chip, store, scale| log(chip, store, scale, scale.batch),
    ];
    let mut result = Result { name: String::new(), ram: 0, rows: vec![] };
    for part in work {
        let chip = Chip::new(CHIP, (BLOCKS * chip::BLOCK) as u32);
        let mut store = new_store(&chip);
        (result.name, result.ram) = (store.name(), store.ram());
        store.format();
        result.rows.extend(part(&chip, &mut *store, scale));
    }
    result
}

fn run_all(scale: Scale) -> Vec<Result> {
    vec![
        run(|chip| Box::new(Nf2::new(chip)), scale),
        run(|chip| Box::new(Sequential::new(chip, true)), scale),
        run(|chip| Box::new(Sequential::new(chip, false)), scale),
        run(|chip| Box::new(Ekv::new(chip)), scale),
    ]
}

/// A time with two digits or so.
fn time(us: f64) -> String {
    match us {
        us if us < 0.5 => "0".into(),
        us if us < 9.95 => format!("{us:.1} µs"),
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 9_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// A table with a line for each part of the work that `cell` says something of.
fn table(results: &[Result], title: &str, cell: impl Fn(&Cost) -> Option<String>) -> String {
    let mut text = format!("| {title} |");
    for result in results {
        text += &format!(" {} |", result.name);
    }
    text += &format!("\n|---|{}\n", "---:|".repeat(results.len()));
    for (index, (label, _)) in results[0].rows.iter().enumerate() {
        let cells: Option<Vec<_>> =
            results.iter().map(|result| cell(&result.rows[index].1)).collect();
        if let Some(cells) = cells {
            text += &format!("| {label} | {} |\n", cells.join(" | "));
        }
    }
    text + "\n"
}

fn tables(results: &[Result]) -> String {
    let mut text = table(results, "mean of a call", |cost| {
        Some(time(cost.counts.time_us as f64 / f64::from(cost.calls)))
    });
    text += &table(results, "mean of a call, by bytes", |cost| {
        Some(time(cost.counts.time_byte_ns as f64 / 1e3 / f64::from(cost.calls)))
    });
    text += &table(results, "longest call", |cost| {
        (cost.calls > 1).then(|| time(cost.longest_us as f64))
    });
    text += &table(results, "blocks erased, pages programmed", |cost| {
        let [small, middle, large] = cost.counts.erases;
        let (blocks, pages) = (small + 8 * middle + 16 * large, cost.counts.program_pages);
        cost.changes.then(|| format!("{blocks}, {pages}"))
    });
    let ram: Vec<_> = results.iter().map(|result| format!("{} B", result.ram)).collect();
    text +=
        &format!("RAM of structures and buffers on a computer of 64 bits: {}.\n", ram.join(", "));
    text
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let page = match &arguments[..] {
        [] => None,
        [option, page] if option == "--write" => Some(page),
        _ => {
            eprintln!("usage: nf2fs-bench [--write PAGE]");
            std::process::exit(2);
        }
    };
    let text = tables(&run_all(FULL));
    let Some(page) = page else {
        print!("{text}");
        return;
    };
    if let Err(error) = write_between_marks(page, &text) {
        eprintln!("nf2fs-bench: {page}: {error}");
        std::process::exit(1);
    }
}

fn write_between_marks(page: &str, text: &str) -> std::io::Result<()> {
    let old = std::fs::read_to_string(page)?;
    let marks = old.split_once(BEGIN).and_then(|(front, rest)| {
        rest.split_once(END).map(|(_, back)| format!("{front}{BEGIN}{text}{END}{back}"))
    });
    match marks {
        Some(new) => std::fs::write(page, new),
        None => Err(std::io::Error::other("the marks bench:begin and bench:end are missing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is read is compared, so this fails where a store loses something.
    #[test]
    fn a_part_of_the_work() {
        let small = Scale { replacements: 300, keys: 60, reads: 50, records: 300, ..FULL };
        let results = run_all(small);
        assert_eq!(results.len(), 4);
        for result in &results {
            assert_eq!(result.rows.len(), 8, "{}", result.name);
            let changes = result.rows.iter().filter(|(_, cost)| cost.changes);
            assert!(changes.clone().count() == 4, "{}", result.name);
            assert!(changes.clone().all(|(_, cost)| cost.counts.program_pages > 0));
        }
        assert!(tables(&results).lines().count() > 20);
    }
}
