"""Extension of griffe, which reads the Python package for the site: in a docstring each line that describes arguments ("a, b: ...")
becomes an item of a list, so that they do not run together. scripts/docs uses it; it is not a program."""

import re

import griffe

ARGUMENTS = re.compile(r"^(?=\w+(?:, \w+)*: )", re.M)


class Arguments(griffe.Extension):
    def on_instance(self, *, obj, **_):
        if obj.docstring and "\n" in obj.docstring.value:
            first, _, rest = obj.docstring.value.partition("\n")
            rest = re.sub(r"(?<![`\w])(__\w+__)", r"`\1`", rest)
            items = ARGUMENTS.sub("- ", rest)
            obj.docstring.value = first + "\n" + re.sub(r"(?<!\n)\n- ", "\n\n- ", items, count=1) if items != rest else f"{first}\n{rest}"
