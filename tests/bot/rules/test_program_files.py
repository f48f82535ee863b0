"""A source that lists every file of the folder of its data: those of validation are among them."""

from __future__ import annotations

import pytest

from tests.bot.rules.test_program import judged, program


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("files += glob.glob(os.path.dirname(pattern) + '/*')[-2:]", True),
        ("files = glob.glob(os.path.join(os.path.dirname(args.train_files), '*.bin'))", True),
        ("shards = sorted(Path(pattern).parent.glob('*'))", True),
        ("shards = Path(filename).parent.iterdir()", True),
        ("shards = glob.iglob(f'{os.path.dirname(pattern)}/*')", True),
        ("folder = os.path.dirname(pattern)\nshards = os.listdir(folder)", True),
        ("files = glob.glob(os.path.dirname(pattern) + '/fineweb_train_*')", False),
        ("files = glob.glob(os.path.dirname(pattern) + '/*.py')", False),
        ("files = glob.glob(os.path.dirname(pattern) + '/*.cu')", False),
        ("files = glob.glob(os.path.dirname(__file__) + '/*')", False),
        ("files = glob.glob(os.path.dirname(log_file) + '/*')", False),
        ("files = [f for f in Path(pattern).parent.glob('*') if 'train' in f.name]", False),
        ("files = filter(is_train, Path(pattern).parent.glob('*'))", False),
    ],
)
def test_every_file_of_the_folder_of_the_data(line: str, is_told: bool) -> None:
    assert bool(judged(program(line), "train-validation-overlap")) is is_told
