"""How good a document is: a scorer rates a sample, a classifier generalises to the rest.

A command reads one JSON object a line (`{"text": ...}`) from its input and writes one number a
line, higher is better. A model behind an OpenAI-compatible endpoint gets `prompt` with the text in
place of `{text}` and answers with a number; it is asked only when the user allows it, because the
texts leave the machine (`SPEEDRUN_SCORER_KEY` is its key, if it needs one).
"""

import json
import math
import os
import re
import subprocess
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np

from reference_trainer.curation.pool import Pool, Score
from reference_trainer.errors import DataError

COMMAND_LIMIT_S = 3600
ANSWER_LIMIT_S = 120
SHOWN_CHARACTERS = 8000  # of a text, to a model
FOLDS = 5
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def rated(pool: Pool, texts: Sequence[str], allow_endpoint: bool) -> list[float]:
    """The scorer's ratings of texts. Raises DataError."""
    score = pool.score
    assert score is not None
    if score.command:
        return _by_command(score.command, texts, pool)
    if not allow_endpoint:
        raise DataError(
            f"the pool sends {len(texts)} documents to {score.endpoint}; if that is what you "
            "want, pass --allow-endpoint"
        )
    return [_by_model(score, text) for text in texts]


def _by_command(command: tuple[str, ...], texts: Sequence[str], pool: Pool) -> list[float]:
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    shown = " ".join(command)
    try:
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, cwd=pool.folder or None,
            timeout=COMMAND_LIMIT_S, encoding="utf-8",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise DataError(f"the scorer `{shown}` did not run: {error}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise DataError(f"the scorer `{shown}` ended with {done.returncode}: {last[:300]}")
    rows = done.stdout.split()
    if len(rows) != len(texts):
        raise DataError(
            f"the scorer `{shown}` wrote {len(rows)} numbers for {len(texts)} documents; expected "
            "one a line"
        )
    return [_number(row, f"the scorer `{shown}`") for row in rows]


def _number(text: str, who: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f'{who} wrote "{text[:60]}", expected a finite number')
    return value


def _by_model(score: Score, text: str) -> float:
    if not score.endpoint.startswith(("https://", "http://")):
        raise DataError(f'score.endpoint is "{score.endpoint}", expected an https address')
    asked = score.prompt.replace("{text}", text[:SHOWN_CHARACTERS])
    body = {
        "model": score.model,
        "messages": [{"role": "user", "content": asked}],
        "temperature": 0,
    }
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("SPEEDRUN_SCORER_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(score.endpoint, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_LIMIT_S) as answer:
            said = json.loads(answer.read(1_000_000))["choices"][0]["message"]["content"]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise DataError(f"{score.endpoint} gave no answer that can be read: {error}") from error
    found = _NUMBER.search(str(said))
    if found is None:
        raise DataError(f'the model answered "{str(said)[:60]}", expected a number')
    return float(found[0])


def classified(
    texts: Sequence[str], sample: Sequence[int], ratings: Sequence[float]
) -> tuple[np.ndarray, dict[str, Any]]:
    """The classifier's rating of every text, and how well it agrees with ratings that it has not
    seen: the correlation over five folds. Raises DataError for a scorer that tells nothing apart.
    """
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, cross_val_predict

    wanted = np.array(ratings, float)
    if wanted.std() == 0:
        raise DataError(
            f"the scorer rates all {len(wanted)} documents {wanted[0]:g}; it must tell them apart"
        )
    rows = HashingVectorizer(n_features=2**18, alternate_sign=False).transform(texts)
    known = rows[list(sample)]
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    unseen = cross_val_predict(Ridge(), known, wanted, cv=folds)
    agreement = float(np.corrcoef(unseen, wanted)[0, 1]) if unseen.std() else 0.0
    model = Ridge().fit(known, wanted)
    facts = {"classifier": "Ridge over hashed words", "agreement": round(agreement, 4)}
    return np.asarray(model.predict(rows)), facts
