"""Lists the archives that are published."""

import sys
from pathlib import Path


def listed(archives):
    missing = [archive for archive in archives if not Path(archive).is_file()]
    if missing:
        sys.exit(f"not there: {', '.join(missing)}")
    return "".join(f"{archive}\n" for archive in archives)


if __name__ == "__main__":
    Path("published.txt").write_text(listed(sys.argv[1:]))
    print(f"published {len(sys.argv[1:])} archives")
