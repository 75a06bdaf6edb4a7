#!/usr/bin/python3
"""A real browser for tests: Debian's Chromium without a window, driven by chromedriver.

    browser.py serve      starts the browser, prints "ready", and ends it when standard input ends
    browser.py ADDRESS    opens an address in it, as BROWSER; then does $SESSION_TOOLS_BROWSER_ACT
    browser.py do ACT     does something with the page that was opened last, and prints the page

$SESSION_TOOLS_BROWSER is the socket between them, in a directory of its own, which is removed at
the end. The acts on a page of the authorization server are:

    open       nothing
    allow      log in and allow
    deny       log in and deny
    close      close the page
    again      reload the page
    page       nothing, but print the page's path and text
    address    nothing, but print the page's address
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PATIENCE = 300


class Driver:
    """Speaks W3C WebDriver to chromedriver, which it starts."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True, **quiet
        )
        self.address = f"http://127.0.0.1:{self.port()}"
        self.session = ""
        end = time.monotonic() + PATIENCE
        while not self.is_ready():
            if time.monotonic() > end:
                raise TimeoutError("chromedriver")
            time.sleep(0.02)
        # Chromium has no sandbox when it runs as root, as in containers.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += ["--no-first-run", f"--user-data-dir={self.profile}"]
        options = {"goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.session = "/session/" + made["sessionId"]

    def port(self):
        """Returns the port that chromedriver has chosen, which it prints when it has started."""
        for line in self.process.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                # It prints more, which is discarded.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return int(found[1])
        raise RuntimeError("chromedriver did not start")

    def is_ready(self):
        try:
            return self.ask("GET", "/status")["ready"]
        except OSError:
            return False

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        message = urllib.request.Request(
            self.address + self.session + path, method=method, data=data, headers=headers
        )
        # Without a proxy, whatever the environment says.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(message, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def open(self, address):
        window = self.ask("POST", "/window/new", {"type": "tab"})["handle"]
        self.ask("POST", "/window", {"handle": window})
        self.ask("POST", "/url", {"url": address})

    def do(self, act):
        if act == "close":
            left = self.ask("DELETE", "/window")
            self.ask("POST", "/window", {"handle": left[0]})
            return ""
        if act == "address":
            return self.run("return location.href")
        if act == "again":
            self.ask("POST", "/refresh", {})
        if act in ("allow", "deny"):
            for field, text in (("user", "ada"), ("password", "open sesame")):
                self.run("document.getElementById(arguments[0]).value = arguments[1]", field, text)
            before = self.run("return document.readyState + performance.timeOrigin")
            # A click with the pointer is sometimes lost.
            self.run("document.getElementById(arguments[0]).click()", act)
            self.wait_for_other(before)
        return self.page()

    def wait_for_other(self, before):
        """Waits until another page is loaded completely."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                now = self.run("return document.readyState + performance.timeOrigin")
                if now != before and now.startswith("complete"):
                    return
            except urllib.error.HTTPError:
                pass  # between two pages
            time.sleep(0.02)
        raise TimeoutError("the next page")

    def page(self):
        return self.run("return location.pathname + ' ' + document.body.innerText")

    def end(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()
            shutil.rmtree(self.profile, ignore_errors=True)


def serve(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    driver = Driver()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    print("ready", flush=True)
    threading.Thread(target=accept, args=(listener, driver), daemon=True).start()
    try:
        sys.stdin.read()
    finally:
        driver.end()
        # The directory is only for this socket, and its creator may have been killed.
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def accept(listener, driver):
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as stream:
            wish = json.loads(stream.readline())
            try:
                if wish["address"]:
                    driver.open(wish["address"])
                said = driver.do(wish["act"])
                stream.write(json.dumps({"page": said}) + "\n")
            except Exception as error:  # reported to the client
                stream.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")


def tell(path, address, act):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        with connection.makefile("rw") as stream:
            stream.write(json.dumps({"address": address, "act": act}) + "\n")
            stream.flush()
            answer = json.loads(stream.readline())
    if "error" in answer:
        sys.exit(answer["error"])
    return answer["page"]


if __name__ == "__main__":
    place = os.environ["SESSION_TOOLS_BROWSER"]
    if sys.argv[1] == "serve":
        serve(place)
    elif sys.argv[1] == "do":
        print(tell(place, None, sys.argv[2]))
    else:
        tell(place, sys.argv[1], os.environ.get("SESSION_TOOLS_BROWSER_ACT", "open"))
