#!/usr/bin/env python3
"""Writes manual pages and completions of the `anywarp` program from what it says of itself: `anywarp --help` and `anywarp
COMMAND --help`.

manual.py ANYWARP VERSION OUT_DIR     anywarp.1, anywarp-COMMAND.1; anywarp.bash, _anywarp (zsh), anywarp.fish
manual.py ANYWARP --list              the names of the files, one a line
"""

# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys


def ask(anywarp, *words):
    return subprocess.run([anywarp, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout


def commands(anywarp):
    """(name, what it does) of each."""
    rows = ask(anywarp, '--help').partition('commands:\n')[2].partition('\n\n')[0]
    return [tuple(row.split(None, 1)) for row in rows.splitlines()]


def options(text):
    """Long options that a help names, with '=' where they take a value; the first mention tells."""
    found = {}
    for name, value in re.findall(r'(?<![\w-])(--[a-z][a-z-]*)(\[?=|[ =][A-Z]+(?![a-z]))?', re.sub('`[^`]*`', '', text)):
        found.setdefault(name, bool(value) and not value.startswith('['))
    return found


# ---- Manual pages


def roff(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\n'.join('\\&' + line if line[:1] in ".'" else line for line in text.splitlines())


def usage_split(text):
    """The lines of usage, without its word, and the rest."""
    lines = text.splitlines()
    n = 1
    while n < len(lines) and lines[n].startswith('    '):
        n += 1
    return [re.sub(r'^(usage:| {6})\s*', '', line).strip() for line in lines[:n]], lines[n:]


def page(name, what, text, version, also):
    usage, rest = usage_split(text)
    out = [
        '.TH "%s" 1 "" "anywarp %s" "anywarp"' % (name.upper(), version),
        '.ad l',
        '.SH NAME',
        '%s \\- %s' % (roff(name), roff(what)),
        '.SH SYNOPSIS',
        '.nf',
    ]
    out += [roff(line) for line in usage] + ['.fi', '.SH DESCRIPTION']
    filled = True  # paragraphs; else a run of lines that keep their form
    for line in rest:
        row = re.match(r'^ {2}(\S.*?) {2,}(\S.*)$', line)
        if row:
            out += ['.TP', '.B ' + roff(row.group(1)), roff(row.group(2))]
        elif not line.strip():
            out.append('.PP')
        elif line.startswith('Exit status: '):
            out += ['.SH EXIT STATUS', roff(line[len('Exit status: ') :])]
        else:
            out.append(roff(line.strip()))
    while out[-1] == '.PP':
        out.pop()
    out += ['.SH SEE ALSO', ', '.join('.BR %s (1)' % roff(a) if i == 0 else roff(a) + '(1)' for i, a in enumerate(also))]
    return '\n'.join(line for i, line in enumerate(out) if not (line == '.PP' and out[i - 1].startswith(('.SH', '.PP')))) + '\n'


# ---- Completions


def bash(rows, helps):
    cases = ''.join('        %s) words="%s" ;;\n' % (name, ' '.join(options(helps[name]))) for name, _ in rows)
    return '''# Completion of anywarp for bash, from its help.
_anywarp()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%s help --help --version" -- "$word") $(compgen -f -- "$word"))
        return
    fi
    case $command in
        help) words="%s" ;;
%s    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "$words --help" -- "$word")) ;;
        *) [ "$command" = help ] && COMPREPLY=($(compgen -W "$words" -- "$word")) || COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _anywarp anywarp
''' % (' '.join(n for n, _ in rows), ' '.join(n for n, _ in rows), cases)


def zsh(rows, helps):
    quoted = '\n'.join("        '%s:%s'" % (name, what.replace("'", "'\\''").replace(':', '\\:')) for name, what in rows)
    cases = ''.join(
        "        %s) _arguments -A '-*' %s '*:file:_files' ;;\n"
        % (
            name,
            ' '.join("'%s%s'" % (o, '=:value:_files' if v else '') for o, v in {**options(helps[name]), '--help': False}.items()),
        )
        for name, _ in rows
    )
    return '''#compdef anywarp
# Completion of anywarp for zsh, from its help.
_anywarp() {
    local -a commands
    commands=(
%s
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        _files
        return
    fi
    case $words[2] in
%s        help) _describe command commands ;;
        *) _files ;;
    esac
}
_anywarp "$@"
''' % (quoted, cases)


def fish(rows, helps):
    out = ['# Completion of anywarp for fish, from its help.']
    for name, what in rows:
        out.append("complete -c anywarp -n __fish_use_subcommand -a %s -d '%s'" % (name, what.replace("'", "\\'")))
        out += [
            "complete -c anywarp -n '__fish_seen_subcommand_from %s' -l %s%s" % (name, o[2:], ' -r' if v else '')
            for o, v in {**options(helps[name]), '--help': False}.items()
        ]
    return '\n'.join(out) + '\n'


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    rows = commands(argv[1])
    if argv[2] == '--list':
        print('\n'.join(['anywarp.1'] + ['anywarp-%s.1' % n for n, _ in rows] + ['anywarp.bash', '_anywarp', 'anywarp.fish']))
        return
    version, folder = argv[2], argv[3]
    helps = {name: ask(argv[1], name, '--help') for name, _ in rows}
    names = ['anywarp-' + name for name, _ in rows]
    files = {
        'anywarp.1': page(
            'anywarp',
            'runs unmodified CUDA programs on AMD cards, and on machines with no GPU',
            ask(argv[1], '--help'),
            version,
            names,
        )
    }
    for name, what in rows:
        files['anywarp-%s.1' % name] = page('anywarp-' + name, what, helps[name], version, ['anywarp'])
    files.update({'anywarp.bash': bash(rows, helps), '_anywarp': zsh(rows, helps), 'anywarp.fish': fish(rows, helps)})
    for name, text in files.items():
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.write(text)


main(sys.argv)
