"""Asks for a page in a real browser, and says where it ends."""

import contextlib
import json
import subprocess
import time
import urllib.request

from benches.common import free_port

SECONDS = 20
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
READ = "const heading = document.querySelector('h1'); return [location.pathname, heading ? heading.innerText : ''];"


def follow(url, old):
    """The address and the heading of the page that the browser shows in the end."""
    with session() as ask:
        ask("POST", "url", {"url": url + old})
        told = before = None
        for _ in range(SECONDS * 4):
            told = tuple(ask("POST", "execute/sync", {"script": READ, "args": []}))
            if told[0] != old and told[1] and told == before:
                break
            before = told
            time.sleep(0.25)
        return told


@contextlib.contextmanager
def session():
    """A function that gives the browser a command of WebDriver."""
    port = free_port()
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL)
    root = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                command(root, "GET", "status")
                break
            time.sleep(0.1)
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": FLAGS}}}}
        place = f"{root}/session/{command(root, 'POST', 'session', wanted)['sessionId']}"
        try:
            yield lambda method, name, body=None: command(place, method, name, body)
        finally:
            urllib.request.urlopen(urllib.request.Request(place, method="DELETE"), timeout=30).close()
    finally:
        driver.terminate()
        driver.wait(timeout=30)


def command(place, method, name, body=None):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{place}/{name}", body and json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]
