"""Every guard of the bot removed once: (what it guards, file, text, text without it, test).

`test_guards.py` makes a copy without the guard and demands that the named test fails there.
"""

from __future__ import annotations

from typing import NamedTuple


class Guard(NamedTuple):
    """One guard and the test that must notice its absence."""

    group: int
    file: str
    text: str
    without: str
    test: str


IN = "tests/bot/github/test_attacks_input.py::"
TRUST = "tests/bot/github/test_attacks_trust.py::"
OUT = "tests/bot/github/test_attacks_output.py::"
HOOK = "tests/bot/github/test_webhook.py::"
SAID = "tests/bot/github/test_commands.py::"
FAULT = "tests/bot/github/test_faults.py::"
SURFACE = "tests/bot/github/test_attacks_surface.py::"
LINKED = "tests/bot/github/test_linked_code.py::"
SEEN = "tests/bot/github/test_first_seen.py::"
TALK = "tests/bot/github/test_conversation.py::"
STATIC = "tests/workflows/test_static.py::"
RUN = '"$SPEEDRUN" verify --repo "$GITHUB_REPOSITORY" --pr "$PR"'

GUARDS = (
    Guard(
        1,
        ".github/workflows/speedrun-verify.yml",
        RUN,
        RUN.replace('"$PR"', "${{ github.event.pull_request.title }}"),
        STATIC + "test_no_expression_in_a_script",
    ),
    Guard(
        2,
        "bot/github/pull_request/report_file.py",
        "        if found != meant:",
        "        if False:",
        IN + "test_forged_report_is_refused",
    ),
    Guard(
        2,
        "schemas/pull.schema.json",
        ' "additionalProperties": false,\n "properties": {\n  "schema_version"',
        ' "properties": {\n  "schema_version"',
        IN + "test_forged_report_is_refused",
    ),
    Guard(
        3,
        "bot/parse/json_file.py",
        "object_pairs_hook=_object,",
        "",
        IN + "test_a_key_that_stands_twice",
    ),
    Guard(
        4,
        "schemas/pull.schema.json",
        "{40}$(?!\\\\n)",
        "{40}",
        IN + "test_forged_report_is_refused",
    ),
    Guard(
        5,
        "bot/github/pull_request/pull.py",
        "if entry.mode in _MODES:",
        "if False:",
        IN + "test_link_or_submodule_is_named_and_never_read",
    ),
    Guard(
        5,
        "bot/github/pull_request/pull.py",
        "if entry.path.casefold() in seen:",
        "if False:",
        IN + "test_names_that_differ_in_case_only",
    ),
    Guard(
        5,
        "bot/github/pull_request/scope.py",
        "if known is None or reading.author.lower() in known or reading.merged:",
        "if True:",
        IN + "test_change_or_removal_of_another_entry",
    ),
    Guard(
        6,
        "bot/github/pull_request/pull.py",
        "if expected > FILES_LIMIT:",
        "if False:",
        IN + "test_more_files_than_github_lists",
    ),
    Guard(
        6,
        "bot/github/pull_request/pull.py",
        'tree.raw_data.get("truncated")',
        "False",
        IN + "test_truncated_tree",
    ),
    Guard(
        6,
        "bot/github/pull_request/pull.py",
        "if entry.size > limit:",
        "if False:",
        IN + "test_large_file_is_named_and_not_read",
    ),
    Guard(
        6,
        "bot/render/comment.py",
        "if len(head) + len(body) <= ROOM:",
        "if True:",
        OUT + "test_many_findings_stay_below_the_limit",
    ),
    Guard(
        7,
        "bot/github/pull_request/evaluate.py",
        'if path.startswith("submissions/") and not names_are_safe(path):',
        "if False:",
        IN + "test_unsafe_name_reaches_no_address",
    ),
    Guard(
        8,
        "bot/rules/text.py",
        "unsafe_in(",
        "(lambda text: None)(",
        IN + "test_hidden_characters_are_found_and_not_shown",
    ),
    Guard(
        9,
        "bot/render/comment.py",
        "return markdown.sentence(value, MOST_PROSE)",
        "return str(value)",
        OUT + "test_nothing_escapes",
    ),
    Guard(
        9, "bot/render/markdown.py", '.replace("|", "\\u00a6")', "", OUT + "test_nothing_escapes"
    ),
    Guard(
        11,
        "bot/github/pull_request/publish.py",
        "if _sticky(known) is None:",
        "if True:",
        OUT + "test_many_pushes_make_one_comment",
    ),
    Guard(
        12,
        "bot/evidence/links.py",
        "if host not in HOSTS",
        "if False",
        TRUST + "test_hostile_links_cause_no_connection",
    ),
    Guard(
        13,
        "bot/github/pull_request/publish.py",
        "if seen.head_sha != report.head_sha:",
        "if False:",
        TRUST + "test_nothing_is_said_about_a_commit_that_is_not_the_head",
    ),
    Guard(
        14,
        "bot/github/server/webhook.py",
        'if not hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):',
        "if False:",
        HOOK + "test_headers_that_are_refused",
    ),
    Guard(
        14,
        "bot/github/server/webhook.py",
        'if request.mimetype != "application/json":',
        "if False:",
        HOOK + "test_headers_that_are_refused",
    ),
    Guard(
        14,
        "bot/github/server/queue.py",
        ', f"body:{hashlib.sha256(body).hexdigest()}")',
        ', f"id:{identity}.")',
        HOOK + "test_replays_are_acknowledged_and_not_kept",
    ),
    Guard(
        14,
        "bot/github/server/webhook.py",
        "if len(secret) < MIN_SECRET:",
        "if False:",
        HOOK + "test_no_door_without_a_secret",
    ),
    Guard(
        15,
        "bot/github/conversation/actions.py",
        '(not may and command.name != "runs"):',
        "False:",
        SAID + "test_accept_by_others_is_refused",
    ),
    Guard(
        15,
        "bot/github/conversation/actions.py",
        "state.sha != pull.head_sha or not seen",
        "False",
        SAID + "test_accept_for_a_commit_pushed_meanwhile_is_refused",
    ),
    Guard(
        15,
        "bot/github/pull_request/waivers.py",
        " and waiver.sha == sha and",
        " and",
        SAID + "test_accept_is_bound_to_the_commit",
    ),
    Guard(
        15,
        "bot/github/api/threads.py",
        '>= MOST_REPLIES:\n                return ""',
        '>= 10**9:\n                return ""',
        SAID + "test_a_thousand_commands_get_twenty_answers",
    ),
    Guard(
        16,
        "bot/github/pull_request/publish.py",
        "if login_of(c) == repo.login]",
        "]",
        OUT + "test_a_planted_marker_is_ignored",
    ),
    Guard(
        16,
        "bot/github/pull_request/publish.py",
        "if run.app and run.app.slug == app]",
        "if run.app]",
        OUT + "test_a_check_of_another_app_is_not_ours",
    ),
    Guard(
        17,
        "bot/github/pull_request/classify.py",
        "(Kind.RULES, _RULES),",
        "",
        TRUST + "test_deciding_files_are_never_green",
    ),
    Guard(
        18,
        "bot/github/pull_request/engine.py",
        "neighbours=(*self.neighbours, *context.neighbours),",
        "",
        TRUST + "test_log_of_another_entry",
    ),
    Guard(
        19,
        "bot/github/api/client.py",
        "    except requests.exceptions.RequestException as error:\n        kind",
        "    except ZeroDivisionError as error:\n        kind",
        OUT + "test_secrets_are_in_no_output",
    ),
    Guard(
        20,
        "bot/github/api/client.py",
        'allowed_methods={"GET"},',
        'allowed_methods={"GET", "POST"},',
        FAULT + "test_fault_at_each_write",
    ),
    Guard(
        20,
        "bot/github/api/client.py",
        "max_rate_limit_wait=_LONGEST_WAIT_S,",
        "",
        FAULT + "test_limit_that_lasts_an_hour_is_not_slept_through",
    ),
    Guard(
        13,
        "bot/github/pull_request/evaluate.py",
        "settled = (pull.head_sha, pull.updated_at) == (before.head_sha, before.updated_at)",
        "settled = pull.head_sha == before.head_sha",
        SURFACE + "test_a_push_back_and_forth_while_files_are_listed",
    ),
    Guard(
        17,
        "bot/github/pull_request/evaluate.py",
        "    if pull.base_ref != pull.default_branch:",
        "    if False:",
        SURFACE + "test_a_pull_request_to_another_branch_is_never_green",
    ),
    Guard(
        10,
        "bot/github/conversation/actions.py",
        "may = may and _branch_is_theirs(talk, pull)",
        "may = bool(may)",
        SURFACE + "test_author_of_a_pull_request_from_somebody_elses_branch",
    ),
    Guard(
        10,
        "bot/github/conversation/actions.py",
        "    if pull.head_ref in (pull.default_branch, EVIDENCE_BRANCH):",
        "    if False:",
        SURFACE + "test_not_even_a_maintainer_has_the_bot_write_to_the_main_branches",
    ),
    Guard(
        12,
        "bot/github/pull_request/linked_code.py",
        "match = _ADDRESS.fullmatch(repository)",
        "match = re.search(r'github.com/([^/]+/[^/]+)', repository)",
        LINKED + "test_other_addresses_are_never_asked",
    ),
    Guard(
        19,
        "bot/github/pull_request/linked_code.py",
        "if other.complete().private:",
        "if other.complete().private and False:",
        LINKED + "test_a_private_repository_that_our_token_could_read",
    ),
    Guard(
        6,
        "bot/github/pull_request/linked_code.py",
        "if len(chosen) < len(wanted):",
        "if False:",
        LINKED + "test_more_than_a_hundred_files",
    ),
    Guard(
        15,
        "bot/github/pull_request/waivers.py",
        "if w.by.lower() not in people}",
        "if w.by}",
        SEEN + "test_nobody_accepts_findings_on_their_own",
    ),
    Guard(
        15,
        "bot/github/conversation/actions.py",
        "(own and by_another) or (not may",
        "(not may",
        SEEN + "test_nobody_accepts_findings_on_their_own",
    ),
    Guard(
        15,
        "bot/github/pull_request/waivers.py",
        "or not lines[0].startswith(REPLY) or",
        "or",
        SEEN + "test_a_copy_of_our_own_line_below_another_first_line_counts_for_nothing",
    ),
    Guard(
        18,
        "bot/github/pull_request/engine.py",
        "pull_request=dc.replace(pull, opened_at=first) if pull and first else pull,\n"
        "            first_seen=first,\n",
        "pull_request=pull,\n",
        SEEN + "test_a_pull_request_that_was_opened_empty_is_dated_by_its_evidence",
    ),
    Guard(
        18,
        "bot/github/pull_request/engine.py",
        "seen=self.memory.entries,",
        "",
        SEEN + "test_runs_that_another_pull_request_showed_first",
    ),
    Guard(
        18,
        "bot/github/pull_request/engine.py",
        "recorded=before,",
        "",
        TALK + "test_replaced_log_of_a_merged_entry",
    ),
    Guard(
        10,
        "bot/github/pull_request/engine.py",
        "if set(p.roles) - _NO_SAY or not p.roles",
        "if True",
        SEEN + "test_a_reviewer_of_an_entry_has_no_say_in_it",
    ),
    Guard(
        6,
        "bot/github/pull_request/merge_queue.py",
        'conclusion = latest.conclusion if latest else "failure"',
        'conclusion = latest.conclusion if latest else "success"',
        TALK + "test_the_merge_queue_lets_nothing_in_that_was_not_checked",
    ),
)
