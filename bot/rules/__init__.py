"""Rules: one check each, a small function over a `Case` that yields findings.

    def mfu_impossible(case: Case) -> Iterator[Finding]:
        '''One line that says what is checked.

        Then why, and how to satisfy it. This docstring is the rule's page on the site.
        '''
        yield finding("mfu-impossible", "...", claimed=..., expected=..., fix=...)

A new rule is such a function, its line in `CHECKS` and its entry in `schemas/rules.json`, which
holds its family and default level; the function is called as the rule, with `_` for `-`. A track
may change a level.
"""

from __future__ import annotations

import dataclasses as dc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from bot.model.case import Case
from bot.model.verdict import Finding
from bot.registry import Level, level_on
from bot.rules import (
    accounting,
    agreement,
    arms,
    code,
    confirmation,
    data,
    dates,
    devices,
    evidence,
    explanation,
    improvement,
    limits,
    manifest,
    ownership,
    program,
    provenance,
    replies,
    statistics,
    text,
    unlisted,
    utilization,
    values,
    witnesses,
)

MAX_PER_RULE = 25
"""At most this many findings of one rule and level are shown: more usually share one cause."""

Check = Callable[[Case], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    # text
    text.json_invalid,
    text.schema,
    text.schema_version_unknown,
    text.unsafe_name,
    text.unsafe_text,
    text.secret_in_text,
    text.local_path_in_text,
    # accounting
    accounting.hardware_flops_mismatch,
    utilization.model_flops_mismatch,
    devices.device_peak_mismatch,
    devices.chip_count_mismatch,
    accounting.token_count_mismatch,
    utilization.mfu_impossible,
    utilization.mfu_unusual,
    utilization.parameter_count_mismatch,
    utilization.model_flops_unchecked,
    values.metric_missing,
    values.metric_not_finite,
    values.metric_implausible,
    dates.timestamp_invalid,
    devices.device_unknown,
    # evidence
    evidence.link_not_a_run,
    evidence.host_not_allowed,
    evidence.run_not_found_or_private,
    evidence.evidence_unavailable,
    evidence.run_unfinished,
    evidence.run_crashed,
    agreement.claim_differs_from_run,
    agreement.hardware_differs_from_run,
    evidence.summary_differs_from_history,
    evidence.history_gap,
    evidence.clock_not_monotonic,
    code.code_differs_between_runs,
    code.code_differs_from_submission,
    code.code_missing,
    program.code_unusual,
    data.data_fingerprint_mismatch,
    data.train_validation_overlap,
    manifest.data_manifest,
    manifest.recipe_differs,
    evidence.evidence_changed,
    agreement.nonce_mismatch,
    witnesses.uncorroborated,
    witnesses.clock_implausible,
    evidence.project_not_public,
    witnesses.witnesses_disagree,
    witnesses.key_mapped,
    # provenance
    provenance.duplicate_run,
    provenance.copied_result,
    ownership.run_of_another,
    provenance.author_not_contributor,
    provenance.out_of_scope_change,
    unlisted.unlisted_runs,
    confirmation.confirmation_not_fixed,
    provenance.seed_reused,
    ownership.run_not_bound,
    explanation.explanation_missing,
    replies.entry_unknown,
    replies.maintainer_decides,
    # statistics
    statistics.target_missed,
    statistics.target_not_significant,
    statistics.too_few_runs,
    statistics.reported_statistics_wrong,
    limits.limit_exceeded,
    improvement.not_better_than_record,
    improvement.improvement_not_significant,
    improvement.baseline_stale,
    arms.arms_differ,
    arms.baseline_slower_than_frozen,
    statistics.depends_on_best_run,
)
"""Every rule, in the order of the catalogue."""


def rule_name(check: Check) -> str:
    """The public name of a rule's function: `mfu_impossible` is `mfu-impossible`."""
    return check.__name__.replace("_", "-")


RULES: Mapping[str, Check] = {rule_name(check): check for check in CHECKS}


def run_rules(case: Case) -> tuple[Finding, ...]:
    """All findings on a case, errors first, each rule in the catalogue's order.

    A track's `levels` may lower or raise a rule, or switch it off, by its name; what is strong
    stays a warning (`bot.registry.level_on`).
    """
    found = []
    for name, check in RULES.items():
        asked = case.track.levels.get(name)
        told: Counter[Level] = Counter()
        for item in check(case):
            # Apart by level: a flood of warnings must not keep an error from being told.
            told[item.level] += 1
            if told[item.level] <= MAX_PER_RULE:
                level = item.level if asked is None else level_on(name, asked, item.level)
                found += [] if level is None else [dc.replace(item, level=level)]
            elif item.level is Level.ERROR:
                break
    order = list(Level)
    return tuple(sorted(found, key=lambda f: order.index(f.level)))
