"""Names, shapes and first values of the parameters: the same for both backends.

Matrices are (out, in), as torch keeps them. One flat mapping from names such as `embed` or
`layers.3.wq` to arrays is also the form of checkpoints, so that either backend reads them.
"""

import numpy as np

from reference_trainer.config import ModelConfig, OptimizerConfig


def shapes(model: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every parameter's shape, in the order of use."""
    width = model.heads * model.width_of_head
    kv_width = model.key_value_heads * model.width_of_head
    out: dict[str, tuple[int, ...]] = {"embed": (model.vocab, model.hidden)}
    for i in range(model.layers):
        layer: dict[str, tuple[int, ...]] = {
            "wq": (width, model.hidden),
            "wk": (kv_width, model.hidden),
            "wv": (kv_width, model.hidden),
            "wo": (model.hidden, width),
            "w_up": (model.intermediate, model.hidden),
            "w_down": (model.hidden, model.intermediate),
        }
        if model.gated:
            layer["w_gate"] = (model.intermediate, model.hidden)
        if model.norm_weights:
            layer["attention_norm"] = layer["mlp_norm"] = (model.hidden,)
        if model.norm_weights and model.qk_norm:
            layer["q_norm"] = layer["k_norm"] = (model.width_of_head,)
        out.update({f"layers.{i}.{name}": shape for name, shape in layer.items()})
    if model.norm_weights:
        out["norm"] = (model.hidden,)
    if not model.tied:
        out["head"] = (model.vocab, model.hidden)
    return out


def initial_values(model: ModelConfig, seed: int) -> dict[str, np.ndarray]:
    """float32 arrays: norms 1, matrices normal with `init_std`, the two that write into the
    residual stream narrower by sqrt(2 layers), as in GPT-2, or zero. Depends on nothing but the
    seed."""
    values = {}
    for index, (name, shape) in enumerate(shapes(model).items()):
        if name.endswith("norm"):
            values[name] = np.ones(shape, np.float32)
            continue
        residual = name.endswith((".wo", ".w_down"))
        if residual and model.zero_init:
            values[name] = np.zeros(shape, np.float32)
            continue
        std = model.init_std / (2 * model.layers) ** 0.5 if residual else model.init_std
        rng = np.random.Generator(np.random.Philox(key=[seed, index]))
        values[name] = rng.standard_normal(shape, np.float32) * np.float32(std)
    return values


def is_matrix_of_layer(name: str, ndim: int) -> bool:
    """Whether Muon updates this parameter: the matrices of the layers, not embedding or head."""
    return ndim == 2 and name.startswith("layers.")


def adamw_rate(config: OptimizerConfig, name: str) -> float:
    """The peak learning rate of a parameter that AdamW updates."""
    return config.embed_lr if name == "embed" and config.embed_lr else config.lr
