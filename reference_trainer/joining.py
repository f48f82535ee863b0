"""How a process joins the others of its cluster, in the backend's own way."""

from reference_trainer.distributed import JOINED, Group, detect


def join(backend: str, mode: str) -> Group:
    """The group of this process in the backend's own cluster. Raises TrainerError."""
    cluster = detect(mode)
    if backend == "torch":
        from reference_trainer.torch_backend import cluster as torch_cluster

        group = Group() if mode == "off" else torch_cluster.join(cluster)
    else:
        from reference_trainer.jax_backend import cluster as jax_cluster

        group = jax_cluster.join(cluster, mode)
    if group.processes > 1:
        JOINED.append(group.processes)
    return group
