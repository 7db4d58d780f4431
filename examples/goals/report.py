"""A skill report, written to where the engine looks for it."""

import json
import os
from datetime import datetime, timezone
from pathlib import Path


def leave(skill, data):
    report = {
        "ok": True,
        "generatedAt": datetime.now(timezone.utc).isoformat(),
        "skillName": skill,
        "data": data,
    }
    Path(os.environ["ENVOI_REPORT"]).write_text(json.dumps(report))
