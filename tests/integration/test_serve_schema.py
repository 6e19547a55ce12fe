"""The API keeps to its own OpenAPI description, tried with requests made from it."""

import pytest
from hypothesis import HealthCheck, Phase, settings

schemathesis = pytest.importorskip("schemathesis")

from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from epireader.answer import Reader  # noqa: E402
from epireader.serve.app import create_app  # noqa: E402
from epireader.serve.settings import ServeSettings  # noqa: E402

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
"""All that is left out is that every well-formed question is accepted: a schema cannot say that it has one blank."""

pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
"""Said of schemathesis's own strategies."""

app = create_app(ServeSettings(), {"default": Reader.load("default")})
schema = schemathesis.openapi.from_asgi("/openapi.json", app)


@schema.parametrize()
@settings(
    max_examples=150,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_api_keeps_to_its_description(case: "schemathesis.Case") -> None:
    case.call_and_validate(checks=CHECKS)
