"""What the stand-in for both models says in the checks: a function that forgets a case, a reviewer who sees that, and a better one."""
import json

HEAD = "def median(numbers):\n    ordered = sorted(numbers)\n"
MIDDLE = "    middle = len(ordered) // 2\n"
FIRST = HEAD + MIDDLE + "    return ordered[middle]\n"
SECOND = (HEAD + '    if not ordered:\n        raise ValueError("no numbers")\n' + MIDDLE
          + "    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2\n")


def turn(prompt, results):
    """One turn: a command, or the last words. `results` are those of the commands since the prompt."""
    if "Review `median.py`" in prompt:
        if not results:
            return {"run": "cat median.py"}
        good = "len(ordered) % 2" in results[-1]
        why = "both cases are right" if good else "of an even number of values it takes the upper one of the middle two"
        return {"say": json.dumps({"status": "VERIFIED" if good else "UNVERIFIED", "why": why})}
    if results:
        return {"say": "`median.py` is written."}
    text = SECOND if "upper one of the middle two" in prompt else FIRST
    return {"run": f"cat > median.py <<'END'\n{text}END"}
