"""Looks for secrets in all of a store: names, bytes, and the rows of its database. Prints where they stand."""
import os, sqlite3, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forms
store = sys.argv[1]
traces = [trace for number, name in enumerate(sys.argv[2:]) for trace in forms.traces(os.environ[name], number + 1)]
assert len(traces) > 20

def look(where, content):
    content = content.encode() if isinstance(content, str) else content
    for trace in traces:
        if trace in content:
            at = content.index(trace)
            print("%s: %r in %r" % (where, trace[:60], content[max(at - 60, 0):at + 80]))
            return

looked = 0
for folder, folders, files in os.walk(store):
    for name in folders + files:
        look(folder, os.fsencode(name))
    for name in files:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            look(path, open(path, "rb").read())
            looked += 1
database = sqlite3.connect(os.path.join(store, "envoi.db"))
for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    for row in database.execute('SELECT * FROM "%s"' % table):
        for value in row:
            if isinstance(value, (str, bytes)):
                look(table, value)
                looked += 1
print("looked at", looked) if looked > 20 else sys.exit("nothing to look at")
