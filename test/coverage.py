"""Sums up what gcov counted: test/coverage.py ROOT FILES.

Reads the counts beside the object files under ROOT/build. Prints lines and branches of each part of the
sources, and writes those of each file, with the lines that were not reached, to FILES. A line that is
compiled into several programs was reached if one of them did; branches that only exceptions take do not count.
"""
import collections
import json
import os
import subprocess
import sys

PARTS = ("src/core", "src/ops", "client/include", "client/src", "client/runtime", "client/tool")


def counts_of(root, objects):
    """Per file: line -> count, and (line, number of the branch, of so many) -> count."""
    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    branches = collections.defaultdict(lambda: collections.defaultdict(int))
    for gcda in objects:
        folder = os.path.dirname(gcda)
        # An object file that is newer than its counts, or that another compiler made, has none.
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", gcda],
                              cwd=folder, capture_output=True, text=True, check=True)
        for text in done.stdout.splitlines():
            report = json.loads(text)
            for file in report["files"]:
                path = os.path.normpath(os.path.join(report["current_working_directory"], file["file"]))
                path = os.path.relpath(path, root)
                if not path.startswith(PARTS):
                    continue
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[path][number] += line["count"]
                    taken = [branch for branch in line["branches"] if not branch["throw"]]
                    for i, branch in enumerate(taken):
                        branches[path][number, i, len(taken)] += branch["count"]
    return lines, branches


def ratio(counts):
    reached = sum(1 for count in counts if count > 0)
    return reached, len(counts)


def shown(pair):
    reached, of = pair
    return f"{reached:6d} of {of:6d} {100 * reached / of if of else 0:5.1f} %"


def ranges(numbers):
    """1 2 3 7 as 1-3 7."""
    found = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def main(root, files):
    root = os.path.realpath(root)
    objects = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(root, "build"))
               for name in names if name.endswith(".gcda") and "/build/counts" not in folder]
    if not objects:
        sys.exit("coverage.py: no counts")
    lines, branches = counts_of(root, objects)
    print(f"{'':16} {'lines':>24} {'branches':>24}")
    for part in PARTS:
        of_part = [path for path in lines if path.startswith(part + "/")]
        print(f"{part:16} {shown(ratio([c for p in of_part for c in lines[p].values()])):>24}"
              f" {shown(ratio([c for p in of_part for c in branches[p].values()])):>24}")
    with open(files, "w", encoding="utf-8") as out:
        for path in sorted(lines):
            missed = [number for number, count in lines[path].items() if count == 0]
            out.write(f"{path}: lines {shown(ratio(lines[path].values()))}, branches {shown(ratio(branches[path].values()))}\n")
            if missed:
                out.write(f"    not reached: {ranges(missed)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
