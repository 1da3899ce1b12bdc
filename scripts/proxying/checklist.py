"""Prints each check with its result, and counts those that failed."""

import http.client
import sys
import time


class Checklist:
    def __init__(self):
        self.passed, self.failures, self.part = 0, [], ""

    def begin(self, part):
        self.part = part
        print(f"\n{part}", flush=True)

    def run(self, check, *arguments):
        """A connection that breaks fails the check, and not the checks after it."""
        try:
            check(self, *arguments)
        except (OSError, http.client.HTTPException) as error:
            self.true(check.__name__.replace("_", " "), False, repr(error))

    def equal(self, what, actual, expected):
        self.true(what, actual == expected, f"{actual!r}, expected {expected!r}")

    def true(self, what, is_right, otherwise):
        """`otherwise` is printed if the check fails."""
        print(f"  {'ok    ' if is_right else 'FAILED'} {what}{'' if is_right else f': {otherwise}'}", flush=True)
        if is_right:
            self.passed += 1
        else:
            self.failures.append(f"{self.part}: {what}: {otherwise}")

    def figure(self, text):
        print(f"         {text}", flush=True)

    def exit(self):
        print(f"\n{self.passed} checks passed, {len(self.failures)} failed", flush=True)
        for failure in self.failures:
            print(f"failed: {failure}")
        sys.exit(bool(self.failures))


def wait_until(is_true, seconds):
    """Whether it became true in time."""
    until = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
