"""What lifted machine code computes otherwise than the references, and why: known.txt and lifted.txt, read, compared, written."""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = os.path.join(HERE, 'known.txt')
DIGESTS = os.path.join(HERE, 'lifted.txt')


class Failure:
    """A combination that failed: what was printed of it."""

    def __init__(self):
        self.lines = []  # of lanes, with what they had and computed
        self.refused = self.other = False

    def kind(self):
        if self.refused or self.other or not self.lines:
            return 'refused' if self.refused and not self.other and not self.lines else 'broken'
        return 'off' if all('which is switched off' in line for line in self.lines) else 'values'

    def digest(self):
        """Of the lanes that run: what the others had before is the job's, not the combination's."""
        lines = sorted(line for line in self.lines if 'which is switched off' not in line)
        return hashlib.sha256('\n'.join(lines).encode()).hexdigest()[:12]


def failures(lines):
    """{combination: Failure}, and the lines that belong to none."""
    found, rest, at = {}, [], None
    for line in lines:
        m = re.match(r'FAIL (?:@!?%\w+ )?(\S+?)[,:]?(?= |$)(.*)', line)
        if m:
            at = found.setdefault(m[1], Failure())
            at.refused |= ': CUDA_ERROR_NOT_SUPPORTED' in line
            at.other |= bool(re.search(r'\): |variant \d|: CUDA_ERROR_(?!NOT_SUPPORTED)', line)) and not at.refused
        elif at and re.match(r'    thread \d', line):
            at.lines.append(line.strip())
        elif at and re.match(r'    \d+ of \d+ lanes differ', line):
            continue
        elif at and line.startswith('    '):
            at.other = True
        else:
            at = None
            rest.append(line)
    return found, rest


def arches(text):
    first, dash, last = text.partition('-')
    return range(int(first), int(last or 1000) + 1 if dash else int(first) + 1)


def known_lines():
    """[(architectures, regular expression of combinations, kind, reason)]; known.txt says what the kinds are."""
    with open(KNOWN, encoding='utf-8') as f:
        cells = [line.strip().split(' | ') for line in f if line.strip() and not line.startswith('#')]
    return [(arches(a), re.compile(pattern), kind, reason) for a, pattern, kind, reason in cells]


def digests():
    """{(architecture, combination): digest}"""
    found = {}
    with open(DIGESTS, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                name, digest, *of = line.split()
                found.update({(int(arch), name): digest for arch in of})
    return found


def write_digests(all_of):
    by = {}
    for (arch, name), digest in all_of.items():
        by.setdefault((name, digest), []).append(arch)
    with open(DIGESTS, encoding='utf-8') as f:
        head = [line for line in f if line.startswith('#')]
    with open(DIGESTS, 'w', encoding='utf-8') as f:
        f.writelines(head)
        f.writelines(f'{name} {digest} {" ".join(map(str, sorted(of)))}\n' for (name, digest), of in sorted(by.items()))


def judge(arch, found, whole, exact, keep):
    """Prints what is not as known; the numbers of combinations that are, and that are not, and of lines of known.txt that nothing
    needs.  `whole`: all combinations have run; `exact`: with the values that the digests are of; `keep`: write those anew."""
    lines, kept, used, wrong = known_lines(), digests(), set(), 0
    if keep:
        kept = {key: digest for key, digest in kept.items() if key[0] != arch or key[1] not in found and not whole}
    for name, failure in sorted(found.items()):
        kind = failure.kind()
        number = next((n for n, (of, pattern, k, _) in enumerate(lines)
                       if arch in of and (k == kind or k == 'garbage' and kind == 'values') and pattern.fullmatch(name)), None)
        used.add(number)
        problem = None if number is not None else f'not in known.txt as "{kind}"'
        if kind == 'values' and not problem and lines[number][2] == 'values':
            if keep:
                kept[arch, name] = failure.digest()
            elif exact and kept.get((arch, name)) != failure.digest():
                problem = f'other results than lifted.txt has ({failure.digest()})'
        if problem:
            wrong += 1
            print(f'FAIL {name}: {problem}\n' + '\n'.join('    ' + line for line in failure.lines[:3]))
    if keep:
        write_digests(kept)
    idle = [n for n, (of, *_) in enumerate(lines) if arch in of and n not in used] if whole else []
    for n in idle:
        print(f'FAIL known.txt: nothing needs "{lines[n][1].pattern}" | {lines[n][2]} any more')
    return len(found) - wrong, wrong, len(idle)
