"""The skill `mail-triage MAILBOX OWN_DOMAIN`: gives each mail of an mbox one category, and says why.

The report's data is what seed 3 shows: `totals` by category, and `items`. A mailbox that is missing or empty is a failure.
"""

import contextlib
import email.header
import email.utils
import mailbox
import re
import sys
from pathlib import Path

import envoi

SPAM = ("you have won", "act now", "wire transfer", "crypto", "no risk", "click below")
BILLING = ("invoice", "receipt", "payment due", "amount due", "subscription")
BILLING_SENDERS = ("billing", "invoices", "accounts", "payments")


def main(path, own_domain):
    with envoi.step("mail-triage") as step:
        if not Path(path).is_file():
            step.fail(f"there is no mailbox {path}", code="NO_MAILBOX")
            return
        with contextlib.closing(mailbox.mbox(path, create=False)) as box:
            items = [triaged(message, own_domain) for message in box]
        totals = {name: sum(item["category"] == name for item in items) for name in ("billing", "work", "personal", "spam")}
        step.data = {"totals": totals, "items": items}
        step.metrics["emailCount"] = len(items)
        if not items:
            step.fail(f"there is no mail in {path}", code="EMPTY_MAILBOX")
        step.text(f"{len(items)} mails: " + ", ".join(f"{count} {name}" for name, count in totals.items()) + ".")


def triaged(message, own_domain):
    """What is said of one mail."""
    sender = email.utils.parseaddr(decoded(message["From"]))[1].lower()
    subject, body = decoded(message["Subject"]), text_of(message)
    category, why = categorized(message, sender, f"{subject}\n{body}".lower(), own_domain)
    return {"id": (message["Message-ID"] or "").strip(), "from": sender, "subject": subject, "category": category, "why": why}


def categorized(message, sender, words, own_domain):
    """The category and why: the first rule that fits. Spam comes first, because it pretends to be anything else."""
    if (message["X-Spam-Flag"] or "").strip().upper() == "YES":
        return "spam", "the mail server says so"
    signs = [sign for sign in SPAM if sign in words]
    if len(signs) >= 2:
        return "spam", "it says: " + ", ".join(signs)
    name, _, domain = sender.partition("@")
    found = next((word for word in BILLING if word in words), None)
    if found or name in BILLING_SENDERS:
        return "billing", f"it says: {found}" if found else f"it comes from {name}@"
    if domain == own_domain.lower():
        return "work", f"it comes from {domain}"
    return "personal", "nothing else fits"


def decoded(value):
    """A header in plain text."""
    return str(email.header.make_header(email.header.decode_header(value or "")))


def text_of(message):
    """The plain text of a mail; without one, its HTML without the tags."""
    parts = {part.get_content_type(): part for part in reversed(list(message.walk())) if not part.is_multipart()}
    for kind in ("text/plain", "text/html"):
        if kind in parts:
            content = parts[kind].get_payload(decode=True) or b""
            text = content.decode(parts[kind].get_content_charset() or "utf-8", errors="replace")
            return re.sub(r"<[^>]*>", " ", text) if kind == "text/html" else text
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
