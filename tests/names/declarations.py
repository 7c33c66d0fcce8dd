"""Reads what C++ text includes and declares, without a compiler: a helper of check_names.py.

It follows braces, namespaces, classes and the heads of functions; it skips functions' bodies. That
is enough for code in the house's style. What it does not know: types, overloads, templates'
arguments, and which branch of an #if counts: all do,
but where one opens another number of braces than it closes, the first alone.
"""
import re

INCLUDE = re.compile(r'#\s*include\s*(["<])([^">\n]+)[">]')
MACRO = re.compile(r"#\s*define\s+(EMPLACE_\w+)")
# Comments, directives (with the lines they continue on) and literals. A ' behind a letter or digit
# parts digits and begins no literal.
NOISE = re.compile(r"""
      //(?:[^\\\n]|\\[\s\S])*
    | /\*[\s\S]*?\*/
    | \#(?:[^\\\n]|\\[\s\S])*
    | "(?<=R")(?P<mark>[^()\\\s"]*)\([\s\S]*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\[\s\S])*"
    | '(?<![0-9A-Za-z_]')(?:[^'\\\n]|\\.)+'
""", re.VERBOSE)
# A conditional without another inside, as File leaves it until it has read all.
BRANCHES = re.compile("\1([^\1\2\3]*)(?:\2([^\1\3]*))?\3")
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|==|[<>!]=|&&|\|\||\.?\d[\w.']*|[^\s\w]")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = frozenset("""
    alignas and asm break case catch class co_await co_return co_yield const const_cast consteval
    constexpr constinit continue decltype default delete do dynamic_cast else enum explicit export
    extern final for friend goto if inline mutable namespace new noexcept not operator or override
    private protected public register reinterpret_cast requires return sizeof static static_assert
    static_cast struct switch template this thread_local throw try typedef typeid typename union
    using virtual volatile while __attribute__ __declspec __launch_bounds__""".split())


MARKS = [("\1", re.compile(r"#\s*if")), ("\2", re.compile(r"#\s*el")),
         ("\3", re.compile(r"#\s*endif"))]


def join_branches(match):
    first, others = match.groups(default="")
    if first.count("{") != first.count("}"):
        others = "\n" * others.count("\n")
    return f" {first} {others} ".replace("\2", " ")


def is_name(token):
    return bool(IDENTIFIER.match(token)) and token not in KEYWORDS


class File:
    """A header or source: its includes, and its text without noise (each line still a line)."""

    def __init__(self, path, text):
        self.path = path
        self.is_header = path.endswith((".h", ".cuh"))
        self.ours, self.others = [], []  # what it includes, with quotes and with angle brackets
        self.include_lines = {}
        self.macros = set()  # EMPLACE_...
        self._declarations = None

        def strip(match):
            found = match.group()
            if found[0] == "#":
                include = INCLUDE.match(found)
                if include:
                    (self.ours if include[1] == '"' else self.others).append(include[2])
                    self.include_lines[include[2]] = text.count("\n", 0, match.start()) + 1
                else:
                    self.macros.update(MACRO.findall(found))
                    for mark, directive in MARKS:
                        if directive.match(found):
                            return mark + "\n" * found.count("\n")
            literal = '""' if found[0] == '"' else "0" if found[0] == "'" else " "
            return literal + "\n" * found.count("\n")

        self.text = NOISE.sub(strip, text)
        more = 1
        while more:
            self.text, more = BRANCHES.subn(join_branches, self.text)
        self.identifiers = set(IDENTIFIER.findall(self.text))

    def declarations(self):
        if self._declarations is None:
            self._declarations = Declarations(self.text)
        return self._declarations

    def line(self, position):
        """Number of the line of a position in `text`."""
        return self.text.count("\n", 0, position) + 1


class Declarations:
    """What a file declares outside of function bodies, and what scope each of its tokens is in.

    Namespaces are tuples of names; what is in an unnamed one counts as in the one around it.
    """

    def __init__(self, text):
        self.tokens, self.positions = [], []
        for match in TOKEN.finditer(text):
            self.tokens.append(match.group())
            self.positions.append(match.start())
        self.unbalanced = None  # where a bracket does not match
        self.declared = set()   # (namespace, name), what is in `forward` left out
        self.forward = set()    # (namespace, name) of classes without a body
        self.defined = set()    # (namespace, name) of functions with a body that others can call
        self.unnamed = {}       # in unnamed namespaces: (namespace, name) -> (first token, text of an alias)
        self.namespaces = set()
        self.aliases = {}       # name of a namespace alias -> list of names
        self.opened = []        # using namespace: (namespace it stands in, list of names)
        self.opened_enums = []  # using enum: name
        self.members = {}       # name of a class -> names in it, its own included
        self.bases = {}         # name of a class -> names of its bases
        self.enumerators = {}   # name of a scoped enum -> names in it
        self._closing = self._match_brackets()
        # (first token, last token, namespace, names of classes), inner ones later
        self._scopes = [(0, len(self.tokens), (), ())]
        self._locals = None
        self._reading = 0  # first token of the declaration that is being read
        self._unnamed = 0  # unnamed namespaces around what is being read
        self._read_scope(0, len(self.tokens), (), ())

    def token(self, i):
        return self.tokens[i] if 0 <= i < len(self.tokens) else ""

    def scope_of(self, i):
        """Namespace and names of the classes that the token i stands in."""
        scope = max((scope for scope in self._scopes if scope[0] <= i <= scope[1]),
                    key=lambda scope: scope[0])
        return scope[2:]

    def qualifiers_of(self, i):
        """Names that :: joins to the token i, and whether the first :: has none before it.
        None if the token is a member of an expression or of a template's instance."""
        names = []
        while self.token(i - 1) == "::":
            before = self.token(i - 2)
            if before in (">", ")"):
                return None
            if not is_name(before):
                return names, True
            names.insert(0, before)
            i -= 2
        return None if self.token(i - 1) in (".", "->") else (names, False)

    def is_local(self, name):
        """Whether something in a function, a parameter or a template's parameter has this name."""
        if self._locals is None:
            self._locals = set()
            for i, token in enumerate(self.tokens):
                if not IDENTIFIER.match(token):
                    continue
                before, behind = self.token(i - 1), self.token(i + 1)
                if before in ("class", "enum", "struct", "typename", "union") or \
                        before == "using" and behind == "=" or \
                        before == "." and self.token(i - 4) in ("class", "typename") or \
                        is_name(before) and behind and behind in "={;,)([:>" or \
                        before in (">", "&", "*") and behind in ("=", "{"):
                    self._locals.add(token)
        return name in self._locals

    # Reading. Each of these takes and returns indices of tokens.

    def _match_brackets(self):
        match, open_ones = {}, []
        opening = {")": "(", "]": "[", "}": "{"}
        for i, token in enumerate(self.tokens):
            if token in "([{":
                open_ones.append(i)
            elif token in opening:
                if not open_ones or self.tokens[open_ones[-1]] != opening[token]:
                    self.unbalanced = self.positions[i]
                    return {}
                match[open_ones.pop()] = i
        if open_ones:
            self.unbalanced = self.positions[open_ones[-1]]
            return {}
        return match

    def _behind(self, i):
        """Behind the token i, or behind the bracket that closes it."""
        return self._closing.get(i, i) + 1

    def _until(self, i, ends):
        """The next token that is one of `ends`, inner brackets skipped."""
        while i < len(self.tokens) and self.tokens[i] not in ends:
            i = self._behind(i)
        return i

    def _behind_angles(self, i):
        """Behind the > that closes the < at i."""
        depth = 0
        while i < len(self.tokens) and self.tokens[i] != ";":
            depth += (self.tokens[i] == "<") - (self.tokens[i] == ">")
            i = self._behind(i)
            if depth == 0:
                break
        return i

    def _names(self, i):
        """The names that :: joins from i on, and what is behind them."""
        names = []
        i += self.token(i) == "::"
        while is_name(self.token(i)):
            names.append(self.tokens[i])
            i += 1
            if self.token(i) != "::":
                break
            i += 1
        return names, i

    def _declare(self, name, namespace, classes, forward=False):
        if not is_name(name):
            return
        if classes:
            self.members.setdefault(classes[-1], set()).add(name)
        else:
            (self.forward if forward else self.declared).add((namespace, name))
            if self._unnamed and not forward:
                start, alias = self._reading, ""
                if self.tokens[start] == "using":
                    alias = " ".join(self.tokens[start:self._until(start, ";")])
                self.unnamed.setdefault((namespace, name), (start, alias))

    def _read_scope(self, i, end, namespace, classes):
        while i < end:
            i = max(i + 1, self._read_declaration(i, end, namespace, classes))

    def _read_declaration(self, i, end, namespace, classes):
        """Behind the declaration at i."""
        start, specialisation = i, False
        self._reading = i
        while True:  # what may stand before
            token, behind = self.token(i), self.token(i + 1)
            if token == "template" and behind == "<":
                specialisation = self.token(i + 2) == ">"  # declares no new name
                i = self._behind_angles(i + 1)
            elif token == "template":
                return self._until(i, ";") + 1
            elif token == "[" and behind == "[":
                i = self._behind(i)
            elif token == "extern" and behind == '"':
                i += 3
                if self.token(i) == "{":
                    self._read_scope(i + 1, self._behind(i) - 1, namespace, classes)
                    return self._behind(i)
            elif token in ("inline", "static", "constexpr", "extern"):
                i += 1
            else:
                break
        if token in (";", "}"):
            return i + 1
        if token in ("public", "private", "protected") and behind == ":":
            return i + 2
        if token == "namespace":
            return self._read_namespace(i, namespace)
        if token == "using":
            return self._read_using(i, namespace, classes)
        if token == "typedef":
            i = self._until(i, ";")
            self._declare(self.token(i - 1), namespace, classes)
            return i + 1
        if token == "concept":
            self._declare(behind, namespace, classes)
        if token in ("concept", "static_assert"):
            return self._until(i, ";") + 1
        if token == "friend":
            return self._behind(self._until(i, ";{"))
        if token == "enum":
            i = self._read_enum(i, namespace, classes)
        elif token in ("class", "struct", "union"):
            i = self._read_class(i, namespace, classes, specialisation)
        if self.token(i) == ";":
            return i + 1
        return self._read_variable_or_function(start, i, end, namespace, classes, specialisation)

    def _read_namespace(self, i, namespace):
        names, i = self._names(i + 1)
        if names and self.token(i) == "=":
            self.aliases[names[0]] = self._names(i + 1)[0]
            return self._until(i, ";") + 1
        i = self._until(i, "{")
        inner = namespace + tuple(names)
        self.namespaces.update(inner[:depth] for depth in range(1, len(inner) + 1))
        self._scopes.append((i, self._behind(i), inner, ()))
        self._unnamed += not names
        self._read_scope(i + 1, self._behind(i) - 1, inner, ())
        self._unnamed -= not names
        return self._behind(i)

    def _read_using(self, i, namespace, classes):
        stop = self._until(i, ";")
        if self.token(i + 1) == "namespace":
            self.opened.append((namespace, self._names(i + 2)[0]))
        elif self.token(i + 1) == "enum":
            self.opened_enums.append(self.token(stop - 1))
        elif self.token(i + 2) in ("=", "["):
            self._declare(self.token(i + 1), namespace, classes)
        else:  # may be repeated
            unnamed, self._unnamed = self._unnamed, 0
            self._declare(self.token(stop - 1), namespace, classes)
            self._unnamed = unnamed
        return stop + 1

    def _read_enum(self, i, namespace, classes):
        """Behind the enum at i; where something is declared with it, before that."""
        scoped = self.token(i + 1) in ("class", "struct")
        names, i = self._names(i + 1 + scoped)
        if self.token(i) not in (":", "{", ";"):
            return i
        for name in names[-1:]:
            self._declare(name, namespace, classes)
        i = self._until(i, "{;")
        if self.token(i) == ";":
            return i
        stop = self._behind(i) - 1
        inner = set()
        i += 1
        while i < stop:
            inner.add(self.tokens[i])
            i = self._until(i, ",") + 1
        if scoped and names:
            self.enumerators.setdefault(names[-1], set()).update(inner)
        else:
            for name in inner:
                self._declare(name, namespace, classes)
        return stop + 1

    def _read_class(self, i, namespace, classes, specialisation):
        """Behind the class at i; where something is declared with it, before that."""
        i += 1
        while self.token(i) in ("[", "alignas"):
            i = self._behind(i + (self.tokens[i] == "alignas"))
        names, i = self._names(i)
        if self.token(i) == "<":
            specialisation = True
            i = self._behind_angles(i)
        i += self.token(i) == "final"
        if self.token(i) == ";":
            for name in names[-1:]:
                self._declare(name, namespace, classes, forward=True)
            return i
        if self.token(i) not in (":", "{"):
            return i
        bases = set()
        while i < len(self.tokens) and self.tokens[i] != "{":
            if self.tokens[i] == "<":
                i = self._behind_angles(i)
                continue
            if is_name(self.tokens[i]) and self.token(i + 1) != "::":
                bases.add(self.tokens[i])
            i += 1
        name = names[-1] if names else ""
        if len(names) == 1 and not specialisation:
            self._declare(name, namespace, classes)
        self.members.setdefault(name, set()).add(name)
        self.bases.setdefault(name, set()).update(bases)
        inner = classes + tuple(names or [name])
        self._scopes.append((i, self._behind(i), namespace, inner))
        self._read_scope(i + 1, self._behind(i) - 1, namespace, inner)
        return self._behind(i)

    def _read_variable_or_function(self, start, i, end, namespace, classes, specialisation):
        """Behind the declaration whose type begins at i."""
        first, name, outer = i, "", None  # outer: the classes of a member defined outside of them
        function = initialisers = False
        while i < end:
            token, before = self.tokens[i], self.token(i - 1)
            if token == "operator":
                function = True
                i = self._until(i + 3 if self.token(i + 1) == "(" else i, "(;")
            elif token == "(":
                if not function and is_name(before):
                    function = True
                    if i - 1 == first and not classes:
                        pass  # a macro, TEST_CASE for one
                    elif self.token(i + 1) in "*&" and is_name(self.token(i + 2)):
                        name = self.token(i + 2)  # a pointer to a function
                    elif self.token(i - 2) == "::":
                        outer = self._classes_before(i - 1, start)
                    else:
                        name = before
                elif before == ">":
                    function = True  # a specialisation
                i = self._behind(i)
            elif token == "[":
                if not name and not function and is_name(before):
                    name = before
                i = self._behind(i)
            elif token == "<":
                i = self._behind_angles(i)
            elif token == "=":
                if not name and not function and self.token(i - 2) != "::":
                    name = before
                i = self._initialiser(i + 1, end)
            elif token == "{":
                i = self._behind(i)
                if not function:
                    name = name or before
                elif not initialisers or before in (")", "}"):  # its body
                    self._scopes.append((start, i - 1, namespace, outer or classes))
                    if name and not (classes or self._unnamed or
                                     "static" in self.tokens[start:start + 3]):
                        self.defined.add((namespace, name))
                    break
            elif token == ":":
                initialisers = function
                if not function:
                    name = name or before
                i += 1
            elif token == "," and not function:
                self._declare(name or before, namespace, classes)
                name = ""
                i += 1
            elif token == ";":
                if not name and not function and self.token(i - 2) != "::":
                    name = before
                i += 1
                break
            elif token == "}":
                break
            else:
                i += 1
        if not specialisation:
            self._declare(name, namespace, classes)
        return i

    def _classes_before(self, i, start):
        """What qualifies the name at i: Class, or Class<Argument>."""
        names, i = [], i - 1
        while self.token(i) == "::" and i > start:
            i -= 1
            depth = 0
            while i > start and (self.tokens[i] == ">" or depth):
                depth += (self.tokens[i] == ">") - (self.tokens[i] == "<")
                i -= 1
            if not is_name(self.tokens[i]):
                break
            names.insert(0, self.tokens[i])
            i -= 1
        return tuple(names)

    def _initialiser(self, i, end):
        """The , or ; behind an initialiser. A , counts if another variable seems to follow it."""
        while i < end and self.tokens[i] != ";":
            if self.tokens[i] == "," and is_name(self.token(i + 1)) and \
                    self.token(i + 2) in ("=", ",", ";", "{", "["):
                break
            i = self._behind(i)
        return i
