"""The API from outside: what comes back, in which shape, with which headers."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import ANSWER, FLOOD, QUESTION, call, client_of, run

from epireader.answer import Reader
from epireader.data.example import BadExample
from epireader.serve.app import PAGE, create_app
from epireader.serve.guard import HEADERS
from epireader.serve.schemas import AnswerResponse, AnswersResponse, ErrorBody, ReadResponse
from epireader.serve.settings import ServeSettings
from epireader.stories import bundled_stories


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load("default")


@pytest.fixture(scope="module")
def app(reader: Reader) -> Any:
    return create_app(ServeSettings(), {"default": reader})


def test_the_right_answer_comes_first_with_its_places(app: Any, reader: Reader) -> None:
    response = call(app, "POST", "/v1/answer", {"passage": FLOOD, "question": QUESTION})
    assert response.status_code == 200
    body = AnswerResponse.model_validate_json(response.content)
    expected = reader.read(FLOOD).ask(QUESTION)
    assert body.answers[0].text == expected[0].text == ANSWER
    assert [answer.text for answer in body.answers] == [answer.text for answer in expected]
    assert body.answers[0].pi == pytest.approx(expected[0].pi, abs=1e-5)
    assert {FLOOD[place.start : place.end] for place in body.answers[0].mentions} == {ANSWER}
    assert body.attention is not None
    assert sum(body.attention) == pytest.approx(1, abs=1e-3)
    assert len(body.attention) == len(body.words)
    assert body.answers[0].evidence is not None
    assert len(body.answers[0].evidence) == len(body.sentences)
    assert all(answer.fits_blank is not None for answer in body.answers)


def test_many_questions_on_one_passage_are_answered_in_order(app: Any, reader: Reader) -> None:
    questions = [{"question": QUESTION}, {"question": "XXXXX swam behind.", "candidates": ["Ulwin", "Gaffer Dunt"]}]
    response = call(
        app, "POST", "/v1/answers", {"passage": FLOOD, "questions": questions, "top": 2, "model": "default"}
    )
    body = AnswersResponse.model_validate_json(response.content)
    assert [result.question for result in body.results] == [question["question"] for question in questions]
    assert body.results[0].answers[0].text == ANSWER
    assert {answer.text for answer in body.results[1].answers} == {"Ulwin", "Gaffer Dunt"}
    assert all(len(result.answers) == 2 for result in body.results)


def test_a_passage_is_split_into_words_and_sentences(app: Any, reader: Reader) -> None:
    text = "“Come in,” said Ann 🐐. Tom didn’t."
    body = ReadResponse.model_validate_json(call(app, "POST", "/v1/read", {"passage": text}).content)
    assert [text[word.start : word.end] for word in body.words][-4:] == ["Tom", "did", "n’t", "."]
    assert [(place.start, place.end) for place in body.sentences][-1] == (text.index("Tom"), len(text))


def test_the_models_and_stories_are_listed(app: Any) -> None:
    (model,) = call(app, "GET", "/v1/models").json()["models"]
    assert model["name"] == "default"
    assert model["hypotheses"] == 10
    assert model["vocabulary"] == 40_000
    stories = call(app, "GET", "/v1/stories").json()["stories"]
    assert {story["name"]: story["text"] for story in stories} == {n: s.text for n, s in bundled_stories().items()}


def test_health_is_told(app: Any) -> None:
    assert call(app, "GET", "/healthz").json()["status"] == "ok"


def test_requests_batches_and_questions_are_counted(reader: Reader) -> None:
    app = create_app(ServeSettings(), {"default": reader})
    for _ in range(2):
        call(app, "POST", "/v1/answer", {"passage": FLOOD, "question": QUESTION})
    call(app, "GET", "/nowhere/at/all")
    text = call(app, "GET", "/metrics").text
    assert 'epireader_requests_total{method="POST",path="/v1/answer",status="200"} 2.0' in text
    assert 'epireader_requests_total{method="GET",path="other",status="404"} 1.0' in text
    assert 'epireader_passages_total{cache="hit"} 1.0' in text
    assert "epireader_questions_total 2.0" in text
    assert "epireader_batch_requests_count 2.0" in text


WRONG = [
    ("GET", "/nowhere", None, 404, "nothing at this address"),
    ("POST", "/nowhere", {}, 404, "nothing at this address"),
    ("POST", "/v1/answer/", {}, 404, "nothing at this address"),
    ("GET", "/page/nowhere.js", None, 404, "nothing at this address"),
    ("GET", "/page/../app.py", None, 404, "nothing at this address"),
    ("GET", "/page/%2e%2e/app.py", None, 404, "nothing at this address"),
    ("DELETE", "/v1/answer", None, 405, "does not answer that method"),
    ("GET", "/v1/answer", None, 405, "does not answer that method"),
    ("POST", "/v1/models", {}, 405, "does not answer that method"),
    ("POST", "/page/style.css", {}, 405, "does not answer that method"),
    ("POST", "/v1/answer", {}, 422, "passage is missing"),
    ("POST", "/v1/answer", [], 422, "must be an object"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "no blank"}, 422, "exactly one blank"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "XXXXX and XXXXX"}, 422, "exactly one blank"),
    ("POST", "/v1/answer", {"passage": " \n ", "question": "XXXXX"}, 422, "no words"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "XXXXX", "model": "gpt"}, 422, "no model 'gpt' here"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "XXXXX", "top": 0}, 422, "top is not accepted"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "XXXXX", "top": "5"}, 422, "top must be a whole number"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "XXXXX", "candidates": "a"}, 422, "candidates must be a list"),
    ("POST", "/v1/answer", {"passage": "A.", "question": "XXXXX", "candidates": [" "]}, 422, "no candidates"),
    ("POST", "/v1/answers", {"passage": "A.", "questions": []}, 422, "questions is not accepted"),
    ("POST", "/v1/answers", {"passage": "A.", "questions": [{}]}, 422, "questions.0.question is missing"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "sentence"), WRONG)
def test_whatever_is_wrong_is_one_sentence_in_one_shape(
    app: Any, method: str, path: str, body: Any, status: int, sentence: str
) -> None:
    response = call(app, method, path, body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error"]
    assert sentence in ErrorBody.model_validate_json(response.content).error
    assert ("allow" in response.headers) == (status == 405)


def test_a_bad_question_gets_the_readers_own_sentence(app: Any, reader: Reader) -> None:
    with pytest.raises(BadExample) as error:
        reader.read(FLOOD).ask("no blank")
    response = call(app, "POST", "/v1/answer", {"passage": FLOOD, "question": "no blank"})
    assert response.json() == {"error": error.value.reason}


def test_our_own_mistake_is_a_sentence_too_and_tells_nothing(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(ServeSettings(), {"default": reader})
    monkeypatch.setattr(Reader, "read", lambda *_: 1 / 0)
    response = call(app, "POST", "/v1/answer", {"passage": "A.", "question": "XXXXX"})
    assert response.status_code == 500
    assert response.json() == {"error": "something went wrong here; it has been written down"}
    assert response.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert "ZeroDivisionError" in caplog.text


ADDRESSES = ["/", "/docs", "/openapi.json", "/page/style.css", "/page/page.js", "/healthz", "/metrics", "/v1/models"]


@pytest.mark.parametrize("path", [*ADDRESSES, "/nowhere", "/v1/answer", "/favicon.ico", "/page/nothing"])
def test_every_response_carries_the_protective_headers(app: Any, path: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        response = call(app, method, path, {} if method == "POST" else None)
        for name, value in HEADERS.items():
            assert response.headers.get_list(name) == [value]
        assert response.headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_address_is_there(app: Any, path: str) -> None:
    assert call(app, "GET", path).status_code == 200


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline() -> None:
    policy = dict(part.strip().partition(" ")[::2] for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert not {"unsafe-inline", "unsafe-eval", "*", "http:", "https:"} & set(" ".join(policy.values()).split())


FILES = sorted(path for path in PAGE.iterdir() if path.suffix in (".html", ".js", ".css"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_of_the_page_names_another_host_or_makes_html_of_text(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", text)) - {"www.w3.org"}
    assert not hosts
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser", text)
    if path.suffix == ".html":
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_of_the_page_stay_readable(path: Any) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_the_docs_describe_every_address_of_the_api(app: Any) -> None:
    paths = call(app, "GET", "/openapi.json").json()["paths"]
    assert set(paths) == {"/v1/answer", "/v1/answers", "/v1/read", "/v1/models", "/v1/stories", "/healthz"}
    assert "HTTPValidationError" not in json.dumps(paths)


def test_the_example_in_the_docs_is_what_the_bundled_model_answers(app: Any) -> None:
    page = (Path(__file__).parents[2] / "docs/serving.md").read_text(encoding="utf-8")
    sent, shown = (
        json.loads(text) for text in re.findall(r"(?:-d '|```json\n)(\{.*?\})(?:'\n|\n)```", page, re.DOTALL)
    )
    given = call(app, "POST", "/v1/answer", sent).json()
    (answer,), (as_shown,) = given.pop("answers"), shown.pop("answers")
    assert answer.pop("evidence") == pytest.approx(as_shown.pop("evidence"), abs=0.01)
    assert answer.pop("mentions") == as_shown.pop("mentions")
    assert answer == pytest.approx(as_shown, abs=0.01)
    for name in ("attention", "words"):
        assert shown.pop(name) == [pytest.approx(given.pop(name)[0], abs=0.01), "..."]
    assert given == shown


def test_requests_at_the_same_time_do_not_mix(app: Any) -> None:
    stories = list(bundled_stories().values())

    async def ask_all() -> list[httpx.Response]:
        import asyncio

        async with client_of(app) as client:
            requests = [
                client.post(
                    "/v1/answer", json={"passage": stories[n % len(stories)].text, "question": f"XXXXX {n}.", "top": 1}
                )
                for n in range(40)
            ]
            return await asyncio.gather(*requests)

    for n, response in enumerate(run(ask_all())):
        body = response.json()
        assert body["question"] == f"XXXXX {n}."
        text = stories[n % len(stories)].text
        place = body["answers"][0]["mentions"][0]
        assert text[place["start"] : place["end"]] == body["answers"][0]["text"]
