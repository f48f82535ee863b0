"""The double's objects as GitHub's JSON (what the description requires beyond is filled in)."""

from __future__ import annotations

import datetime
import urllib.parse
from typing import Any

from tests.doubles.github import git
from tests.doubles.github.world import Issue, Pull, Repo, World

STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "T": "changed"}


def later(time: str, seconds: int) -> str:
    """A time stamp of the API some seconds later."""
    moment = datetime.datetime.fromisoformat(time) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Shapes:
    def __init__(self, world: World, base: str):
        self.world = world
        self.base = base

    def user(self, login: str | None) -> dict[str, Any] | None:
        if login is None:  # an account that was deleted
            return None
        kind = "Bot" if login.endswith("[bot]") else self.world.users.get(login, "User")
        names = sorted(self.world.users)
        identity = names.index(login) + 1 if login in names else 9
        return {"login": login, "id": identity, "type": kind, "url": f"{self.base}/users/{login}"}

    def url(self, repo: Repo, rest: str = "") -> str:
        return f"{self.base}/repos/{repo.name}{rest}"

    def html(self, repo: Repo, rest: str = "") -> str:
        return f"https://github.com/{repo.name}{rest}"

    def repo(self, repo: Repo) -> dict[str, Any]:
        owner, name = repo.name.split("/")
        return {
            "id": repo.id,
            "name": name,
            "full_name": repo.name,
            "owner": self.user(owner),
            "url": self.url(repo),
            "html_url": self.html(repo),
            "fork": repo.fork_of is not None,
            "default_branch": repo.default_branch,
            "private": repo.private,
            "has_pages": "pages" in repo.settings,
            **{k: repo.settings[k] for k in ("allow_forking",) if k in repo.settings},
        }

    def pull(self, repo: Repo, pull: Pull) -> dict[str, Any]:
        head = self.world.repos.get(pull.head_repo)
        owner = pull.head_repo.split("/")[0]
        issue = repo.issues[pull.number]
        return {
            "id": repo.id * 1000 + pull.number,
            "number": pull.number,
            "state": pull.state,
            "title": issue.title,
            "body": issue.body,
            "user": self.user(pull.user),
            "url": self.url(repo, f"/pulls/{pull.number}"),
            "html_url": self.html(repo, f"/pull/{pull.number}"),
            "issue_url": self.url(repo, f"/issues/{pull.number}"),
            "draft": pull.draft,
            "head": {
                "label": f"{owner}:{pull.head_branch}",
                "ref": pull.head_branch,
                "sha": pull.head_sha,
                "repo": self.repo(head) if head else None,
                "user": self.user(owner),
            },
            "base": {
                "label": pull.base,
                "ref": pull.base,
                "sha": self.world.branch(repo, pull.base) or pull.base_sha,
                "repo": self.repo(repo),
                "user": self.user(repo.name.split("/")[0]),
            },
            "review_comments": sum(c["number"] == pull.number for c in repo.reviewed.values()),
            "changed_files": pull.pretend_count or len(self.files(repo, pull)),
            "labels": [self.label(repo, name) for name in issue.labels],
            "requested_reviewers": [self.user(login) for login in pull.reviewers],
            "merged": pull.merged,
            "merged_at": "2026-01-01T00:00:00Z" if pull.merged else None,
            "merge_commit_sha": pull.merge_sha,
            "maintainer_can_modify": pull.maintainer_can_modify,
            "author_association": self.association(repo, pull.user),
            "mergeable": True,
            "created_at": pull.created_at,
            "updated_at": later(pull.created_at, pull.pushes),
        }

    def association(self, repo: Repo, login: str) -> str:
        level = self.world.level(repo, login)
        return {"admin": "OWNER", "write": "COLLABORATOR"}.get(level, "NONE")

    def files(self, repo: Repo, pull: Pull) -> list[dict[str, Any]]:
        """Changed files against the merge base, renames detected, as GitHub lists them."""
        if pull.pretend_files is not None:
            return pull.pretend_files
        main = None if pull.merged else self.world.branch(repo, pull.base)
        base = git.merge_base(repo.directory, main or pull.base_sha, pull.head_sha)
        raw = git.diff(repo.directory, "--raw", "-z", "--no-abbrev", "-M", base, pull.head_sha)
        words = raw.decode("utf-8", "surrogateescape").split("\0")
        files, at = [], 0
        while at < len(words) - 1:
            sha, letter = words[at].split()[3:5]
            renamed = letter[0] == "R"
            path = words[at + 2] if renamed else words[at + 1]
            quoted = urllib.parse.quote(path, errors="surrogateescape")
            entry = {
                "sha": sha,
                "filename": path,
                "status": STATUS[letter[0]],
                "additions": 1,
                "deletions": 0,
                "changes": 1,
                "contents_url": self.url(repo, f"/contents/{quoted}?ref={pull.head_sha}"),
            }
            if renamed:
                entry["previous_filename"] = words[at + 1]
            files.append(entry)
            at += 3 if renamed else 2
        return files

    def label(self, repo: Repo, name: str) -> dict[str, Any]:
        known = repo.labels.get(name, {})
        return {
            "id": 1,
            "name": name,
            "color": known.get("color", "ededed"),
            "description": known.get("description") or "",
            "default": False,
            "url": self.url(repo, f"/labels/{urllib.parse.quote(name)}"),
        }

    def issue(self, repo: Repo, issue: Issue) -> dict[str, Any]:
        shape = {
            "id": repo.id * 1000 + issue.number,
            "number": issue.number,
            "title": issue.title,
            "body": issue.body,
            "state": issue.state,
            "user": self.user(issue.user),
            "labels": [self.label(repo, name) for name in issue.labels],
            "author_association": self.association(repo, issue.user),
            "url": self.url(repo, f"/issues/{issue.number}"),
            "html_url": self.html(repo, f"/issues/{issue.number}"),
            "comments": sum(c["number"] == issue.number for c in repo.comments.values()),
            "created_at": issue.created_at,
            "updated_at": issue.created_at,
        }
        if issue.number in repo.pulls:
            url = self.url(repo, f"/pulls/{issue.number}")
            page = self.html(repo, f"/pull/{issue.number}")
            shape["html_url"] = page
            shape["pull_request"] = {
                "url": url,
                "html_url": page,
                "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch",
            }
        return shape

    def comment(self, repo: Repo, comment: dict[str, Any]) -> dict[str, Any]:
        identity = comment["id"]
        kind = "pull" if comment["number"] in repo.pulls else "issues"
        page = self.html(repo, f"/{kind}/{comment['number']}#issuecomment-{identity}")
        return {
            "id": identity,
            "body": comment["body"],
            "user": self.user(comment["user"]),
            "url": self.url(repo, f"/issues/comments/{identity}"),
            "html_url": page,
            "issue_url": self.url(repo, f"/issues/{comment['number']}"),
            "author_association": self.association(repo, comment["user"]),
            "created_at": comment["created_at"],
            "updated_at": comment["updated_at"],
        }

    def check(self, repo: Repo, check: dict[str, Any]) -> dict[str, Any]:
        output = check.get("output") or {}
        url = self.url(repo, f"/check-runs/{check['id']}")
        done = check.get("status") == "completed"
        return {
            "id": check["id"],
            "name": check["name"],
            "head_sha": check["head_sha"],
            "status": check.get("status", "queued"),
            "conclusion": check.get("conclusion"),
            "external_id": check.get("external_id"),
            "url": url,
            "html_url": self.html(repo, f"/runs/{check['id']}"),
            "started_at": "2026-01-01T00:00:00Z",
            "completed_at": "2026-01-01T00:00:00Z" if done else None,
            "output": {
                "title": output.get("title"),
                "summary": output.get("summary"),
                "text": output.get("text"),
                "annotations_count": len(check["annotations"]),
                "annotations_url": f"{url}/annotations",
            },
            # PyGithub fails on null here, though the description allows it
            "check_suite": {"id": 1},
            "app": check["app"] and {"slug": check["app"], "name": check["app"], "id": 1},
            "pull_requests": [],
        }

    def commit(self, repo: Repo, sha: str) -> dict[str, Any]:
        """The git commit object (of /git/commits)."""
        directory = repo.directory
        who = {"name": "example-user", "email": "a@b.example", "date": "2026-01-01T00:00:00Z"}
        commit = git.commit(directory, sha)
        parents, tree = [p.decode() for p in commit.parents], commit.tree.decode()
        return {
            "sha": sha,
            "url": self.url(repo, f"/git/commits/{sha}"),
            "html_url": self.html(repo, f"/commit/{sha}"),
            "message": commit.message.decode("utf-8", "surrogateescape").strip(),
            "tree": {"sha": tree, "url": self.url(repo, f"/git/trees/{tree}")},
            "parents": [
                {"sha": p, "url": self.url(repo, f"/git/commits/{p}"), "html_url": self.html(repo)}
                for p in parents
            ],
            "author": who,
            "committer": who,
        }

    def commit_page(self, repo: Repo, sha: str) -> dict[str, Any]:
        """The commit as /commits shows it."""
        plain = self.commit(repo, sha)
        inner = {key: plain[key] for key in ("message", "tree", "url", "author", "committer")}
        return {
            "sha": sha,
            "url": self.url(repo, f"/commits/{sha}"),
            "html_url": plain["html_url"],
            "commit": inner,
            "parents": plain["parents"],
            "author": None,
            "committer": None,
        }
