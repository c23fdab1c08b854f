# SPDX-License-Identifier: BSD-2-Clause
"""The worst stack of each public call, from what gcc says of frames and calls (-fcallgraph-info).

What this cannot see: the frames of the driver and of other hooks that a public header declares,
interrupts, and functions that were compiled without that information (libc, libgcc: they are named,
and count as 0). A call through a member of a structure reaches the functions that an initializer
gives that member (`.member = function`); a call through another pointer is taken to reach each
function with as many parameters whose address is taken in a function that leads to that call, or in
a table without such initializers. Functions
that call each other in a circle count together, each once (the circle is named). A function that
ends with a jump to another one has given up its frame by then, so that does not count below it.
"""

import re
import sys
from dataclasses import dataclass, field

from target_build import CROSS, ROOT, run

NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"')
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]*)")?')
BYTES = re.compile(r"(\d+) bytes \(([^)]*)\)")
TAKEN = re.compile(r"R_ARM_(?:ABS32|MOVW_ABS_NC|MOVT_ABS|THM_MOVW_ABS_NC)\s+[0-9a-f]+\s+(\S+)")
JUMP = re.compile(r"R_ARM_THM_(CALL|JUMP\w*)\s+[0-9a-f]+\s+(\S+)")
INITIAL = re.compile(r"\.(\w+)\s*=\s*(\w+)\s*[,}]")
POINTER = "__indirect_call"


@dataclass
class Function:
    frame: int
    kind: str  # "static", "dynamic,bounded", ...
    parameters: int | None  # how many, where the source tells
    callees: set = field(default_factory=set)
    jumps: set = field(default_factory=set)  # those of them that are never called, only jumped to


@dataclass
class Graph:
    functions: dict = field(default_factory=dict)  # by title
    pointer_calls: list = field(
        default_factory=list
    )  # functions that call through a pointer of the library's own; member or "", arguments
    members: dict = field(default_factory=dict)  # names of the functions that initializers give it
    through: dict = field(default_factory=dict)  # what a function calls through pointers
    takers: dict = field(
        default_factory=dict
    )  # function, or "" for a table: whose addresses it takes


@dataclass
class Deepest:
    bytes: int
    path: list


def hooks(headers):
    """The names of pointers to functions that public headers declare: what is called through them
    is not the library's."""
    return {
        name for header in headers for name in re.findall(r"\(\*(\w+)\)\s*\(", header.read_text())
    }


def read_graph(objects, outside=frozenset()):
    graph, sources = Graph(), set()
    for thing in objects:
        edges = []
        for line in thing.with_suffix(".ci").read_text().splitlines():
            if found := NODE.match(line):
                if frame := BYTES.search(found.group(2)):
                    place = found.group(2).split("\\n")[1]
                    sources.add(place.rsplit(":", 2)[0])
                    words = arguments(text_at(place), name_of(found.group(1)).split(".")[0])
                    graph.functions[found.group(1)] = Function(
                        int(frame.group(1)), frame.group(2), words
                    )
            elif found := EDGE.match(line):
                edges.append(found.groups())
        for source, target, place in edges:
            if target != POINTER:
                graph.functions[source].callees.add(target)
            elif not any(name in outside for name in called_at(place)):
                graph.pointer_calls.append((source, *pointer_call(place)))
        note_addresses(graph, thing)
    for source in sorted(sources):
        for member, function in INITIAL.findall((ROOT / source).read_text()):
            graph.members.setdefault(member, set()).add(function)
    resolve(graph)
    return graph


def text_at(place, lines=6):
    """The text of a source from `path:line:column` on."""
    path, line, column = place.rsplit(":", 2)
    path = ROOT / path
    if not path.is_file():
        return ""
    first, *rest = path.read_text().splitlines()[int(line) - 1 : int(line) - 1 + lines]
    return "\n".join([first[int(column) - 1 :], *rest])


def called_at(place):
    """The names that stand before a parenthesis in the line of this place."""
    return re.findall(r"(\w+)\)?\s*\(", text_at(place, 1))


def pointer_call(place):
    """The member that the first call here goes through, and how many arguments it has; "", None
    where it is none: gcc says where the statement or the macro begins."""
    text = text_at(place)
    found = re.search(r"(?:->|\.)(\w+)\)?\s*\(", text.split(";")[0])
    return (found.group(1), arguments(text[found.start() :], found.group(1))) if found else ("", None)


def arguments(text, name):
    """How many arguments or parameters stand in the parentheses behind a name; None where that is
    not found."""
    found = re.search(rf"\b{re.escape(name)}\)?\s*\(", text)
    depth, count, given = 1, 1, ""
    for letter in text[found.end() :] if found else "":
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return 0 if given.strip() in ("", "void") else count
        count += letter == "," and depth == 1
        given += letter
    return None


def note_addresses(graph, thing):
    """Adds whose address this object's functions and tables hold, and what they jump to."""
    titles = {}
    for line in thing.with_suffix(".ci").read_text().splitlines():
        if found := NODE.match(line):
            titles[name_of(found.group(1))] = found.group(1)
    section, ways = "", {}
    for line in run(CROSS + "readelf", "-rW", thing).splitlines():
        if line.startswith("Relocation section"):
            section = line.split("'")[1].removeprefix(".rel")
        if not section.startswith((".text.", ".rodata", ".data")):
            continue
        user = titles.get(section.removeprefix(".text."), "")
        if found := TAKEN.search(line):
            taken = titles.get(found.group(1))
            if taken:
                graph.takers.setdefault(user, set()).add(taken)
        elif (found := JUMP.search(line)) and user in graph.functions:
            ways.setdefault((user, found.group(2)), set()).add(found.group(1) == "CALL")
    for (user, name), called in ways.items():
        if True not in called:
            graph.functions[user].jumps.add(titles.get(name, name))


def resolve(graph):
    """Gives each function that calls through a pointer its callees."""
    callers = {}
    for title, function in graph.functions.items():
        for callee in function.callees:
            callers.setdefault(callee, set()).add(title)
    titles = {name_of(title): title for title in graph.functions}
    of_members = set().union(*graph.members.values())
    for title, member, count in graph.pointer_calls:
        if member in graph.members:
            named = graph.members[member] & set(titles)
            graph.through.setdefault(title, set()).update(titles[name] for name in named)
            continue
        reached, waiting = {title}, [title]
        while waiting:
            for caller in callers.get(waiting.pop(), set()) - reached:
                reached.add(caller)
                waiting.append(caller)
        for taker, taken in graph.takers.items():
            if taker in reached or not taker:
                graph.through.setdefault(title, set()).update(
                    one
                    for one in taken
                    if may_be(graph.functions[one], count)
                    and (taker or name_of(one) not in of_members)
                )
    for title, reached in graph.through.items():
        graph.functions[title].callees |= reached


def may_be(function, count):
    """May a call with so many arguments be one of this function?"""
    return count is None or function.parameters is None or function.parameters == count


def circles(graph, titles):
    """Tarjan's strongly connected components: lists of titles, callees first."""
    number, low, stack, result = {}, {}, [], []

    def visit(title):
        number[title] = low[title] = len(number)
        stack.append(title)
        for callee in sorted(graph.functions[title].callees & titles):
            if callee not in number:
                visit(callee)
                low[title] = min(low[title], low[callee])
            elif callee in stack:
                low[title] = min(low[title], number[callee])
        if low[title] == number[title]:
            at = stack.index(title)
            result.append(stack[at:])
            del stack[at:]

    for title in sorted(titles):
        if title not in number:
            visit(title)
    return result


def deepest(graph, titles):
    """The longest path down from each function, and the circles with more than one function or one
    that calls itself."""
    found, round_ones = {}, []
    for circle in circles(graph, titles):
        functions = [graph.functions[title] for title in circle]
        callees = {callee for function in functions for callee in function.callees}
        own = sum(function.frame for function in functions)
        jumps = functions[0].jumps if len(circle) == 1 else set()
        path = [(name_of(title), graph.functions[title].frame) for title in circle]
        result = Deepest(own, path)
        for callee in sorted(callees & titles - set(circle)):
            below = found[callee]
            if callee in jumps and below.bytes > result.bytes:
                result = Deepest(below.bytes, [(path[0][0], 0), *below.path])
            elif callee not in jumps and own + below.bytes > result.bytes:
                result = Deepest(own + below.bytes, [*path, *below.path])
        for title in circle:
            found[title] = result
        if len(circle) > 1 or callees & set(circle):
            round_ones.append(sorted(name for name, _ in path))
    return found, round_ones


def name_of(title):
    return title.rsplit(":", 1)[-1]


def worst(objects, headers, linked, roots):
    """Of a linked program: the stack of each public call in `roots`, what was not seen, and
    circles of calls."""
    sys.setrecursionlimit(10_000)
    graph = read_graph(objects, hooks(headers))
    titles = {title for title in graph.functions if name_of(title) in linked}
    found, round_ones = deepest(graph, titles)
    named = {name_of(title): one for title, one in found.items()}
    calls = [
        {
            "call": root,
            "bytes": named[root].bytes,
            "path": [f"{name} {frame}" for name, frame in named[root].path],
        }
        for root in roots
    ]
    called = {callee for title in titles for callee in graph.functions[title].callees}
    return {
        "calls": sorted(calls, key=lambda call: -call["bytes"]),
        "without_information": sorted(called - set(graph.functions)),
        "frames_not_fixed": sorted(
            name_of(title) for title in titles if graph.functions[title].kind != "static"
        ),
        "circles": sorted(" ".join(names) for names in round_ones),
        "through_pointers": {
            name_of(title): sorted(map(name_of, graph.through.get(title, set()) & titles))
            for title in sorted({title for title, *_ in graph.pointer_calls} & titles)
        },
    }
