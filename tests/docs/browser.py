#!/usr/bin/env python3
"""Looks at each page of the site with Chromium: no errors on its console, nothing asked of the network, pictures that load,
links and anchors of ours that lead somewhere, and no page wider than a phone's or a desk's window.

    browser.py SITE_DIR [--screenshots DIR]      needs playwright (tools/site-check-requirements.txt) and chromium
"""
# SPDX-License-Identifier: Apache-2.0
import functools
import http.server
import os
import re
import shutil
import sys
import tempfile
import threading
import urllib.parse

import playwright.sync_api

WIDTHS = {'phone': (390, 844), 'desk': (1280, 900)}
SHOTS = ('index.html', 'commands.html', 'comparison.html', 'api/compiler.html')
PAGE = '''() => ({
  wide: document.documentElement.scrollWidth - window.innerWidth,
  widest: [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1 &&
      !e.closest('pre, .highlight, .md-typeset__scrollwrap, .md-sidebar, .md-search, .md-header__title, .md-select')).slice(0, 3)
      .map(e => e.tagName + '.' + e.className),
  pictures: [...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.src),
  links: [...document.querySelectorAll('a[href]')].map(a => a.href),
  ids: [...document.querySelectorAll('[id]')].map(e => e.id),
})'''


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def html_files(folder):
    for at, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith('.html') and name != '404.html':
                yield os.path.relpath(os.path.join(at, name), folder)


class Look:
    def __init__(self, folder, base, shots):
        self.folder, self.base, self.shots, self.faults = folder, base, shots, []
        self.ids, self.links = {}, {}
        self.at = ''

    def fault(self, text):
        self.faults.append('%s: %s' % (self.at, text))

    def watch(self, page):
        page.on('console', lambda m: self.fault('console: ' + m.text) if m.type in ('error', 'warning') else None)
        page.on('pageerror', lambda e: self.fault('script: %s' % e))
        # What is given up as the next page is asked for is no fault.
        page.on('requestfailed', lambda r: None if r.failure == 'net::ERR_ABORTED' else self.fault('not loaded: ' + r.url))
        page.on('request', lambda r: None if r.url.startswith((self.base, 'data:', 'blob:')) else
                self.fault('asks the network: ' + r.url))
        page.on('response', lambda r: self.fault('%d: %s' % (r.status, r.url)) if r.status >= 400 else None)

    def page(self, page, path, kind):
        self.at = '%s (%s)' % (path, kind)
        page.goto(self.base + path, wait_until='load')
        seen = page.evaluate(PAGE)
        if seen['wide'] > 0:
            self.fault('%d pixels wider than the window: %s' % (seen['wide'], ', '.join(seen['widest'])))
        for picture in seen['pictures']:
            self.fault('a picture does not load: ' + picture)
        self.ids[path], self.links[path] = set(seen['ids']), seen['links']
        if self.shots and path in SHOTS:
            page.screenshot(path=os.path.join(self.shots, '%s-%s.png' % (path.replace('/', '-')[:-5], kind)))

    def follow(self):
        for path, links in self.links.items():
            self.at = path
            for link in sorted(set(links)):
                if not link.startswith(self.base):
                    parts = urllib.parse.urlsplit(link)
                    if parts.scheme not in ('http', 'https') or not re.fullmatch(r'[\w-]+(\.[\w-]+)+', parts.hostname or ''):
                        self.fault('no address: ' + link)
                    continue
                target, _, anchor = link[len(self.base):].partition('#')
                target = urllib.parse.unquote(target) or 'index.html'
                target += 'index.html' if target.endswith('/') else ''
                if not os.path.isfile(os.path.join(self.folder, target)):
                    self.fault('leads nowhere: ' + link)
                elif anchor and target in self.ids and urllib.parse.unquote(anchor) not in self.ids[target]:
                    self.fault('no such anchor: ' + link)


    def search(self, page):
        """A word that is in every manual of this program must be found."""
        self.at = 'search'
        page.goto(self.base + 'index.html', wait_until='networkidle')
        page.keyboard.press('f')
        page.wait_for_selector('input[name=query]', state='visible')
        page.keyboard.type('doctor')
        try:
            page.wait_for_selector('.md-search-result__item', timeout=15000)
        except playwright.sync_api.TimeoutError:
            self.fault('nothing is found')


def look(folder, base, shots):
    chromium = shutil.which('chromium') or shutil.which('chromium-browser')
    if not chromium:
        sys.exit('browser: no chromium')
    found = Look(folder, base, shots)
    paths = list(html_files(folder))
    with playwright.sync_api.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=['--no-sandbox', '--disable-gpu'])
        for kind, (width, height) in WIDTHS.items():
            page = browser.new_page(viewport={'width': width, 'height': height})
            found.watch(page)
            for path in paths:
                found.page(page, path, kind)
            if kind == 'desk' and os.path.isdir(os.path.join(folder, 'search')):
                found.search(page)
            page.close()
        browser.close()
    found.follow()
    return len(paths), found.faults


BAD = '''<!doctype html><link rel="icon" href="data:,"><title>x</title><p id="here">x</p><div style="width:2000px">x</div>
<img src="none.png"><a href="none.html">a</a><a href="#there">b</a><a href="#here">c</a><a href="https:/x">d</a>
<script>console.error("said")</script><script src="https://example.invalid/x.js"></script>'''


def self_test():
    """It must see what it is for."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'index.html'), 'w', encoding='utf-8') as f:
            f.write(BAD)
        _, faults = serve(folder, None)
    for wanted in ('(phone): 1', '(desk): 7', 'console: said', 'asks the network: https://example.invalid/x.js', '404: ',
                   'a picture does not load: ', 'leads nowhere: ', 'no such anchor: '):
        assert any(wanted in fault for fault in faults), (wanted, faults)
    assert not any('#here' in fault for fault in faults), faults


def serve(folder, shots):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        return look(folder, 'http://127.0.0.1:%d/' % server.server_port, shots)
    finally:
        server.shutdown()


def main(argv):
    self_test()
    n, faults = serve(os.path.abspath(argv[1]), argv[argv.index('--screenshots') + 1] if '--screenshots' in argv else None)
    print('\n'.join(faults) or 'browser: %d pages at %d widths, nothing wrong' % (n, len(WIDTHS)))
    return 1 if faults or not n else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
