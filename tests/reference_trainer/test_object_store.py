"""Checkpoints on an S3 server of this machine."""

from __future__ import annotations

import importlib.util
import pathlib
from collections.abc import Iterator

import pytest

from reference_trainer import checkpoint
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from reference_trainer.loop import train
from reference_trainer.outputs import Job
from reference_trainer.shards import Corpus
from reference_trainer.storage import open_folder
from tests.reference_trainer.conftest import need


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for package in ("moto", "s3fs", "boto3"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make test-full installs it")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    boto3.client("s3").create_bucket(Bucket="runs")
    yield "s3://runs/one"
    server.stop()


@pytest.mark.filterwarnings("ignore")
def test_a_run_resumes_from_s3(
    bucket: str, small: Config, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need("torch")
    import dataclasses as dc

    config = dc.replace(small, train=dc.replace(small.train, checkpoint_every=4))
    job = Job(config, corpus, tmp_path / "a", store=bucket, wandb="off", quiet=True)
    first = train(job, make_backend("torch"))
    store = open_folder(bucket)
    assert checkpoint.steps(store) == [8, 12] and store.exists("speedrun_results.json")
    store.remove("checkpoints/step-00000012")
    again = train(dc.replace(job, resume=True), make_backend("torch"))
    curves = [
        [p[:2] for p in d["runs"][0]["run_info"]["speedrun"]["validation"]] for d in (first, again)
    ]
    assert curves[0] == curves[1]
