#!/usr/bin/env python3
"""Holds every header and source to including what it uses.

The sources of a folder are compiled together, so a compiler no longer notices when one of them
lives on an include of its neighbour. This check reads the text instead: what a header or source
names must be declared in the file itself or in a header that its own includes lead to, directly or
through others. Checked are

  - names that one of our headers declares in a namespace: classes, enums, enumerators, aliases,
    constants, functions, and macros EMPLACE_*. Declared by several headers, any of them will do.
    A forward declaration serves the file that holds it and no other. A source that defines a
    function needs the header that declares it, and its own header in any case;
  - std:: names, each against the standard headers that provide it. Headers of other libraries count
    for nothing here;
  - names of other libraries, by their namespace or their first letters;
  - the headers that many files include: what they pull in of other libraries is listed here.

For the same reason a name in an unnamed namespace stands in one source of a folder; an alias may
stand again with the same meaning.

It knows namespaces, classes and their bases, but no types: members (x.Name, x->Name, Class::Name)
and overloads are left to the compiler, and so is what stands in directives only.

    check_names.py ROOT         exit code 1 and one line per offender (file:line: name, what to do)
    check_names.py --self-test  checks the checker on invented sources
"""
import collections
import pathlib
import re
import sys

from names.declarations import File
from names.tables import (C_TYPES, FOREIGN_NAMESPACES, FORWARDS, NESTED, STD, STD_HEADERS,
                          foreign_headers)

ROOMS = ["framework", "simulator", "agents", "profilers", "experiments", "tests"]
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}

# What headers that many files include may pull in of other libraries, directly or through others:
# library -> those headers, or folders of them. All files behind such a header compile the library.
WIDE = 20  # files
PULLED_IN_BY_WIDE = {
    "boost/align/": ("tests/profilers/reference_kernels.h",),
    "boost/random/": ("framework/base/random.h", "framework/learn/", "agents/common/moves.h",
                      "agents/common/state.h", "agents/improvement/improvement_agent.h",
                      "agents/large_neighborhood/", "agents/placeto/", "agents/policy_gradient/",
                      "agents/seq2seq/", "tests/"),
    "cuda_runtime": ("profilers/cuda/",),
    "doctest/": ("tests/",),
    "Eigen/Core": ("framework/learn/", "agents/common/state.h",
                   "agents/improvement/improvement_agent.h", "agents/placeto/",
                   "agents/policy_gradient/", "agents/seq2seq/", "tests/support/gradients.h"),
    "Eigen/SparseCore": ("framework/learn/ops.h", "framework/learn/layers.h", "agents/placeto/",
                         "agents/seq2seq/"),
    "nlohmann/json_fwd.hpp": ("framework/base/json.h",),
}

# (file, name) that need no include there, each with its reason.
EXCEPTIONS = {
    # Used where a test compiles the kernels for the host; that test includes what runs them.
    ("profilers/cuda/kernels/device.cuh", "RunOnHost"),
}

# Headers whose functions in small letters are called by another library, through the namespace of
# their arguments: the words themselves stay free for others.
FOUND_BY_ARGUMENT = {"framework/graph/graph_concepts.h"}

CHECK = "tests/check_names.py"
TABLES = "tests/names/tables.py"

STD_NAME = re.compile(r"(?<![\w:])(?:::\s*)?std\s*::\s*(\w+(?:\s*::\s*\w+)*)")
QUALIFIED = re.compile(r"(?<![\w:.])(?:::)?([A-Za-z]\w*(?:::\w+)+)")
STREAM = re.compile(r"\bstd::[io]stream\s*&\s*(\w+)")


class Tree:
    """All files, what each one's includes lead to, and where each name of ours is declared."""

    def __init__(self, texts):
        self.files = {path: File(path, text) for path, text in texts.items()}
        self.closures = {}
        self.declared = collections.defaultdict(lambda: collections.defaultdict(set))
        self.macros = collections.defaultdict(set)
        self.namespaces = set()
        self.members, self.bases, self.enumerators = {}, {}, {}
        self.headers = [file for file in self.files.values() if file.is_header]
        for file in self.headers:
            known = file.declarations()
            for namespace, name in known.declared:
                if file.path not in FOUND_BY_ARGUMENT or not name[0].islower():
                    self.declared[name][namespace].add(file.path)
            for name in file.macros:
                self.macros[name].add(file.path)
            self.namespaces |= known.namespaces
            for all_names, its_names in ((self.members, known.members), (self.bases, known.bases),
                                         (self.enumerators, known.enumerators)):
                for name, names in its_names.items():
                    all_names.setdefault(name, set()).update(names)

    def closure(self, path):
        """Our files (its own path, too) and others' headers that the includes of a file lead to."""
        if path not in self.closures:
            ours, others = {path}, set(self.files[path].others)
            others |= {f"c{name[:-2]}" for name in others if name.endswith(".h")} & STD.keys()
            self.closures[path] = (ours, others)  # for headers that include each other
            for name in self.files[path].ours:
                if name in self.files:
                    more = self.closure(name)
                    ours |= more[0]
                    others |= more[1]
        return self.closures[path]

    def offences(self):
        """(path, line, text) of each."""
        excused = set()
        for file in self.files.values():
            unreadable = file.declarations().unbalanced
            if unreadable is not None:
                yield file.path, file.line(unreadable), "this bracket has no partner here"
                continue
            for missing in (self.missing_header, self.missing_names, self.missing_macros,
                            self.missing_std, self.missing_foreign):
                for position, name, advice in missing(file):
                    if (file.path, name) in EXCEPTIONS:
                        excused.add((file.path, name))
                    else:
                        yield file.path, file.line(position), f"{name}: {advice}"
        for path, name in EXCEPTIONS - excused:
            if path in self.files:
                yield path, 1, f"{name}: no longer an exception; remove it from {CHECK}"
        yield from self.pulled_in()
        yield from self.repeated()

    def repeated(self):
        """Names in unnamed namespaces of two sources that are compiled together."""
        first = {}  # (folder, namespace, name) -> (path, alias)
        for path in sorted(self.files):
            if not path.endswith(".cc"):
                continue
            known = self.files[path].declarations()
            folder = pathlib.PurePosixPath(path).parent
            for (namespace, name), (token, alias) in known.unnamed.items():
                other, meaning = first.setdefault((folder, namespace, name), (path, alias))
                if other != path and not (alias and alias == meaning):
                    yield (path, self.files[path].line(known.positions[token]),
                           f"{name}: {other} has this name, and the sources of a folder are compiled together; "
                           "rename one")

    # Names of ours. These give (position in the text, name, advice), one for each name.

    def missing_header(self, file):
        """A source includes its own header, or nothing holds the two to the same declarations."""
        header = str(pathlib.PurePosixPath(file.path).with_suffix(".h"))
        if not file.is_header and header in self.files and header not in file.ours:
            yield 0, "its own header", include_one_of({header})

    def missing_names(self, file):
        reached = self.closure(file.path)[0]
        suspects = {
            name for name in file.identifiers & self.declared.keys()
            if any(reached.isdisjoint(paths) for paths in self.declared[name].values())}
        if not suspects:
            return
        known = file.declarations()
        for enum in known.opened_enums:
            suspects -= self.enumerators.get(enum, set()) | known.enumerators.get(enum, set())
        own = known.declared | known.forward
        if not file.is_header:
            own -= {(namespace, name) for namespace, name in known.defined
                    if namespace in self.declared.get(name, ())}  # to be held against that header
        for i, token in enumerate(known.tokens):
            if token in suspects:
                headers = self.declarers(known, own, i)
                if headers and reached.isdisjoint(headers):
                    suspects.discard(token)
                    yield known.positions[i], token, include_one_of(headers)

    def declarers(self, known, own, i):
        """Headers of which one must declare what the token i means; none if it needs none."""
        name = known.tokens[i]
        qualifiers = known.qualifiers_of(i)
        if qualifiers is None:
            return set()
        inside, classes = known.scope_of(i)
        names, from_root = qualifiers
        scopes = [()] if from_root else self.scopes(inside, known)
        if names:
            scopes = self.namespaces_of(names, scopes, known)
        elif self.is_member(name, classes, known):
            return set()
        elif known.is_local(name) and not any((scope, name) in known.defined for scope in scopes):
            return set()
        if any((scope, name) in own for scope in scopes):
            return set()
        return set().union(*(self.declared[name].get(scope, ()) for scope in scopes))

    def scopes(self, inside, known):
        """Namespaces in which a name is looked up that stands inside of one."""
        scopes = [inside[:depth] for depth in range(len(inside), -1, -1)]
        for where, names in known.opened:
            around = [where[:depth] for depth in range(len(where), -1, -1)]
            for opened in self.namespaces_of(names, around, known):
                scopes += [opened[:depth] for depth in range(len(opened), 0, -1)]
        return scopes

    def namespaces_of(self, names, scopes, known):
        """The namespaces that names joined by :: can mean when looked up in these."""
        names = tuple(known.aliases.get(names[0], names[:1])) + tuple(names[1:])
        return [scope + names for scope in scopes
                if scope + names in self.namespaces or scope + names in known.namespaces]

    def is_member(self, name, classes, known):
        """Whether one of the classes or of their bases has a member of this name."""
        todo, seen = list(classes), set()
        while todo:
            known_as = todo.pop()
            if known_as in seen:
                continue
            seen.add(known_as)
            for members, bases in ((self.members, self.bases), (known.members, known.bases)):
                if name in members.get(known_as, ()):
                    return True
                todo += bases.get(known_as, ())
        return False

    def missing_macros(self, file):
        reached = self.closure(file.path)[0]
        for name in file.identifiers & self.macros.keys():
            if reached.isdisjoint(self.macros[name]):
                position = re.search(rf"\b{name}\b", file.text).start()
                yield position, name, include_one_of(self.macros[name])

    # Names of others; likewise.

    def missing_std(self, file):
        given = self.closure(file.path)[1]
        streams = "|".join(STREAM.findall(file.text))
        if streams and re.search(rf"\b({streams})\s*(<<|>>|\.)", file.text):
            given = given - {"iosfwd"}  # used, not only passed on
        names = {re.sub(r"\s", "", name) for name in STD_NAME.findall(file.text)}
        wanted = set()
        for name in names | (file.identifiers & C_TYPES):
            parts = name.split("::")
            wanted.add("::".join(parts[:2]) if parts[0] in NESTED else parts[0])
        for name in wanted:
            headers = STD_HEADERS.get(name)
            if headers is not None and not given.isdisjoint(headers):
                continue
            pattern = rf"\b{name}\b".replace("::", r"\s*::\s*")
            use = re.search(rf"\bstd\s*::\s*{pattern}", file.text) or re.search(pattern, file.text)
            yield use.start(), f"std::{name}", (
                f"include <{headers[0]}>" if headers else f"unknown std name; add it to {TABLES}")

    def missing_foreign(self, file):
        given = self.closure(file.path)[1] - (set() if file.is_header else FORWARDS)
        for qualified in set(QUALIFIED.findall(file.text)):
            names = qualified.split("::")
            if names[0] not in FOREIGN_NAMESPACES:
                continue
            name = next(prefix for prefix in ("::".join(names[:end]) for end in (3, 2, 1))
                        if prefix in FOREIGN_NAMESPACES)
            headers = FOREIGN_NAMESPACES[name]
            if not any(header.startswith(headers) for header in given) and \
                    ((names[0],), names[1]) not in file.declarations().forward:
                position = re.search(rf"\b{qualified}\b", file.text).start()
                yield position, qualified, include_of_library(headers)
        for name in file.identifiers:
            headers = foreign_headers(name)
            if headers and not any(header.startswith(headers) for header in given):
                position = self.foreign_use(file.declarations(), name)
                if position is not None:
                    yield position, name, include_of_library(headers)

    def foreign_use(self, known, name):
        """Position of the first use of a name that is a library's; None if it is someone else's."""
        if known.is_local(name) or any(name in names for names in known.members.values()) or \
                any(name == own for _, own in known.declared):
            return None
        for i, token in enumerate(known.tokens):
            if token == name and known.qualifiers_of(i) in (([], False), ([], True)):
                return known.positions[i]
        return None

    # What widely included headers bring.

    def pulled_in(self):
        users = collections.Counter()
        for path in self.files:
            users.update(self.closure(path)[0] - {path})
        for file in self.headers:
            if users[file.path] < WIDE:
                continue
            for name in self.closure(file.path)[1] - STD.keys():
                if any(name.startswith(library) and file.path.startswith(headers)
                       for library, headers in PULLED_IN_BY_WIDE.items()):
                    continue
                way = self.way(file.path, name)
                through = f" through {' > '.join(way[:-1])}" if way[1:] else ""
                yield (file.path, file.include_lines[way[0]],
                       f"<{name}>: {users[file.path]} files include this header, and it pulls that "
                       f"in{through}; declare forward what it needs, or use it in sources only. If "
                       f"it must be, add it to PULLED_IN_BY_WIDE in {CHECK}")

    def way(self, path, name):
        """Shortest way from one of our files to a header of another library, this included."""
        todo, seen = collections.deque([(path, ())]), {path}
        while todo:
            path, way = todo.popleft()
            if name in self.files[path].others:
                return way + (name,)
            for header in self.files[path].ours:
                if header in self.files and header not in seen:
                    seen.add(header)
                    todo.append((header, way + (header,)))
        raise AssertionError(f"no way from {path} to {name}")


def include_one_of(headers):
    return "include " + " or ".join(f'"{header}"' for header in sorted(headers))


def include_of_library(headers):
    return "include " + " or ".join(
        f"<{header}>" if header.endswith((".h", ".hpp")) or header in STD else f"<{header}...>"
        for header in headers)


def read_tree(root):
    return {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
            for room in ROOMS for file in sorted((root / room).rglob("*"))
            if file.suffix in SUFFIXES}


# Invented headers, and what uses them.
SELF_TEST_HEADERS = {
    "framework/base/a.h": """#pragma once
#include <cstdint>
#include <string>
namespace emplace {
enum class Kind { kRed, kBlue };
enum { kLoose, kLooser = 1 << 3 };
inline constexpr int kLimit = 1'000'000;
using Amount = std::int64_t;
struct Base { virtual ~Base() = default; int Inherited() const { return 0; } };
template <class T> class Box : public Base { public: T Open() const; };
class Later;
std::string Describe(const Base& base, int (*callback)(int));
extern const char* const kTexts[];
namespace internal { int Hidden(); }
}  // namespace emplace
#define EMPLACE_TWICE(x) ((x) + (x))
""",
    "framework/base/b.h": """#pragma once
#include "framework/base/a.h"
namespace emplace { struct Other : Box<int> { void Inherit(); }; }
""",
    "framework/base/later.h": """#pragma once
namespace emplace { class Later {}; }
""",
    "profilers/cpu/c.h": """#pragma once
namespace emplace::cpu { class Device {}; int Launch(); }
""",
    "profilers/cuda/c.h": """#pragma once
namespace emplace::cuda { class Device {}; int Launch(); }
""",
    "experiments/d.h": """#pragma once
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
namespace emplace { using Json = nlohmann::json; }
""",
    "tests/t.h": """#pragma once
namespace emplace::testing { int Helper(); int Hidden(); }
""",
}
SELF_TEST_FINE = {
    # Through another header; by a forward declaration; by itself; as a member of something.
    "agents/x.cc": """
#include "framework/base/b.h"
#include <vector>
namespace emplace {
class Later;
int Use(Later& later, const Box<int>& box) {
  return EMPLACE_TWICE(kLoose) + internal::Hidden() + ::emplace::kLimit + int(Amount{0});
}
void Other::Inherit() { Inherited(); }
}
""",
    "agents/y.cc": """
// kLimit Box std::vector
#ifdef EMPLACE_TWICE
int Branch() {
#elif defined(X)
int Branch(std::vector) {
#else
#if 1
int Branch(int x) {
#endif
#endif
  return 0;
}
#if 1
int kLooser;
#else
long kLooser;
#endif
int UseBoth() { return kLooser; }
#include <fmt/format.h>
/* Amount */
namespace emplace {
namespace {
struct Box { int kLimit; int Describe(); };
template <class Amount> int Sum(Amount x) { return x; }
const char* const kText = "kLoose std::sort" R"(Kind " Base)" "\\"Kind\\"";
struct Mine { int Launch(); int Run() { return Launch(); } enum Base { kNone }; };
}
int Hidden(Box& box) {
  const int kTexts = 'x' + 1'000;
  return box.Describe() + box.kLimit + kTexts;
}
auto Text() { return fmt::format("{}", Mine::kNone); }
}
""",
    # The same name in another namespace is another name.
    "profilers/cpu/x.cc": """
#include "profilers/cpu/c.h"
namespace emplace::cpu { int Run(Device&) { return Launch() + cpu::Launch(); } }
""",
    "tests/x_test.cc": """
#include <string_view>
#include <doctest/doctest.h>
#include "profilers/cuda/c.h"
#include "tests/t.h"
using namespace emplace;
using namespace emplace::testing;
TEST_CASE("a") { CHECK(Helper() + testing::Hidden() == cuda::Launch()); }
""",
    "experiments/x.h": """#pragma once
#include "experiments/d.h"
namespace CLI { class App; }
namespace emplace { Json Pass(std::ostream& out, CLI::App* app); }
""",
}
SELF_TEST_BAD = {
    # Compiled together: one name each, but for aliases of one meaning. Another folder, another namespace: no matter.
    "agents/u/one.cc": ("namespace emplace { namespace { int Twice() { return 1; } using Ints = int; } }\n", []),
    "agents/u/two.cc": ("""
namespace emplace {
namespace {
using Ints = int;
constexpr int Twice = 2;
}
namespace other { namespace { int Twice() { return 3; } } }
}
""", ["5: Twice: agents/u/one.cc has this name, and the sources of a folder are compiled together; "
      "rename one"]),
    "agents/u/deep/three.cc": ("namespace emplace { namespace { int Twice = 1; } }\n", []),
    "agents/own.h": ("#pragma once\n", []),
    "agents/own.cc": ("int x;\n", ['1: its own header: include "agents/own.h"']),
    "agents/b1.cc": ("""
namespace emplace {
int a = kLimit;
Box<int> b;
int c = kLooser, d = EMPLACE_TWICE(3);
void F(Base& base) { Describe(base, nullptr); }
struct D : Other { D() : Other{} { Inherit(); } };
}
""", ['3: kLimit: include "framework/base/a.h"', '4: Box: include "framework/base/a.h"',
      '5: kLooser: include "framework/base/a.h"', '5: EMPLACE_TWICE: include "framework/base/a.h"',
      '6: Base: include "framework/base/a.h"', '6: Describe: include "framework/base/a.h"',
      '7: Other: include "framework/base/b.h"']),
    # Declared forward elsewhere is not enough.
    "agents/b2.cc": ("""
#include "framework/base/a.h"
namespace emplace { Later later; }
""", ['3: Later: include "framework/base/later.h"']),
    "agents/b3.cc": ("""
namespace emplace { int f() { return internal::Hidden() + (kTexts != nullptr); } }
int g() { return emplace::internal::Hidden(); }
""", ['2: Hidden: include "framework/base/a.h"', '2: kTexts: include "framework/base/a.h"']),
    # A function's definition needs the header that declares it.
    "framework/base/b4.cc": ("""
#include "framework/base/b.h"
namespace emplace::testing { int Helper() { return 0; } }
""", ['3: Helper: include "tests/t.h"']),
    "profilers/cuda/b5.cc": ("""
#include "profilers/cpu/c.h"
namespace emplace::cuda { int Run(Device&) { return 0; } }
""", ['3: Device: include "profilers/cuda/c.h"']),
    "tests/b6_test.cc": ("""
#include "profilers/cpu/c.h"
using namespace emplace;
TEST_CASE("a") { testing::Helper(); cuda::Launch(); }
""", ['4: Helper: include "tests/t.h"', '4: Launch: include "profilers/cuda/c.h"',
      "4: TEST_CASE: include <doctest/...>"]),
    "agents/b7.h": ("""#pragma once
#include <string>
#include <map>
inline std::vector<std::uint8_t> of_b7(std::map<int, int> x) { return std::move(x); }
inline std :: ranges::sort in_b7; int64_t h; std::ranges::subrange<int> i; std::size_t k;
std::chrono::seconds s; std::frobnicate t; std::ranges::frobnicate u;
""", ["4: std::move: include <utility>", "4: std::uint8_t: include <cstdint>",
      "4: std::vector: include <vector>", "5: std::int64_t: include <cstdint>",
      "5: std::ranges::sort: include <algorithm>", "5: std::ranges::subrange: include <ranges>",
      "6: std::chrono: include <chrono>",
      f"6: std::frobnicate: unknown std name; add it to {TABLES}",
      f"6: std::ranges::frobnicate: unknown std name; add it to {TABLES}"]),
    # What is declared forward serves to pass on only.
    "experiments/b8.cc": ("""
#include "experiments/d.h"
namespace emplace { void f(std::ostream& out, const Json& json) { out << 3; } }
""", ["3: std::ostream: include <ostream>", "3: Json: include <nlohmann/...>"]),
    "experiments/b9.cc": ("""
#include <fmt/format.h>
auto a = fmt::gmtime(0); boost::random::uniform_01<double> b; Eigen::MatrixXd c; CLI::App* d;
hid_t e; int f() { return ::getpid() + INT_MAX + x.fork() + Mine::fork() + std::signal(1, 2); }
""", ["3: fmt::gmtime: include <fmt/chrono.h>", "3: Eigen::MatrixXd: include <Eigen/...>",
      "3: boost::random::uniform_01: include <boost/random/uniform_01.hpp>",
      "3: CLI::App: include <CLI/...>", "4: hid_t: include <hdf5.h>",
      "4: getpid: include <unistd.h>", "4: INT_MAX: include <climits>",
      "4: std::signal: include <csignal>"]),
    "agents/b10.cc": ("int f() {\n", ["1: this bracket has no partner here"]),
    "profilers/cuda/kernels/device.cuh": ("#pragma once\n", [
        f"1: RunOnHost: no longer an exception; remove it from {CHECK}"]),
    # Widely included.
    "framework/base/way.h": ("#pragma once\n#include <yaml-cpp/yaml.h>\n", [
        "2: <yaml-cpp/yaml.h>: 21 files include this header, and it pulls that in; declare forward "
        "what it needs, or use it in sources only. If it must be, add it to PULLED_IN_BY_WIDE in "
        f"{CHECK}"]),
    "framework/base/wide.h": ("""#pragma once
#include <vector>

#include "framework/base/way.h"
""", ["4: <yaml-cpp/yaml.h>: 20 files include this header, and it pulls that in through "
      "framework/base/way.h; declare forward what it needs, or use it in sources only. If it must "
      f"be, add it to PULLED_IN_BY_WIDE in {CHECK}"]),
    **{f"simulator/w{i}.cc": ('#include "framework/base/wide.h"\n', []) for i in range(WIDE)},
}


def self_test():
    texts = {**SELF_TEST_HEADERS, **SELF_TEST_FINE,
             **{path: text for path, (text, _) in SELF_TEST_BAD.items()}}
    found = [f"{path}:{line}: {text}" for path, line, text in Tree(texts).offences()]
    expected = {f"{path}:{text}" for path, (_, all_texts) in SELF_TEST_BAD.items()
                for text in all_texts}
    missed, too_many = expected - set(found), set(found) - expected
    assert not missed and not too_many, "\n".join(
        ["missed:", *sorted(missed), "wrongly accused:", *sorted(too_many)])
    assert len(found) == len(expected), "told twice"


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        print("the checker finds what it should")
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    self_test()
    texts = read_tree(pathlib.Path(arguments[0]))
    offences = [f"{path}:{line}: {text}" for path, line, text in sorted(Tree(texts).offences())]
    print("\n".join(offences) if offences else f"{len(texts)} files include what they use")
    return 1 if offences or not texts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
