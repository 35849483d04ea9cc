"""What a build of the image is given: all it needs, and nothing that must not get into a layer."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from docker.utils import exclude_paths


def tracked(root):
    out = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    return {p for p in out.split("\0") if p and (root / p).is_file()}


def needed(path):
    """Without these `cargo build` fails."""
    p = pathlib.PurePath(path)
    if p.parts[:2] == ("fuzz", "libfuzzer"):
        return False
    source = p.parts[0] == "crates" and ("src" in p.parts or p.name == "build.rs")
    return source or p.parts[0] == "profiles" or p.name in ("Cargo.toml", "Cargo.lock")


def main(root, ignore):
    lines = pathlib.Path(ignore).read_text().splitlines()
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    given = {p for p in exclude_paths(str(root), patterns) if (root / p).is_file()}
    known = tracked(root)
    faults = [f"{p} is needed and left out" for p in sorted(known) if needed(p) and p not in given]
    never = {".git", ".ci", "target", "deploy"}
    faults += [f"{p} must not be given" for p in sorted(given) if never & set(pathlib.PurePath(p).parts)]
    size = sum((root / p).stat().st_size for p in given)
    if size > 32 << 20:
        faults.append(f"{size >> 20} MiB: something large is in it")
    if not faults and shutil.which("cargo"):
        with tempfile.TemporaryDirectory() as copy:
            for p in given:
                to = pathlib.Path(copy, p)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / p, to)
            run = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
            ran = subprocess.run(run, cwd=copy, capture_output=True, text=True)
            if ran.returncode:
                faults.append(f"cargo does not understand it: {ran.stderr.strip()}")
    for fault in faults[:10]:
        print(fault)
    print(f"{len(given)} files, {size >> 10} KiB")
    return bool(faults)


sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
