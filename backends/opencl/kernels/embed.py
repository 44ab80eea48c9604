#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels as text in a C file, so that the library needs no file beside it: one constant a .cl file, with a #line in
front, so that what a compiler says of it names the file.

    embed.py OUTPUT FILE.cl...
"""
import os
import sys


def literal(line):
    return '\t"%s\\n"\n' % line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")


def entry(path):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    text = "".join(literal(line) for line in ['#line 1 "%s"' % name] + lines)
    return '{"%s",\n%s}' % (name, text)


def main():
    common, families = {}, []
    for path in sys.argv[2:]:
        stem = os.path.basename(path)[:-3]
        if stem in ("common", "formulas"):
            common[stem] = entry(path)
        else:
            families.append("[PFLD_CL_%s] = %s" % (stem.upper(), entry(path)))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("// SPDX-License-Identifier: MIT\n// Made by embed.py.\n#include \"opencl/cl.h\"\n\n")
        for stem in sorted(common):
            file.write("const struct pfld_cl_source pfld_cl_%s = %s;\n" % (stem, common[stem]))
        file.write("const struct pfld_cl_source pfld_cl_sources[PFLD_CL_NUM_FAMILIES] = {\n%s,\n};\n" % ",\n".join(families))


main()
