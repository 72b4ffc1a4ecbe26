"""Two listings of the same machine code in one spelling: ours, and that of NVIDIA's disassembler where the machine has one."""
# SPDX-License-Identifier: Apache-2.0
import math
import re
import struct

# Other spellings of IMAD where operands are constants.
IMAD_ALIAS = re.compile(r'^IMAD\.(MOV|IADD|SHL)\b')
HALVES = ('HADD2', 'HMUL2', 'HFMA2', 'HSET2', 'HSETP2', 'HMNMX2', 'VHMNMX')
DOUBLES = ('DADD', 'DMUL', 'DFMA', 'DSETP')
FLOATS = ('FADD', 'FMUL', 'FFMA', 'FMNMX', 'FSETP', 'FSET', 'FSEL', 'MUFU', 'FCHK', 'F2F', 'F2I', 'FRND', 'F2FP', 'F2IP',
          'FSWZADD')
TEXTURES = ('TEX', 'TLD', 'TLD4', 'TXD', 'TXQ', 'SULD', 'SUST', 'SURED')
DIMENSION = re.compile(r'(, |\.)((?:ARRAY_)?(?:[123]D|CUBE)|TEX_HEADER_[A-Z_]+)\b(?!_)')
NUMBER = re.compile(r'^[-+]?(\d+\.?\d*(e[-+]?\d+)?|INF|QNAN|SNAN|NAN)$', re.I)


def rounded(value, kind):
    """The bits of a float as `kind` holds it; NaNs are all alike, as a listing drops their bits."""
    if math.isnan(value):
        return 'NAN'
    try:
        if kind == 'd':  # an immediate is the high half of a double
            return hex(struct.unpack('<Q', struct.pack('<d', value))[0] >> 32)
        if kind == 'b':
            return hex(struct.unpack('<I', struct.pack('<f', value))[0] >> 16)
        return hex(struct.unpack('<I' if kind == 'f' else '<H', struct.pack('<' + kind, value))[0])
    except OverflowError:
        return hex({'f': 0x7f800000, 'e': 0x7c00}[kind] | (0x80000000 if kind == 'f' else 0x8000) * (value < 0))


def number(text, kind):
    text = text.strip()
    if kind and NUMBER.match(text):
        sign = -1.0 if text.startswith('-') else 1.0
        body = text.lstrip('+-').upper()
        value = math.inf if body == 'INF' else math.nan if 'NAN' in body else float(body)
        return rounded(sign * value, kind)
    m = re.fullmatch(r'(-?)0x([0-9a-f]+)', text)
    if not m:
        return text
    value = int(m[2], 16)
    if kind in ('f', 'd') and value & 0x7fffffff > (0x7f800000 if kind == 'f' else 0x7ff00000):
        return 'NAN'
    if kind in ('e', 'b') and value & 0x7fff > (0x7c00 if kind == 'e' else 0x7f80):
        return 'NAN'
    if kind == 'd' and value > 0xffffffff:  # one that is not finite, whole
        return number(hex(value >> 32), kind)
    return hex(-value & 0xffffffff) if m[1] else hex(value)


def texture(name, rest):
    """Their handle is two numbers, a bank and words, and the dimension an operand."""
    rest = re.sub(r'(0x[0-9a-f]+), (0x[0-9a-f]+)', lambda m: f'c[{m[1]}][{hex(4 * int(m[2], 16))}]', rest,
                  count=1).replace('[R', 'R')
    rest = re.sub(r'(R\w+)\]', r'\1', rest)
    if name.startswith('T'):
        m = DIMENSION.search(', ' + rest)
        if m:
            name, rest = f'{name}.{m[2]}', (', ' + rest).replace(m[0], '', 1)[2:]
    return name, rest


def normal(text):
    """One instruction without guard-independent differences of spelling."""
    text = re.sub(r'\(\*.*?\*\)', '', text)
    text = re.sub(r'\.reuse\b', '', text).strip().rstrip(';').strip()
    m = re.match(r'(@!?U?P\w+ )?(\S+)\s*(.*)', text)
    guard, name, rest = m[1] or '', m[2], m[3]
    name = IMAD_ALIAS.sub('IMAD', name).replace('PLOP3R', 'PLOP3').replace('.SHIFT', '')
    name = name.replace('DMMA.8x8x4', 'DMMA.884').replace('REDG', 'RED')
    if name.startswith('WARPSYNC.COLLECTIVE'):
        rest = re.sub(r',? ?0x[0-9a-f]+$', '', rest)
    if name.startswith('F2FP'):
        name = re.sub(r'(\.F16)?\.F32\b', '', name)  # said from sm_86 on
    base = name.split('.')[0]
    kind = 'd' if base in DOUBLES else 'f' if base in FLOATS else ('b' if 'BF16' in name else 'e') if base in HALVES else ''
    if base in ('MUFU', 'F2F', 'F2I',
                'FRND') and (re.search(r'^F2F.*F64\b.*\bF64|^F2F\.(FTZ\.)?F(16|32)\.F64|^(F2I|FRND)\..*F64|64H', name)):
        kind = 'd'
    operands = []
    if base in ('BRX', 'BRXU', 'RET', 'CALL'):
        rest = re.sub(r'^(U?R\d+),? (-?0x)', r'\1, \2', rest)
    if base == 'FSWZADD':
        rest = rest[:rest.rindex(',')]  # letters for each lane against bits
    if base in TEXTURES:
        name, rest = texture(name, rest)
    for part in rest.split(', ') if rest else ():
        part = part.strip()
        part = re.sub(r'\.(ROW|COL|SIGN|24|28)\b', '', part)
        part = re.sub(r'desc\[UR\d+\]\[', '[', part).replace('] [', '][')
        part = hex(sum(1 << int(n) for n in part[1:-1].split(','))) if re.fullmatch(r'\{[\d,]+\}', part) else part
        part = re.sub(r'\[U?RZ\]', '[0x0]', part)
        part = re.sub(r'\[(.*)\]', lambda b: '[' + b[1].replace('+-', '-').replace('URZ+', '').replace('+URZ', '') + ']', part)
        operands.append(number(part, kind))
    return f'{guard}{name} {", ".join(operands)}'.strip()


LINE = re.compile(r'\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/')


def absolute(text, at):
    """An indirect branch's distance as a place, as we list it."""
    m = re.match(r'(.*\bBRXU? U?R\d+) (-?)(0x[0-9a-f]+)', text)
    return f'{m[1]}, {hex(at + 16 + int(m[2] + m[3], 16))}' if m else text
