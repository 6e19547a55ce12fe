"""Raw text, its words and its sentences."""

from epireader.text.sentences import split_sentences
from epireader.text.tokenizer import tokenize_sentence
from epireader.text.tokens import Sentence, Token

__all__ = ["Sentence", "Token", "split_sentences", "tokenize_sentence"]
