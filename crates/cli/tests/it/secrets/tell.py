"""A command that is told, knows the secret and cannot keep it to itself."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forms
plain, encoded = forms.forms(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "key.txt"), newline="").read()[:-1], 2)
print(max(plain, key=lambda form: len(form) if len(form) < 400 else 0))
print(plain[0])
sys.exit(1)
