"""Texts of strangers: secrets, hidden characters, and how values are shown."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.render.markdown import code, prose, sentence, summary
from bot.render.untrusted import is_safe_line, plain, secrets_in, shown, unsafe_in
from tests.corpus.variants import secrets


@pytest.mark.parametrize("name", secrets())
def test_secrets_are_found_and_never_shown(name: str) -> None:
    text = f"before {secrets()[name]} after"
    assert secrets_in(text) is not None
    assert secrets()[name] not in plain(text, 500)


@pytest.mark.parametrize(
    "text",
    [
        "0123456789abcdef0123456789abcdef01234567",
        "sha256:" + "ab" * 32,
        "tokens per second",
        "the keyword sk-learn",
        "https://example.org/a?page=2",
        "hf_models",
        "ghp_short",
        "api_key = os.environ['WANDB_API_KEY']",
        "password: ask a maintainer",
        "key: num_train_steps",
        "https://wandb.ai/e/p/runs/r?nw=nwuserexample",
        "token=1",
        "AKIA",
        "eyJ0.x.y",
    ],
)
def test_near_misses_are_no_secrets(text: str) -> None:
    assert secrets_in(text) is None


def test_forty_digits_are_a_key_only_under_such_a_name() -> None:
    digits = "0123456789abcdef0123456789abcdef01234567"
    assert secrets_in(digits, "wandb_api_key") == "a W&B key"
    assert secrets_in(digits, "commit") is None
    assert secrets_in(digits, "tokenizer_revision") is None


@pytest.mark.parametrize(
    "text",
    [
        "Zo\u00eb",
        "\u674e\u96f7",
        "\u05d3\u05d5\u05d3",
        "\u0645\u06cc\u200c\u0634\u0648\u062f",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "e\u0301",
        "a\tb\nc",
        "\u2013 \u2018x\u2019",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f",
        "\u2764\ufe0f",
        "\u0915\u094d\u200d\u0937",
    ],
)
def test_writing_of_every_kind_is_safe(text: str) -> None:
    assert unsafe_in(text) is None


@pytest.mark.parametrize("char", "\u202e\u2066\u200b\ufeff\x00\x1b\x7f\x9b\u2028\u00ad\U000e0041")
def test_hidden_characters_are_named(char: str) -> None:
    found = unsafe_in(f"a{char}b")
    assert found is not None and f"U+{ord(char):04X}" in found


def test_a_joiner_between_plain_letters_is_hidden_text() -> None:
    assert unsafe_in("pass\u200dword") is not None


def test_values_are_shown_short() -> None:
    assert shown(None) == "null" and shown(True) == "true" and shown(1.5) == "1.5"
    assert shown("a\u202eb\n") == '"a\\u202eb "'
    assert shown({"a": 1}) == "an object of 1 key" and shown([]) == "an empty list"
    assert shown({"a": 1, "b": 2}) == "an object of 2 keys"
    assert len(shown("x" * 10_000)) < 100


@given(st.text(max_size=300))
def test_plain_text_is_safe_and_bounded(text: str) -> None:
    out = plain(text, 80)
    assert unsafe_in(out) is None and "\n" not in out
    out.encode("utf-8")


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ('\t"title": "\u00fcber ``` <!-- x",', True),
        ("", True),
        ("a\nb", False),
        ("a\r", False),
        ("a\u202eb", False),
        ("x" * 401, False),
        ("gh" + "p_" + "a1B2" * 9, False),
    ],
)
def test_only_whole_and_harmless_lines_are_written_back(line: str, safe: bool) -> None:
    assert is_safe_line(line) is safe


@given(st.text(max_size=60))
def test_a_code_span_cannot_be_left(text: str) -> None:
    span = code(text)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence) and "\n" not in span and "|" not in span
    assert fence not in span[len(fence) : -len(fence)].replace(fence + "`", "")


@pytest.mark.parametrize(
    ("text", "harm"),
    [
        ("@example-user", "@e"),
        ("see #12", "#1"),
        ("<b>x</b>", "<b>"),
        ("![x](https://a.b)", "!["),
        ("https://example.org", "https:"),
        ("a | b", "a | b"),
        ("www.example.org", "www."),
    ],
)
def test_prose_has_no_markup_mentions_or_links(text: str, harm: str) -> None:
    assert harm not in prose(text)


@given(st.text(alphabet="ab1_`*[]()<>!#@\\/.: &|~-", max_size=40))
def test_a_sentence_renders_as_text_and_code_alone(text: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render("x " + sentence(text) + " x")
    assert set(re.findall(r"<(/?[a-z]+)", html)) <= {"p", "/p", "code", "/code"}


@given(st.text(alphabet="ab1_`*[]()<>!#@\\/.: &|~-'=\"$", max_size=40))
def test_a_reader_sees_a_sentence_as_it_is_written(text: str) -> None:
    """No escape is shown, in a code span or outside of one, nor in the title of a fold."""
    text = " ".join(f"x {text} x".split())
    (inline,) = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(sentence(text))[1:2]
    shown = "".join(
        f"`{part.content}`" if part.type == "code_inline" else part.content
        for part in inline.children or ()
        if part.type != "html_inline"
    )
    assert shown == text
    title = re.sub(r"<!-- -->", "", summary(text))
    assert html.unescape(re.sub(r"</?code>", "`", title)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("write `training_time`, not `a<b`", "write `training_time`, not `a<b`"),
        ('add `"level" = "note"` under `[levels]`', 'add `"level" = "note"` under `[levels]`'),
        ("``x``", prose("``x``")),
        ("a`b` c", prose("a`b` c")),
        ("5` and 6`", prose("5` and 6`")),
        ("` x `", prose("` x `")),
    ],
)
def test_names_in_a_sentence_are_code(text: str, shown: str) -> None:
    assert sentence(text) == shown


def test_a_run_is_a_link_where_links_are_asked_for() -> None:
    page = "https://wandb.ai/a/b/runs/r1"
    assert sentence(f"list {page}, too", links=True) == f"list [`r1`]({page}), too"
    assert "](" not in sentence(f"list {page}, too")
    other = "https://evil.example/a/b/runs/r1"
    assert sentence(other, links=True) == prose(other)
    assert sentence(f"`/runs add {page}`", links=True) == f"`/runs add {page}`"
