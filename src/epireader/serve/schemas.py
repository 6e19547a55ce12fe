"""What is sent and what comes back. Places are counted in characters (Unicode code points) of the passage."""

from pydantic import BaseModel, ConfigDict, Field

PASSAGE = "The text to read."
QUESTION = "A sentence with one blank: XXXXX, ____, [MASK] or @placeholder."
CANDIDATES = "What to choose from; without it, every word of the passage."


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Question(_Sent):
    question: str = Field(description=QUESTION, examples=["Ann fed the XXXXX."])
    candidates: list[str] | None = Field(default=None, min_length=1, description=CANDIDATES, examples=[["goat", "cow"]])


class _AboutPassage(_Sent):
    passage: str = Field(min_length=1, description=PASSAGE, examples=["Ann had a goat. The goat was hungry."])
    top: int | None = Field(
        default=None, ge=1, le=1000, description="How many answers; by default as many as the reader weighs."
    )
    model: str | None = Field(default=None, description="One of /v1/models; by default the first.", examples=[None])


class AnswerRequest(Question, _AboutPassage):
    """One question about a passage."""


class AnswersRequest(_AboutPassage):
    """Many questions about one passage."""

    questions: list[Question] = Field(min_length=1)


class ReadRequest(_Sent):
    passage: str = Field(min_length=1, description=PASSAGE, examples=["Ann had a goat."])


class Place(BaseModel):
    """The characters `passage[start:end]`."""

    start: int
    end: int


class Word(Place):
    text: str = Field(description="The word as the reader sees it (Penn Treebank).")
    sentence: int = Field(description="The number of its sentence, from 0.")


class AnswerBody(BaseModel):
    text: str
    p: float = Field(description="The Extractor's probability.")
    e: float | None = Field(description="The Reasoner's, among the hypotheses it tested; null if it did not test this.")
    pi: float = Field(description="Both taken together.")
    mentions: list[Place] = Field(description="Where it stands in the passage.")
    evidence: list[float] | None = Field(description="The Reasoner's score after each sentence; null where e is.")
    fits_blank: float | None = Field(
        description="How well it fits the words around the blank, added to the last score; null where e is, or if the reader does not ask."
    )
    read_again: float | None = Field(
        description="What reading the passage again for it adds too, 0 if it was not; null where e is, or if the reader never does."
    )


class Answered(BaseModel):
    question: str
    answers: list[AnswerBody] = Field(description="Best first.")
    attention: list[float] | None = Field(description="How much each word was looked at; one number a word.")


class ReadResponse(BaseModel):
    words: list[Word]
    sentences: list[Place]


class AnswerResponse(ReadResponse, Answered):
    model: str


class AnswersResponse(ReadResponse):
    model: str
    results: list[Answered] = Field(description="One for each question, in order.")


class ModelBody(BaseModel):
    name: str
    reader: str
    members: int = Field(description="How many networks vote.")
    hypotheses: int = Field(description="How many answers it weighs.")
    vocabulary: int = Field(description="How many words it knows.")


class ModelsResponse(BaseModel):
    models: list[ModelBody] = Field(description="The first one is the default.")


class StoryBody(BaseModel):
    name: str
    title: str
    text: str
    questions: list[str]


class StoriesResponse(BaseModel):
    stories: list[StoryBody]


class Health(BaseModel):
    status: str
    version: str
    waiting: int = Field(description="Requests in the queue.")


class ErrorBody(BaseModel):
    error: str = Field(description="What is wrong, in one sentence.")
