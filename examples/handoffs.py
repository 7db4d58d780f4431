#!/usr/bin/env python3
"""Holds hand-offs of real runs to CONTRACTS section 2: the schema, the allowed members, and the shapes.

Arguments: files or folders; in a folder, every `handoff/*.json` below it. Ends with 1 and a line a fault, or says how many it read.
"""

import json
import pathlib
import re
import sys

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parent.parent / "spec/schemas/handoff.schema.json").read_text(encoding="utf-8"))

# The sister system's schema allows no other member.
ALWAYS = ("step_id", "flow_key", "run_id", "routing_signal", "summary", "artifacts", "status", "error", "duration_ms")
SOMETIMES = {
    "timestamp": str,
    "file_changes": dict,
    "prompt_hash": str,
    "verification_passed": bool,
    "verification_details": dict,
    "routing_audit": dict,
    "assumptions_made": list,
    "decisions_made": list,
}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}


def is_of(value, name):
    """Whether a value is of a JSON type; Python takes a truth value for a number."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def faults(value, schema, at):
    """What is wrong by the keywords that our schemas use. Others make the check fail rather than pass unseen."""
    for keyword, of in schema.items():
        if keyword in ("description", "default", "title", "$schema", "$id", "$defs", "examples", "then", "else"):
            continue
        if keyword == "$ref":
            yield from faults(value, SCHEMA["$defs"][of.removeprefix("#/$defs/")], at)
        elif keyword == "type":
            if not any(is_of(value, name) for name in ([of] if isinstance(of, str) else of)):
                yield f"{at}: {json.dumps(value)[:60]} is not of type {of}"
        elif keyword in ("anyOf", "oneOf"):
            if all(any(True for _ in faults(value, one, at)) for one in of):
                yield f"{at}: {json.dumps(value)[:60]} is none of the shapes"
        elif keyword == "allOf":
            for one in of:
                yield from faults(value, one, at)
        elif keyword == "not":
            if not any(True for _ in faults(value, of, at)):
                yield f"{at}: {json.dumps(value)[:60]} is what it must not be"
        elif keyword == "if":
            branch = "else" if any(True for _ in faults(value, of, at)) else "then"
            yield from faults(value, schema.get(branch, {}), at)
        elif keyword == "enum":
            if value not in of:
                yield f"{at}: {json.dumps(value)[:60]} is none of {of}"
        elif keyword == "const":
            if value != of:
                yield f"{at}: {json.dumps(value)[:60]} is not {of}"
        elif keyword == "required":
            yield from (f"{at}: no member {name}" for name in of if isinstance(value, dict) and name not in value)
        elif keyword == "properties":
            for name, shape in of.items():
                if isinstance(value, dict) and name in value:
                    yield from faults(value[name], shape, f"{at}/{name}")
        elif keyword == "additionalProperties":
            known = schema.get("properties", {})
            for name in value if isinstance(value, dict) else ():
                if name not in known:
                    yield from [f"{at}: unknown member {name}"] if of is False else faults(value[name], of, f"{at}/{name}") if of is not True else ()
        elif keyword == "propertyNames":
            for name in value if isinstance(value, dict) else ():
                yield from faults(name, of, f"{at}/{name}")
        elif keyword == "items":
            for place, element in enumerate(value if isinstance(value, list) else ()):
                yield from faults(element, of, f"{at}/{place}")
        elif keyword == "pattern":
            if isinstance(value, str) and not re.search(of, value):
                yield f"{at}: {value[:60]!r} does not match {of}"
        elif keyword in ("minLength", "maxLength"):
            if isinstance(value, str) and (len(value) < of if keyword == "minLength" else len(value) > of):
                yield f"{at}: {len(value)} characters, {keyword} is {of}"
        elif keyword in ("minimum", "maximum"):
            if is_of(value, "number") and (value < of if keyword == "minimum" else value > of):
                yield f"{at}: {value}, {keyword} is {of}"
        else:
            yield f"{at}: this check does not know the keyword {keyword}"


def beyond_the_schema(handoff):
    """What the schema leaves open, because hand-offs of others are read too."""
    for name in ALWAYS:
        if name not in handoff:
            yield f"/: no member {name}"
    for name, value in handoff.items():
        if name in SOMETIMES:
            if not isinstance(value, SOMETIMES[name]) or value in ("", [], {}):
                yield f"/{name}: {json.dumps(value)[:60]} has not the shape of the contract, or is empty"
        elif name not in ALWAYS:
            yield f"/{name}: no such member is allowed at the top"
    for name in ("assumptions_made", "decisions_made"):
        yield from (f"/{name}: {each!r} is no record" for each in handoff.get(name, ()) if not isinstance(each, dict))
    yield from changed_files(handoff)


def changed_files(handoff):
    """Files that changed are listed, or a manifest has them."""
    changes = handoff.get("file_changes")
    if changes is None:
        return
    if "manifest" in changes:
        if list(changes) != ["manifest", "total", "bytes"] or not re.fullmatch(r"sha256:[0-9a-f]{64}", changes["manifest"]):
            yield f"/file_changes: {json.dumps(changes)[:120]} refers to no manifest"
        if list(handoff["artifacts"]) != ["manifest"]:
            yield "/artifacts: a manifest has the changes, and not the files"
        return
    if list(changes) != ["files", "total"] or changes["total"] != len(changes["files"]):
        yield f"/file_changes: {json.dumps(changes)[:120]} is not `files` and their `total`"
        return
    for file in changes["files"]:
        members = ["path", "change"] if file.get("change") == "deleted" else ["path", "digest", "size", "change"]
        if list(file) != members or file["change"] not in ("created", "modified", "deleted"):
            yield f"/file_changes/files: {json.dumps(file)[:120]}"


def main(arguments):
    places = [pathlib.Path(argument) for argument in arguments]
    files = [file for place in places for file in (sorted(place.rglob("handoff/*.json")) if place.is_dir() else [place])]
    wrong = 0
    for file in files:
        handoff = json.loads(file.read_text(encoding="utf-8"))
        for fault in [*faults(handoff, SCHEMA, ""), *beyond_the_schema(handoff)]:
            print(f"{file}: {fault}", file=sys.stderr)
            wrong += 1
    if not files:
        print("there are no hand-offs", file=sys.stderr)
    if wrong == 0 and files:
        print(f"{len(files)} hand-offs have the shapes of the contract")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
