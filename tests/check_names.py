#!/usr/bin/env python3
"""check_names.py ROOT: reports names in unnamed namespaces that stand in two sources of a folder.

The sources of a folder are compiled together, so such names clash. An alias may stand again with the same meaning.
Exit code 1 and one line per offender (file:line: name, other file); 77 without Universal Ctags, which finds the names."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def offences(root):
    command = ["ctags-universal", "-R", "-f", "-", "--languages=C++", "--kinds-C++=cdefgstuvn", "--output-format=json",
               "--fields=+n", "--exclude=build", "-DTEST_CASE(name)=void TestCase()", "-DTEST_CASE_TEMPLATE(name,type,...)=void TestCase()", "."]
    first = {}  # (folder, namespace, name) -> tag
    for line in sorted(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()):
        tag = json.loads(line)
        path = pathlib.PurePosixPath(tag["path"])
        if path.suffix != ".cc" or not re.search(r"__anon\w+$", tag.get("scope", "")) or tag["name"] == "TestCase":
            continue
        other = first.setdefault((path.parent, re.sub("__anon.*", "", tag["scope"]), tag["name"]), tag)
        if other["path"] != tag["path"] and (tag["kind"] != "typedef" or tag["pattern"] != other["pattern"]):
            yield f"{path}:{tag['line']}: {tag['name']}: {other['path']} has this name, too; rename one"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a/one.cc", "a/two.cc", "b/three.cc"):
            pathlib.Path(folder, name).parent.mkdir(exist_ok=True)
            pathlib.Path(folder, name).write_text("namespace {\nusing Ids = int;\nint Sum(int a) { return a; }\n}\n")
        found = list(offences(folder))
    assert found == ["a/two.cc:3: Sum: a/one.cc has this name, too; rename one"], found


def main(root):
    if not shutil.which("ctags-universal"):
        print("skipped: Universal Ctags is missing (Debian: universal-ctags)")
        return 77
    self_test()
    found = list(offences(root))
    print("\n".join(found or ["names in unnamed namespaces are unique in each folder"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
