"""Takes away from a case what a finding does not need."""

import dataclasses

MAX_TRIALS = 80


def shrink(case, still_found):
    """The case with as few lines as the finding needs; `still_found` says whether a smaller one has it, too."""
    trials = 0
    for path in list(case.edits):
        size = max(len(case.edits[path].split("\n")) // 2, 1) if case.edits[path] is not None else 0
        while size and trials < MAX_TRIALS:
            at = 0
            while at < len(lines := case.edits[path].split("\n")) and trials < MAX_TRIALS:
                trials += 1
                text = "\n".join(lines[:at] + lines[at + size:])
                smaller = dataclasses.replace(case, edits={**case.edits, path: text})
                if len(lines) > 1 and still_found(smaller):
                    case = smaller
                else:
                    at += size
            size //= 2
    return case
