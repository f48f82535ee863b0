"""Whether an answer holds every field that its query selects: keeps the double honest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import parse
from graphql.language import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionSetNode,
)


def missing_fields(query: str, data: Any) -> list[str]:
    """Paths of the fields that `query` selects and `data` lacks."""
    document = parse(query)
    fragments = {
        node.name.value: node.selection_set
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    selected = next(n for n in document.definitions if isinstance(n, OperationDefinitionNode))
    return list(_missing(selected.selection_set, data, fragments, ""))


def _missing(
    wanted: SelectionSetNode, data: Any, fragments: Mapping[str, SelectionSetNode], path: str
) -> Iterator[str]:
    if data is None:
        return
    if isinstance(data, list):
        for item in data:
            yield from _missing(wanted, item, fragments, path)
        return
    for node in wanted.selections:
        if isinstance(node, FragmentSpreadNode):
            yield from _missing(fragments[node.name.value], data, fragments, path)
        elif isinstance(node, FieldNode):
            name = (node.alias or node.name).value
            if name not in data:
                yield f"{path}.{name}".lstrip(".")
            elif node.selection_set is not None:
                yield from _missing(node.selection_set, data[name], fragments, f"{path}.{name}")
