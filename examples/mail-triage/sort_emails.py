"""`sort_emails.py MAILBOX REPORT`: writes one mailbox a category, with the mails as they were."""

import contextlib
import mailbox
import sys
from pathlib import Path

import envoi

FOLDER = Path("sorted")


def main(path, report):
    with envoi.step("sort") as step:
        items = envoi.read_skill_report(report).data["items"]
        with contextlib.closing(mailbox.mbox(path, create=False)) as box:
            messages = list(box)
        if len(messages) != len(items):
            raise ValueError(f"{path} has {len(messages)} mails, and {len(items)} were looked at: it has changed")
        FOLDER.mkdir(exist_ok=True)
        for name in sorted({item["category"] for item in items}):
            chosen = [message for message, item in zip(messages, items) if item["category"] == name]
            (FOLDER / f"{name}.mbox").write_bytes(b"".join(map(as_it_was, chosen)))
        step.text(f"Sorted {len(items)} mails.")


def as_it_was(message):
    """A mail with the line before it, as an mbox has it."""
    return f"From {message.get_from()}\n".encode() + message.as_bytes() + b"\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
