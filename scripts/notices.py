#!/usr/bin/env python3
"""Prints whose work is in the binary, with the texts of their licences: scripts/notices.py [cargo's options] > THIRD-PARTY.txt

Rust packages are those that cargo resolves for this machine; the page's packages are looked for in web/node_modules.
Every text is printed once, after the names of those that it belongs to."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE = re.compile(r"^(licen[sc]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
# What the page's built files contain.
PAGE = ["svelte", "openapi-fetch", "@fontsource-variable/inter", "@fontsource-variable/newsreader"]


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def rust_packages(options):
    host = re.search(r"^host: (.*)$", subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout, re.M)
    metadata = json.loads(
        cargo("metadata", "--format-version=1", "--locked", "--filter-platform", host.group(1), *options,
              "--manifest-path", "crates/polylogue/Cargo.toml")
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        found.add(at)
        # What only builds or tests need is not in the binary.
        waiting += [dep["pkg"] for dep in nodes[at]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    for package in (packages[at] for at in found):
        if package["source"]:
            folder = pathlib.Path(package["manifest_path"]).parent
            yield package["name"], package["version"], package["license"] or "see its text", folder


def page_packages():
    for name in PAGE:
        folder = ROOT / "web/node_modules" / name
        if not (folder / "package.json").exists():
            sys.exit(f"web/node_modules has no {name}: run npm install in web, so that its licence can be included")
        package = json.loads((folder / "package.json").read_text())
        yield name, package["version"], package["license"], folder


def texts_of(folder):
    # llama.cpp lies inside the package that builds it.
    for place in (folder, folder / "llama.cpp", folder / "sqlite3"):
        if place.is_dir():
            for path in sorted(place.iterdir()):
                if path.is_file() and LICENCE.match(path.name) and path.suffix not in (".rs", ".toml", ".json"):
                    yield path.read_text(errors="replace").replace("\r\n", "\n").strip()


def main():
    packages = sorted(set(rust_packages(sys.argv[1:]))) + list(page_packages())
    print("Polylogue contains the work of others, under the licences that follow.\n")
    owners = {}
    for name, version, licence, folder in packages:
        print(f"{name} {version}: {licence}")
        for text in texts_of(folder):
            owners.setdefault(text, []).append(f"{name} {version}")
    for text, names in owners.items():
        print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(names))}\n{'-' * 80}\n{text}")


main()
