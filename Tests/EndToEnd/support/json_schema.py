"""Checks values by JSON Schema, and OpenAPI documents.

The packages are imported when they are first used: that takes seconds, and each of pytest's workers imports all test
files.
"""


def errors(schema: dict, value, draft: int) -> list[str]:
    """Returns the violations of a schema of this draft, 7 or 202012, each as a short text."""
    return [error.message[:300] for error in _validator(draft)(schema).iter_errors(value)]


def check_schema(schema: dict, draft: int):
    """Raises an error if the schema itself is wrong."""
    _validator(draft).check_schema(schema)


def check_openapi(document: dict):
    """Raises an error if an OpenAPI document is not valid."""
    from openapi_spec_validator import validate

    validate(document)


def _validator(draft: int):
    import jsonschema

    return {7: jsonschema.Draft7Validator, 202012: jsonschema.Draft202012Validator}[draft]
