"""Header values and mirrored arguments (basic/transports/streamable-http)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.headers import InvalidToolHeader, decode, encode, header_plan, param_headers
from mcpdesk.mcp.limits import MAX_SCHEMA_PARTS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_a_value_is_encoded_as_the_specification_shows(text: str, value: str) -> None:
    assert encode(text) == value


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_every_text_survives_encoding_and_fits_into_a_header(text: str) -> None:
    value = encode(text)
    assert decode(value) == text
    assert value == value.strip()
    assert all(char == "\t" or " " <= char <= "~" for char in value)


def test_what_only_claims_to_be_base64_decodes_to_nothing() -> None:
    assert decode("=?base64?%%%?=") is None
    assert decode("=?base64?/w==?=") is None


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _mirrored(name: Any = "Region", kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def test_annotated_arguments_are_mirrored_also_from_nested_objects() -> None:
    nested = _schema(flag=_mirrored("Flag", "boolean"))
    plan = header_plan(_schema(region=_mirrored(), n=_mirrored("N", "integer"), deep=nested))
    found = param_headers(plan, {"region": "eu", "n": -7, "deep": {"flag": False}, "other": 1})
    assert found == [
        ("Mcp-Param-Region", "eu"),
        ("Mcp-Param-N", "-7"),
        ("Mcp-Param-Flag", "false"),
    ]


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": ["a list"]}, {"x": 1}])
def test_an_argument_that_is_absent_or_null_has_no_header(arguments: dict[str, Any]) -> None:
    assert param_headers(header_plan(_schema(region=_mirrored())), arguments) == []


@pytest.mark.parametrize(
    "name", ["", "My Region", "Region:Primary", "Région", "Region\t1", 5, None]
)
def test_a_name_that_is_no_token_is_refused(name: Any) -> None:
    with pytest.raises(InvalidToolHeader):
        header_plan(_schema(value=_mirrored(name)))


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", ["string", "null"], None])
def test_only_integer_string_and_boolean_may_be_mirrored(kind: Any) -> None:
    with pytest.raises(InvalidToolHeader):
        header_plan(_schema(value=_mirrored(kind=kind)))


def test_two_names_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(InvalidToolHeader):
        header_plan(_schema(a=_mirrored("MyField"), b=_mirrored("myfield")))


@pytest.mark.parametrize(
    "schema",
    [
        _mirrored(),
        _schema(a={"type": "array", "items": _mirrored()}),
        {"oneOf": [_schema(a=_mirrored())]},
        {"if": _schema(a=_mirrored())},
        {"$defs": {"region": _mirrored()}},
        {"additionalProperties": _mirrored()},
        {"patternProperties": {"^x": _mirrored()}},
    ],
)
def test_an_annotation_that_properties_alone_do_not_reach_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidToolHeader):
        header_plan(schema)


@pytest.mark.parametrize(
    "schema",
    [
        _schema(**{"x-mcp-header": {"type": "string"}}),
        _schema(a={"type": "object", "default": {"x-mcp-header": ""}}),
        _schema(a={"enum": [{"x-mcp-header": ""}]}),
    ],
)
def test_data_that_looks_like_an_annotation_is_none(schema: dict[str, Any]) -> None:
    assert header_plan(schema) == ()


def test_a_huge_schema_costs_nothing_unless_it_asks_for_a_header() -> None:
    """Where nothing is asked for, nothing is searched; where something is, not without end."""
    huge = {f"p{number}": {"type": "string"} for number in range(MAX_SCHEMA_PARTS)}
    assert header_plan(_schema(**huge)) == ()
    asking = {"region": {"type": "string", "x-mcp-header": "Region"}}
    with pytest.raises(InvalidToolHeader, match="too big to be searched"):
        header_plan(_schema(**huge, **asking))
    fewer = dict(list(huge.items())[:1000])
    assert [param.path for param in header_plan(_schema(**fewer, **asking))] == [("region",)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["properties", "items", "oneOf", "x-mcp-header", "type", "$defs", "a"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    ).filter(lambda value: isinstance(value, dict))
)
def test_any_schema_gives_a_plan_or_is_refused(schema: Any) -> None:
    try:
        plan = header_plan(schema)
    except InvalidToolHeader as invalid:
        assert invalid.reason
    else:
        assert len({param.header.lower() for param in plan}) == len(plan)
