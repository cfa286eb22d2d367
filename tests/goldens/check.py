#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the JITs' encodings with llvm-mc: check.py BUILD

BUILD/tests/goldens/goldens_ARCH prints lines of bytes, a tab, and assembly. The text is
assembled, and must give the same bytes; an equally long encoding that llvm-mc disassembles to
the same text is fine too (x86-64 has several for some). Jumps with '@' are only disassembled.
Exit: 0, 1 (differences), 77 (no llvm-mc: nothing was checked).
"""
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

RISCV = ['-triple=riscv64', '-mattr=+m,+a,+zba,+zbb,+zbs']


class Arch(NamedTuple):
    """What a run of BUILD/tests/goldens/goldens_ARCH is to llvm-mc."""
    generator: str               # and its arguments
    target: list
    assemble: list = []          # arguments, and text that comes first
    header: str = ''
    disassemble: list = []


ARCHES = {
    'x86_64': Arch('goldens_x86_64', ['-triple=x86_64', '-mattr=+bmi2'],
                   ['-x86-asm-syntax=intel'], '.intel_syntax noprefix\n',
                   ['-output-asm-variant=1']),
    'arm64': Arch('goldens_arm64', ['-triple=aarch64', '-mattr=+lse,+bti']),
    'riscv64': Arch('goldens_riscv64', RISCV),
    'riscv64c': Arch('goldens_riscv64 compressed', [RISCV[0], RISCV[1] + ',+c']),
}
SHOWN = 20  # differences printed


def find_llvm_mc():
    for name in ['llvm-mc-14', 'llvm-mc'] + ['llvm-mc-%d' % v for v in range(20, 12, -1)]:
        path = shutil.which(name)
        if path:
            return path
    print('goldens: skipped, there is no llvm-mc (package llvm-14)')
    sys.exit(77)


def llvm_mc(arch, args, text):
    done = subprocess.run([find_llvm_mc(), *arch.target, *args], input=text, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode or 'warning' in done.stderr:
        print('goldens: %s failed:' % ' '.join(done.args), done.stderr[:2000], sep='\n')
        sys.exit(1)
    return done.stdout


def assemble(arch, texts):
    """The bytes of each line: '48 01 c8 '."""
    shown = llvm_mc(arch, [*arch.assemble, '-show-encoding'],
                    arch.header + ''.join(t + '\n' for t in texts))
    found = re.findall(r'encoding: \[(.*)\]', shown)
    # lock is a statement of its own to llvm-mc
    return [''.join('%02x ' % int(b, 16) for b in line.split(',')) for line in join_lock(found)]


def join_lock(encodings):
    out, prefix = [], ''
    for line in encodings:
        if line == '0xf0':
            prefix = line + ','
        else:
            out.append(prefix + line)
            prefix = ''
    return out


def disassemble(arch, lines):
    """The text of each line of bytes."""
    shown = llvm_mc(arch, ['-disassemble', *arch.disassemble],
                    ''.join(' '.join('0x' + b for b in line.split()) + '\n' for line in lines))
    out, prefix = [], ''
    for line in (' '.join(line.split()) for line in shown.splitlines()):
        if line == 'lock':
            prefix = 'lock '
        elif line and not line.startswith('.'):
            out.append(prefix + line)
            prefix = ''
    return out


def check_assembled(arch, goldens):
    texts = [text for _, text in goldens]
    theirs = assemble(arch, texts)
    assert len(theirs) == len(goldens), (len(theirs), len(goldens))
    differ = [(ours, text, their) for (ours, text), their in zip(goldens, theirs) if ours != their]
    if not differ:
        return []
    ours_mean = disassemble(arch, [d[0] for d in differ])
    they_mean = disassemble(arch, [d[2] for d in differ])
    assert len(ours_mean) == len(they_mean) == len(differ)
    return [d for d, a, b in zip(differ, ours_mean, they_mean)
            if a != b or len(d[0]) > len(d[2])]


def check_jumps(arch, goldens):
    means = disassemble(arch, [ours for ours, _ in goldens])
    assert len(means) == len(goldens), (len(means), len(goldens))
    return [(ours, text, mean) for (ours, text), mean in zip(goldens, means) if '@' + mean != text]


def check(name, arch, folder):
    generator, *args = arch.generator.split()
    out = subprocess.run([folder + generator, *args], check=True, text=True, stdout=subprocess.PIPE).stdout
    goldens = [tuple(line.split('\t')) for line in out.splitlines()]
    jumps = [g for g in goldens if g[1].startswith('@')]
    bad = check_assembled(arch, [g for g in goldens if not g[1].startswith('@')])
    bad += check_jumps(arch, jumps)
    for ours, text, theirs in bad[:SHOWN]:
        print('%-40s %-32s llvm-mc: %s' % (text, ours, theirs))
    print('goldens: %s: %d encodings, %d differ' % (name, len(goldens), len(bad)))
    return bool(goldens) and not bad


def main():
    good = [check(name, arch, sys.argv[1] + '/tests/goldens/') for name, arch in ARCHES.items()]
    return 0 if all(good) else 1


sys.exit(main())
