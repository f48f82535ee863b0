"""A GitHub for tests: real git objects, GitHub's own API description as the judge of shapes.

    with GitHubDouble() as github:
        github.add_user("example-user")
        repo = github.add_repo("org/speedrun")
        ...
        client = Github(base_url=github.url, ...)

`github.violations` must be empty at the end of a test: it lists every request or answer that
GitHub's OpenAPI description does not allow.
"""

from tests.doubles.github.faults import Fault
from tests.doubles.github.server import GitHubDouble
from tests.doubles.github.world import Token

__all__ = ["Fault", "GitHubDouble", "Token"]
