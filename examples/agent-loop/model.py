"""What the stand-in for the model says in the checks: a first repair that is not enough, and a second one that is."""

BODY = '"""Slugs: the part of an address that is made of a title."""\n\n%s\ndef slug(title):\n    """The title in lower case, its words joined by single hyphens."""\n    return %s\n'
FIRST = BODY % ("", 'title.lower().replace(" ", "-")')
SECOND = BODY % ("import re\n\n", '"-".join(re.findall("[a-z0-9]+", title.lower()))')


def turn(prompt, results):
    """One turn: a command, or the last words. `results` are those of the commands since the prompt."""
    if results:
        return {"say": "I have changed `slugs/__init__.py`."}
    text = SECOND if "test_signs_and_spaces" in prompt else FIRST
    return {"run": f"cat > slugs/__init__.py <<'END'\n{text}END"}
