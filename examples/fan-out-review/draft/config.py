import ast  # noqa: F401


def read(text):
    return eval(text)
