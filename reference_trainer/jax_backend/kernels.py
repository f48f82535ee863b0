"""A product for Hopper that squares what the ReLU leaves, or multiplies by its slope, as it writes.

XLA reads and writes the MLP's hidden values once more for either. One program runs on each
multiprocessor; of its three warpgroups one loads and two multiply half a tile each. Shapes in
names: M rows, K summed over, N columns.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return,attr-defined"
# (JAX leaves parts of itself untyped)

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as gpu

ROWS, COLUMNS, DEPTH, STAGES = 128, 256, 64, 3  # of a tile, and loads under way
HALF = COLUMNS // 2
# How a tile lies in shared memory: as the matrix units read it, rows of 128 bytes.
LAYOUT = (gpu.TilingTransform((8, 64)), gpu.SwizzleTransform(128))


def takes(rows: int, depth: int, columns: int) -> bool:
    """Whether the kernel multiplies matrices of these sizes."""
    return rows % ROWS == 0 and depth % DEPTH == 0 and columns % COLUMNS == 0


@functools.partial(jax.jit, static_argnames="programs")  # built once for all layers
def squared_product(a_MK: Array, b_KN: Array, hidden_MN: Array | None, programs: int) -> Array:
    """Squared ReLU of a product; with the hidden values of such a one, the gradient through it."""
    arguments = (a_MK, b_KN) if hidden_MN is None else (a_MK, b_KN, hidden_MN)
    call = gpu.kernel(
        _tiles,
        out_type=jax.ShapeDtypeStruct((a_MK.shape[0], b_KN.shape[1]), a_MK.dtype),
        grid=(programs,),
        grid_names=("program",),
        num_threads=3,
        thread_name="group",
        compiler_params=gpu.CompilerParams(lowering_semantics=gpu.LoweringSemantics.Warpgroup),
    )
    return call(*arguments)


def _tiles(a: Any, b: Any, *others: Any) -> None:
    """All tiles that one program computes, row after row; all of `b` stays in the cache."""
    *hidden, out = others
    (M, K), N = a.shape, b.shape[1]

    @functools.partial(
        pl.run_scoped,
        loads=_pipeline(K, _nothing, _nothing).get_allocations(a, b),
        halves=gpu.SMEM((2, ROWS, HALF), out.dtype, transforms=LAYOUT),
        loaded=gpu.Barrier(num_barriers=2),
        collective_axes="group",
    )
    def scope(loads: Any, halves: Any, loaded: Any) -> None:
        group = lax.axis_index("group")
        half = pl.ds(group * HALF, HALF)

        def multiply(_: Any, a_tile: Any, b_tile: Any, sums: Any) -> Any:
            gpu.wgmma(sums, a_tile, b_tile.at[:, half])
            gpu.wgmma_wait(0)
            return sums

        @gpu.nd_loop((M // ROWS, N // COLUMNS), collective_axes="program")
        def tile(loop: Any) -> None:
            m, n = loop.index
            rows, columns = pl.ds(m * ROWS, ROWS), pl.ds(n * COLUMNS, COLUMNS)
            given, written = (
                [ref.at[rows, columns].at[:, half] for ref in refs] for refs in (hidden, [out])
            )
            end = functools.partial(
                _half_tile, given, written[0], halves.at[group], loaded.at[group]
            )
            run = _pipeline(K, multiply, end)
            run(a.at[rows, :], b.at[:, columns], allocations=loads)

        gpu.wait_smem_to_gmem(0)


def _half_tile(given: list[Any], out: Any, mine: Any, loaded: Any, run: Callable[..., Any]) -> None:
    """Multiply half a tile, and write what becomes of the sums."""

    @functools.partial(pl.run_scoped, sums=gpu.ACC((ROWS, HALF), jnp.float32))
    def scope(sums: Any) -> None:
        gpu.wait_smem_to_gmem(0, wait_read_only=True)  # the tile before
        for hidden in given:
            gpu.copy_gmem_to_smem(hidden, mine, loaded)
        run(sums)
        if given:
            gpu.barrier_wait(loaded)
            value = 2.0 * lax.sqrt(mine[...].astype(jnp.float32)) * sums[...]
        else:
            value = jnp.square(jnp.maximum(sums[...], 0.0))
        mine[...] = value.astype(mine.dtype)
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(mine, out)


def _pipeline(K: int, body: Callable[..., Any], context: Callable[..., Any]) -> Any:
    """Loads of tiles along K by one warpgroup, `body` for each by the others."""
    return gpu.emit_pipeline_warp_specialized(
        body,
        grid=(K // DEPTH,),
        memory_registers=40,
        in_specs=[
            gpu.BlockSpec((ROWS, DEPTH), lambda k: (0, k), transforms=LAYOUT),
            gpu.BlockSpec((DEPTH, COLUMNS), lambda k: (k, 0), transforms=LAYOUT),
        ],
        wg_axis="group",
        num_compute_wgs=2,
        max_concurrent_steps=STAGES,
        compute_context=context,
    )


def _nothing(*_: Any, **__: Any) -> None:
    """In place of functions that do not change what is allocated."""
