"""Stands in for a compiler: `build.py compile|check|pack TARGET VERSION`. What it did is a line of log/TARGET.txt."""

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

OUT = Path("out")


def log(target, what):
    Path("log").mkdir(exist_ok=True)
    with (Path("log") / f"{target}.txt").open("a") as file:
        file.write(f"{what}\n")


def compile_(target, version):
    OUT.mkdir(exist_ok=True)
    (OUT / f"{target}.bin").write_text(f"{target} {version}\n")


def check(target, version):
    """A program for a system without a license cannot be signed: this is what fails the first time."""
    if not (Path("licenses") / f"{target}.txt").exists():
        sys.exit(f"there is no license for {target}: licenses/{target}.txt")


def pack(target, version):
    archive = OUT / f"program-{version}-{target}.txt"
    archive.write_text((OUT / f"{target}.bin").read_text())
    report = {
        "ok": True,
        "generatedAt": datetime.now(timezone.utc).isoformat(),
        "skillName": "pack",
        "data": {"archive": str(archive)},
    }
    Path(os.environ["ENVOI_REPORT"]).write_text(json.dumps(report))


STEPS = {"compile": compile_, "check": check, "pack": pack}

if __name__ == "__main__":
    step, target, version = sys.argv[1:]
    log(target, step)
    STEPS[step](target, version)
    print(f"{step} {target} {version}")
