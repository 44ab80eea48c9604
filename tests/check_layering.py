#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of the house that a compiler does not know: which folder may include which, which system headers may be
used where, what the library must not call, and that it keeps no state of its own.

    check_layering.py SOURCE_ROOT [STATIC_LIBRARY]      (no library: state is not looked at)
"""
import os
import re
import subprocess
import sys

# What a folder may include by name of folder, besides itself and <pfld/...>: one way only.
MAY_INCLUDE = {
    "lib/base": [],
    "lib/io": ["base"],
    "lib/data": ["base"],
    "lib/device": ["base", "io"],
    "lib/net": ["base", "device", "io"],
    "lib/models": ["base", "device", "net", "io"],
    "lib/compile": ["base", "device", "net"],
    "lib/train": ["base", "device", "net", "compile", "io"],
    "backends": ["base", "device", "cpu", "opencl"],  # backends.c, the only file that names them
    "backends/cpu": ["base", "device"],
    "backends/opencl": ["base", "device"],
}
STANDARD = set("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp stdalign stdarg stdatomic "
               "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time uchar wchar wctype".split())
# Other headers, and the files that may use them; lib/base, the one folder that a port touches, may use any.
OTHER = [
    (r"lib/io/\w+\.[ch]", r"jansson\.h"),
    (r"lib/io/hdf5_\w+\.[ch]", r"(hdf5|H5FDdevelop)\.h"),
    (r"lib/data/image_png\.c", r"png\.h"),
    (r"lib/data/image_jpeg\.c", r"j(peglib|error)\.h"),
    (r"lib/data/dataset_dlib\.c", r"expat\.h"),
    (r"backends/cpu/avx\w+/\w+\.[ch]", r"immintrin\.h"),
    (r"backends/opencl/cl\.h", r"CL/cl\.h"),
    (r"backends/cpu/neon/\w+\.[ch]", r"arm_neon\.h"),
]
# What may be state: the lock around libraries that have state of the whole process themselves.
STATE = {"foreign_lock"}
# Calls that a guest does not make, and the files that are excepted.
CALLS = [
    ("ends or prints for its host", None,
     "abort exit _exit _Exit quick_exit atexit printf vprintf fprintf vfprintf dprintf puts fputs putc fputc putchar perror "
     "system signal raise"),
    ("uses state of the whole process", None,
     "setlocale srand rand random strtok strerror asctime ctime gmtime localtime"),
    ("follows the host's locale; base.h has numbers that do not", "lib/base/number.c",
     "strtod strtof strtold atof localeconv"),
    ("reads the environment", "lib/device/mask.c", "getenv secure_getenv setenv putenv unsetenv"),
]
FORMAT = re.compile(r"%[-+ #0-9.*]*[lL]?[aAeEfFgG](?![A-Za-z])")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.M)
complaints = []


def complain(path, text, offset, what):
    complaints.append("%s:%d: %s" % (path, text.count("\n", 0, offset) + 1, what))


def sources(folder):
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(where, name)


def layer_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def check_quoted(path, name):
    if name == "pfld_config.h":
        return None
    if ".." in name:
        return "no way up; name the folder below lib/ or backends/"
    if os.path.exists(os.path.join(os.path.dirname(path), name)):
        return None
    if not os.path.exists("lib/" + name) and not os.path.exists("backends/" + name):
        return "not beside the file, nor below lib/ or backends/"
    layer = layer_of(path)
    if layer not in MAY_INCLUDE:
        return "%s is a folder that this script does not know" % layer
    target = name.split("/")[0]
    if target != layer.split("/")[-1] and target not in MAY_INCLUDE[layer]:
        return "%s must not include %s" % (layer, target)
    return None


def check_system(path, name):
    if name.startswith("pfld/") or name[:-2] in STANDARD or path.startswith("lib/base/"):
        return None
    if any(re.fullmatch(file, path) and re.fullmatch(header, name) for file, header in OTHER):
        return None
    return "the operating system is asked in lib/base, other libraries in the one file that wraps them"


def check_includes(path, text):
    for found in INCLUDE.finditer(text):
        mark, name = found.groups()
        wrong = check_quoted(path, name) if mark == '"' else check_system(path, name)
        if wrong:
            complain(path, text, found.start(), "%s: %s" % (name, wrong))


def check_public(path, text):
    for found in INCLUDE.finditer(text):
        mark, name = found.groups()
        if mark == '"' or not (name.startswith("pfld/") or name[:-2] in STANDARD):
            complain(path, text, found.start(), "%s: public headers include each other and the standard's" % name)


def check_example(path, text):
    for found in INCLUDE.finditer(text):
        mark, name = found.groups()
        if mark == '"' and ("/" in name or not os.path.exists(os.path.join(os.path.dirname(path), name))):
            complain(path, text, found.start(), "%s: examples see <pfld/...> and what lies beside them" % name)


def blank(text):
    """Spaces of the same length and lines."""
    return re.sub(r"[^\n]", " ", text)


def check_calls(path, text):
    # Comments and strings out, for what is code; comments out, for formats.
    code = TOKEN.sub(lambda token: blank(token.group()), text)
    for what, excepted, names in CALLS:
        if path == excepted:
            continue
        for found in re.finditer(r"(?<![\w.>])(%s)\s*\(" % "|".join(names.split()), code):
            complain(path, text, found.start(), "%s() %s" % (found.group(1), what))
    for found in re.finditer(r"\b(stdout|stderr|environ)\b", code):
        complain(path, text, found.start(), "%s belongs to the host" % found.group())
    if path != "lib/base/number.c":
        for token in TOKEN.finditer(text):
            if token.group()[0] == '"' and FORMAT.search(token.group()):
                complain(path, text, token.start(), "%s follows the host's locale" % token.group())


def check_backend_names(path, text):
    if path.startswith("lib/"):
        for found in re.finditer(r"\bpfld_(cpu|opencl)_backend\b", text):
            complain(path, text, found.start(), "lib names a backend")


def check_state(library):
    """Objects in sections that can be written; .data.rel.ro is constant once loaded (tables of pointers)."""
    listing = subprocess.run(["objdump", "-t", library], stdout=subprocess.PIPE, check=True).stdout.decode()
    object_file, num = "", 0
    for line in listing.splitlines():
        if "file format" in line:
            object_file = line.split(":")[0]
        found = re.match(r"[0-9a-f]+ .{6}O (\S+)\s+[0-9a-f]+ +(?:\.hidden )?(\S+)", line)
        if not found:
            continue
        num += 1
        section, name = found.groups()
        if name in STATE:
            continue
        if re.match(r"\.(l?data|s?data|[sl]?bss|t?data|tbss)\b|\*COM\*", section) and not section.startswith(".data.rel.ro"):
            complaints.append("%s: %s in %s: the library keeps no state" % (object_file, name, section))
    if num == 0:
        complaints.append("%s: no object found in it: this check does not work" % library)


def main():
    os.chdir(sys.argv[1])
    num = 0
    for folder, checks in [("lib", [check_includes, check_calls, check_backend_names]),
                           ("backends", [check_includes, check_calls]), ("include", [check_public]),
                           ("examples", [check_example])]:
        for path in sources(folder):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for check in checks:
                check(path, text)
            if not text.startswith("// SPDX-License-Identifier: MIT"):
                complaints.append("%s:1: no SPDX line" % path)
            num += 1
    if len(sys.argv) > 2:
        check_state(sys.argv[2])
    for line in complaints:
        print(line)
    print("%d files, %d complaints" % (num, len(complaints)))
    return 1 if complaints or num == 0 else 0


sys.exit(main())
