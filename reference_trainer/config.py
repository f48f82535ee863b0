"""What is trained: model, data, optimizer, schedule, loop. One TOML file, checked on reading.

Units are in the comments beside the fields; `configs/*.toml` give the reasons for the values.
A wrong key or value raises `ConfigError` with one sentence that names it and the way out.
"""

import dataclasses as dc
import difflib
import pathlib
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any

from reference_trainer import ranges
from reference_trainer.errors import ConfigError
from reference_trainer.formulas import accounting
from reference_trainer.ranges import COUNT, MOMENTUM, RATE, SHARE, SIZE, Extra, OneOf, Range

CONFIGS = pathlib.Path(__file__).parent / "configs"


@dc.dataclass(frozen=True, slots=True)
class ModelConfig:
    """A decoder-only transformer: RMS norm before each branch, rotary positions, no biases."""

    layers: Annotated[int, SIZE]
    hidden: Annotated[int, SIZE]  # width of the residual stream
    heads: Annotated[int, SIZE]  # query heads
    intermediate: Annotated[int, SIZE]  # width of the MLP
    seq_len: Annotated[int, SIZE]  # tokens in a training sequence
    # rows of the embedding; the tokenizer's size, padded up to a multiple of 64
    vocab: Annotated[int, SIZE]
    kv_heads: Annotated[int, COUNT] = 0  # key and value heads; 0: as many as heads
    head_dim: Annotated[int, COUNT] = 0  # 0: hidden / heads
    gated: bool = True  # MLP: silu(gate) x up; false: squared ReLU
    tied: bool = False  # the output projection is the embedding
    norm_weights: bool = True  # RMS norms have a learned scale
    qk_norm: bool = False  # normalise queries and keys per head
    rope_theta: Annotated[float, Range(1, 1e12, "low")] = 10_000.0
    norm_eps: Annotated[float, Range(0, 1, "high")] = 1e-5
    init_std: Annotated[float, Range(0, 10)] = 0.02
    zero_init: bool = False  # matrices that write into the residual stream begin at zero
    # attention ends behind this id; -1: it crosses documents. data.order = "marin" fills it in
    document_end: Annotated[int, Range(-1)] = -1

    @property
    def key_value_heads(self) -> int:
        return self.kv_heads or self.heads

    @property
    def width_of_head(self) -> int:
        return self.head_dim or self.hidden // self.heads

    def transformer(self) -> accounting.Transformer:
        """The dimensions as the accounting wants them."""
        return accounting.Transformer(
            layers=self.layers,
            hidden=self.hidden,
            intermediate=self.intermediate,
            heads=self.heads,
            kv_heads=self.key_value_heads,
            head_dim=self.width_of_head,
            vocab=self.vocab,
            seq_len=self.seq_len,
            gated=self.gated,
            tied=self.tied,
            norm_weights=self.norm_weights,
            qk_norm=self.qk_norm,
        )


@dc.dataclass(frozen=True, slots=True)
class DataConfig:
    """Which tokens, in which order."""

    corpus: str  # a name of `python -m reference_trainer data --list`, or a folder with a manifest
    # score only so many tokens of the validation split; 0: all
    val_tokens: Annotated[int, COUNT] = 0
    # windows of seq_len: "shuffled" per epoch by seed, "sequential", or as Marin's: see `marin`
    order: Annotated[str, OneOf(("shuffled", "sequential", "marin"))] = "shuffled"
    paloma: bool = False  # score C4-EN of allenai/paloma too; needs HF_TOKEN and its terms accepted


@dc.dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """AdamW, or Muon for the matrices of the layers with AdamW for the rest."""

    name: Annotated[str, OneOf(("adamw", "muon"))] = "adamw"
    lr: Annotated[float, RATE] = 1e-3  # peak learning rate of AdamW
    # that of the embedding, which is the head too if they are tied; 0: lr
    embed_lr: Annotated[float, RATE] = 0.0
    beta1: Annotated[float, MOMENTUM] = 0.9
    beta2: Annotated[float, MOMENTUM] = 0.95
    eps: Annotated[float, Range(0, 1)] = 1e-8
    weight_decay: Annotated[float, RATE] = 0.1  # decoupled, on matrices only
    # bound on the global gradient norm; 0: none, saves its reduction
    clip_norm: Annotated[float, RATE] = 0.0
    muon_lr: Annotated[float, RATE] = 0.02  # peak learning rate of the orthogonalised update
    muon_momentum: Annotated[float, MOMENTUM] = 0.95
    muon_weight_decay: Annotated[float, RATE] = 0.0
    newton_schulz_steps: Annotated[int, Range(1, 100)] = 5
    # settings of an optimizer of your own: optimizer.extra.NAME
    extra: Extra = dc.field(default_factory=Extra, hash=False)


@dc.dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """Multiplier of every learning rate over the run; see `schedule`."""

    # "cosine", or "wsd": warm up, stay, decay linearly
    kind: Annotated[str, OneOf(("cosine", "wsd"))] = "cosine"
    warmup_steps: Annotated[int, COUNT] = 0
    # wsd: share of the run spent decaying
    decay_fraction: Annotated[float, Range(0, 1, "low")] = 0.4
    min_ratio: Annotated[float, SHARE] = 0.0  # where the multiplier ends


@dc.dataclass(frozen=True, slots=True)
class TrainConfig:
    """The loop."""

    steps: Annotated[int, SIZE]
    batch: Annotated[int, SIZE]  # sequences in one optimizer step, over all devices
    # sequences at a time on one device; batch is made of several of them
    micro_batch: Annotated[int, SIZE]
    eval_every: Annotated[int, COUNT] = 0  # steps between validations; 0: only before and after
    log_every: Annotated[int, SIZE] = 10  # steps between lines with the training loss
    checkpoint_every: Annotated[int, COUNT] = 0  # steps between checkpoints; 0: only when stopped
    # "auto": bf16, fp16 where there is none, fp32 on CPU. "fp8": MLP and head in 8 bits (Hopper)
    precision: Annotated[str, OneOf(("auto", "fp8", "bf16", "fp16", "fp32"))] = "auto"
    compile: bool = True  # torch.compile; JAX always compiles
    scan_layers: bool = False  # JAX: compile one layer, not all; less memory, slower on GPU
    remat: bool = False  # recompute a layer's activations in the backward pass
    # over devices: "data" (whole model on each) or "fsdp"
    sharding: Annotated[str, OneOf(("data", "fsdp"))] = "data"


@dc.dataclass(frozen=True, slots=True)
class Config:
    """One training run, all of it."""

    name: str
    description: str
    model: ModelConfig
    data: DataConfig
    train: TrainConfig
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: ScheduleConfig = ScheduleConfig()

    @property
    def tokens_per_step(self) -> int:
        return self.train.batch * self.model.seq_len

    @property
    def total_tokens(self) -> int:
        return self.tokens_per_step * self.train.steps


SECTIONS: dict[str, Any] = {
    "model": ModelConfig,
    "data": DataConfig,
    "train": TrainConfig,
    "optimizer": OptimizerConfig,
    "schedule": ScheduleConfig,
}


def scored_targets(config: Config) -> int:
    """How many targets of a training row count: all, or in Marin's order all but the last."""
    return config.model.seq_len - (config.data.order == "marin")


def config_names() -> list[str]:
    """The configurations that come with the trainer."""
    return sorted(path.stem for path in CONFIGS.glob("*.toml"))


def load_config(
    name: str,
    overrides: Mapping[str, object] | None = None,
    base: dict[str, Any] | None = None,
) -> Config:
    """Read a configuration by name or path; `overrides` maps `section.key` to text as it is typed,
    or to a value. `base` stands in for what the file says.

    Raises ConfigError.
    """
    data = _read(name) if base is None else base
    for key, value in (overrides or {}).items():
        put(data, key, _typed(value) if isinstance(value, str) else value)
    return parse_config(data, name)


def _read(name: str) -> dict[str, Any]:
    path = pathlib.Path(name) if name.endswith(".toml") else CONFIGS / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(config_names())
        raise ConfigError(f'there is no configuration "{name}"; give a .toml file or: {known}')
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} is not readable as TOML: {error}") from error


def parse_config(data: Mapping[str, Any], where: str) -> Config:
    """Check a parsed configuration. Raises ConfigError."""
    known = ("name", "description", *SECTIONS)
    _refuse_unknown(data, known, where, "")
    sections = {key: _section(key, data.get(key), where) for key in SECTIONS if key in data}
    missing = [key for key in ("model", "data", "train") if key not in sections]
    if missing:
        raise ConfigError(f"{where}: the section [{missing[0]}] is missing")
    name, description = data.get("name", where), data.get("description", "")
    if not isinstance(name, str) or not isinstance(description, str):
        raise ConfigError(f"{where}: name and description are text")
    config = Config(name=name, description=description, **sections)
    check(config)
    return config


def as_dict(config: Config) -> dict[str, Any]:
    """Plain values, for W&B and results files."""
    return dc.asdict(config)


def _typed(text: str) -> Any:
    """What is typed as a value: as TOML, or a text without quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def put(data: dict[str, Any], key: str, value: Any) -> None:
    """Set `section.key`, or `optimizer.extra.NAME`, in plain values. Raises ConfigError."""
    section, _, field = key.partition(".")
    if section not in SECTIONS or not field:
        raise ConfigError(
            f'"{key}" is not a setting; write SECTION.KEY=VALUE, such as train.steps=100'
        )
    table = data.setdefault(section, {})
    if key.startswith("optimizer.extra."):
        table = table.setdefault("extra", {})
        field = field.removeprefix("extra.")
    table[field] = value


def _section(key: str, values: Any, where: str) -> Any:
    kind = SECTIONS[key]
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: [{key}] is a table of settings")
    fields = {field.name: field for field in dc.fields(kind)}
    _refuse_unknown(values, tuple(fields), where, f"{key}.")
    checked = {}
    for name, value in values.items():
        checked[name] = ranges.typed(fields[name].type, value, f"{where}: {key}.{name}")
    missing = [
        name
        for name, field in fields.items()
        if field.default is field.default_factory is dc.MISSING and name not in values
    ]
    if missing:
        raise ConfigError(f"{where}: {key}.{missing[0]} is missing")
    return kind(**checked)


def _refuse_unknown(data: Mapping[str, Any], known: tuple[str, ...], where: str, path: str) -> None:
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}"
            raise ConfigError(f'{where}: unknown key "{path}{key}"; {hint}')


def check(config: Config) -> None:
    """Raise ConfigError unless every value is in its range and every dimension divides."""
    model, train = config.model, config.train
    for name in SECTIONS:
        ranges.check(getattr(config, name), name)
    if not model.head_dim:
        _divides(model.hidden, model.heads, "model.hidden", "model.heads")
    _divides(model.heads, model.key_value_heads, "model.heads", "model.kv_heads")
    _divides(train.batch, train.micro_batch, "train.batch", "train.micro_batch")
    if model.width_of_head % 2:
        raise ConfigError(
            f"the width of a head is {model.width_of_head}, expected an even number for rotary "
            "positions; change model.hidden or model.heads"
        )
    if model.vocab % 64:
        raise ConfigError(
            f"model.vocab is {model.vocab}, a multiple of 64 keeps matrix units busy; "
            f"write {-(-model.vocab // 64) * 64}"
        )
    if config.schedule.warmup_steps > train.steps:
        raise ConfigError(
            f"schedule.warmup_steps is {config.schedule.warmup_steps}, train.steps {train.steps}; "
            "the warm-up must end within the run"
        )


def _divides(whole: int, part: int, whole_name: str, part_name: str) -> None:
    if part < 1 or whole % part:
        raise ConfigError(
            f"{whole_name} is {whole} and {part_name} is {part}; the second must divide the first"
        )
