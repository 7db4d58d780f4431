"""Writes a secret in every spelling into every way out; what it is to do is its argument."""
import json, os, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forms

def reported(**members):
    base = {"ok": True, "generatedAt": "2026-01-01T00:00:00Z", "skillName": "leak"}
    with open(os.environ["ENVOI_REPORT"], "w") as report:
        report.write(json.dumps(dict(base, **members), ensure_ascii=False).replace("/", "\\/"))

what = sys.argv[1]
token, key = os.environ["TOKEN"], os.environ["KEY"]
plain, encoded = (sum(pair, []) for pair in zip(forms.forms(token, 1), forms.forms(key, 2)))
seldom = forms.seldom_in_base64(token) + forms.seldom_in_base64(key)
everything = "\n".join("[%s]" % form for form in plain + encoded + seldom)
for stream in (sys.stderr,) if what == "spoken" else (sys.stdout, sys.stderr):
    stream.write(everything)
    stream.flush()
if what == "out":
    open(os.environ["ENVOI_OUTPUT"], "w").write(everything)
    data = {"first": token, "all": [token, key] + plain[1::9], "document": everything, token: {key: json.dumps([token, key])}}
    reported(data=data, metrics={"llm_calls": 1, "note": token}, warnings=[key], **{token: key})
    os.makedirs("out", exist_ok=True)
    for name in plain + encoded + ["fine"]:
        name = name.replace("\n", "")
        if "/" not in name and 0 < len(name.encode()) < 200:
            open("out/" + name + ".txt", "w").write("clean")
elif what == "fail":
    reported(ok=False, error={"code": "LEAKED " + token, "message": everything})
elif what == "critic":
    print("\nStatus: " + ("VERIFIED" if os.path.exists("criticized") else "UNVERIFIED"))
    open("criticized", "w").close()
elif what == "say":
    print(json.dumps({"summary": token, "status": "VERIFIED", "next": key}))
elif what in ("given", "spoken"):
    data = {"first": token, "all": [token, key] + plain[::3] + encoded[::30], token: {key: json.dumps([token, key])}}
    document = json.dumps(data, ensure_ascii=what == "spoken").replace("/", "\\/")
    print(document) if what == "spoken" else open(os.environ["ENVOI_DATA"], "w").write(document)
elif what == "print":
    print(sys.argv[2:])
elif what == "hang":
    open(os.environ["ENVOI_OUTPUT"], "w").write(everything)
    reported(data={"first": token})
    os.makedirs("out", exist_ok=True)
    short = [form for form in plain if "/" not in form and "\n" not in form and len(form.encode()) < 200]
    [open("out/" + name, "w").write("clean") for name in short]
    open("hung", "w").write("x")
    while not os.path.exists("go"):
        time.sleep(0.01)
elif what == "crash":
    sys.exit(7)
