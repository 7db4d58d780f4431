"""Binds the chapters, in the order in which they were done."""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    chapters = json.loads(sys.argv[1])
    Path("handbook.txt").write_text("\n".join((Path("chapters") / f"{name}.txt").read_text() for name in chapters))
    print(f"bound {len(chapters)} chapters")
