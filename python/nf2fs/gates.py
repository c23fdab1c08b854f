# SPDX-License-Identifier: BSD-2-Clause
"""Gates: numbers that must be met, each an expression over a benchmark row and native's row of the same cell.

In an expression a name is a key of the row ("program_pages"), `native.key` is native's; sums, products,
items of lists and max, min, sum, len are allowed, and nothing else.
"""

from __future__ import annotations

import ast
import fnmatch
import operator
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .bench import NATIVE, Row, is_good

OURS = "nf2fs"
PEER = "littlefs"
GATES_FILE = Path(__file__).with_name("gates.toml")
RELATIONS = {"<=": operator.le, ">=": operator.ge}

_BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_FUNCTIONS = {"max": max, "min": min, "sum": sum, "len": len}


class GateError(Exception):
    """A gate that is not written properly."""


class NotMeasured(Exception):
    """The rows do not hold what an expression asks for."""


class NoBound(Exception):
    """What an expression asks for was found to have no bound: no gate on it is met."""


@dataclass(frozen=True)
class Gate:
    id: str
    title: str
    workload: str
    measure: str
    bound: str
    unit: str = ""
    relation: str = "<="
    state: str = "fresh"
    chip: str = "w25q256"
    digits: int = 2
    maintain_us: int = 0        # idle time after each operation
    mean: int = 0               # where a lifespan row ends
    long: bool = False          # its cell takes minutes or hours: measured on demand
    peer_stated: str = ""       # the peer's figure as published, where no row of ours can hold it


@dataclass(frozen=True)
class Outcome:
    gate: Gate
    verdict: str                # "met", "NOT met", "not measured"
    bound: float | None = None
    ours: float | None = None
    peer: float | None = None
    why: str = ""

    @property
    def excess(self) -> float | None:
        """How far past the bound, as a share of it; negative: inside."""
        if self.ours is None or self.bound is None:
            return None
        past = self.ours - self.bound if self.gate.relation == "<=" else self.bound - self.ours
        return past / self.bound if self.bound else float(past)


def load_gates(path: Path = GATES_FILE, only: list[str] | None = None) -> list[Gate]:
    with open(path, "rb") as file:
        content = tomllib.load(file)
    try:
        gates = [Gate(**entry) for entry in content["gate"]]
    except TypeError as error:
        raise GateError(f"{path.name}: {error}") from None
    known = {gate.id for gate in gates}
    if len(known) != len(gates):
        raise GateError(f"{path.name}: two gates have one id")
    for gate in gates:
        if gate.relation not in RELATIONS:
            raise GateError(f"{gate.id}: relation {gate.relation!r}")
    if only is None:
        return gates
    for name in only:
        if not fnmatch.filter(known, name):
            raise GateError(f"no gate is named '{name}'")
    return [gate for gate in gates if any(fnmatch.fnmatchcase(gate.id, name) for name in only)]


def load_unmeasured(path: Path = GATES_FILE) -> list[str]:
    """What the gates ask for and no workload measures yet."""
    with open(path, "rb") as file:
        return list(tomllib.load(file).get("unmeasured", []))


# ---- expressions ----

def evaluate(text: str, row: Row, native: Row | None) -> float:
    """The value of an expression. Raises NotMeasured where a row lacks what it names."""
    try:
        tree = ast.parse(f"({text})", mode="eval")
    except SyntaxError:
        raise GateError(f"not an expression: {text}") from None
    try:
        return _value(tree.body, row, native)
    except ZeroDivisionError:
        raise NotMeasured(f"division by zero in {text}") from None


def _value(node: ast.expr, row: Row, native: Row | None):
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return node.value
    if isinstance(node, ast.Name):
        return _key(row, node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == NATIVE:
        if not is_good(native):
            raise NotMeasured("native has no row")
        return _key(native, node.attr)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, row, native), _value(node.right, row, native))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, row, native)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords:
        return _call(node, row, native)
    if isinstance(node, ast.Subscript):
        return _item(node, row, native)
    raise GateError(f"not allowed in an expression: {ast.unparse(node)}")


def _call(node: ast.Call, row: Row, native: Row | None):
    try:
        return _FUNCTIONS[node.func.id](*(_value(argument, row, native) for argument in node.args))
    except (ValueError, TypeError):
        raise NotMeasured(f"nothing to take {node.func.id} of") from None


def _item(node: ast.Subscript, row: Row, native: Row | None):
    holder = _value(node.value, row, native)
    if isinstance(node.slice, ast.Slice):
        ends = [None if end is None else _value(end, row, native) for end in (node.slice.lower, node.slice.upper)]
        return holder[slice(*ends)]
    try:
        return holder[_value(node.slice, row, native)]
    except (KeyError, IndexError, TypeError):
        raise NotMeasured(f"no {ast.unparse(node)}") from None


def _key(row: Row, key: str):
    if row.get(key) is None:
        if key in row.get("unbounded", {}):
            raise NoBound(row["unbounded"][key])
        raise NotMeasured(row.get("missing", {}).get(key) or f"the row has no {key}")
    return row[key]


# ---- judging ----

def find_row(rows: list[Row], gate: Gate, fs: str) -> Row | None:
    """The last row of the gate's cell; of a peer that was not measured with idle time the one without."""
    found = _last_row(rows, gate, fs, gate.maintain_us)
    return found if found is not None or fs != PEER else _last_row(rows, gate, fs, 0)


def _last_row(rows: list[Row], gate: Gate, fs: str, idle: int) -> Row | None:
    for row in reversed(rows):
        if (row["fs"] == fs and row["workload"] == gate.workload and row.get("state", "fresh") == gate.state
                and row.get("chip", gate.chip) == gate.chip
                and row.get("maintain_budget_us", 0) == idle and row.get("mean", 0) == gate.mean
                and row.get("limit", 0) == 0):
            return row
    return None


def judge(gate: Gate, rows: list[Row]) -> Outcome:
    """Whether the rows meet a gate. A cell that failed or read wrong data meets nothing."""
    native = find_row(rows, gate, NATIVE)
    row = find_row(rows, gate, OURS)
    peer = _peer_value(gate, rows, native)
    if row is None:
        return Outcome(gate, "not measured", peer=peer, why="a long cell: see --long and --with" if gate.long else "no row")
    if not is_good(row):
        return Outcome(gate, "NOT met", peer=peer, why=str(row.get("error") or row.get("status")))
    try:
        bound, ours = evaluate(gate.bound, row, native), evaluate(gate.measure, row, native)
    except NotMeasured as missing:
        return Outcome(gate, "not measured", peer=peer, why=str(missing))
    except NoBound as why:
        return Outcome(gate, "NOT met", peer=peer, why=str(why))
    met = RELATIONS[gate.relation](ours, bound)
    if met and row.get("steady") == 0:
        return Outcome(gate, "not measured", bound, ours, peer, why="stopped by a limit before the steady state")
    return Outcome(gate, "met" if met else "NOT met", bound, ours, peer)


def _peer_value(gate: Gate, rows: list[Row], native: Row | None) -> float | None:
    row = find_row(rows, gate, PEER)
    if not is_good(row):
        return None
    try:
        return evaluate(gate.measure, row, native)
    except NotMeasured:
        return None


def check_gates(results: list[Row], gates: list[Gate] | None = None) -> list[Outcome]:
    """The gates that the rows do not meet; those that were not measured are among them."""
    return [outcome for gate in (load_gates() if gates is None else gates)
            if (outcome := judge(gate, results)).verdict != "met"]
