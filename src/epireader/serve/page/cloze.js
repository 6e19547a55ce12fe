// A question out of a click, and the way back from the passage that was asked about to the story on the page.
// The server counts characters as code points, and so does this file: texts are arrays of characters.

export const BLANK = "XXXXX";
export const SENTENCES_BEFORE = 20;

/** The story as the page keeps it: its characters, its words and its sentences. */
export function makeStory(title, text, { words, sentences }) {
  return { title, text, characters: Array.from(text), words, sentences };
}

export const surface = (story, place) => story.characters.slice(place.start, place.end).join("");
export const oneLine = (text) => text.replace(/\s+/g, " ").trim();
export const canBeLeftOut = (word) => /[\p{L}\p{N}]/u.test(word.text);

const NAMED_BLANK = /(?<![\p{L}\p{N}_])(?:XXXXX|@placeholder|\[MASK\])(?![\p{L}\p{N}_])/u;
const UNDERSCORES = /(?<![\p{L}\p{N}_])_{3,}(?![\p{L}\p{N}_])/u;

/** What stands before and after the blank, by the server's rule: underscores are the blank only where no other is. */
export function aroundBlank(question) {
  const { 0: blank, index } = NAMED_BLANK.exec(question) ?? UNDERSCORES.exec(question);
  return [question.slice(0, index), question.slice(index + blank.length)];
}

/** A question about the whole story. */
export function typed(story, question, candidates) {
  const pieces = [{ start: 0, end: story.characters.length }];
  return { question, candidates, pieces, sentence: null, word: null, scope: "Asked about the whole story." };
}

/**
 * The sentence of a word with the word left out. Like the Children's Book Test, it is asked about the twenty sentences
 * before it where there are so many, and else about the rest of the story. The sentence itself is never read.
 */
export function leftOut(story, index) {
  const word = story.words[index];
  const k = word.sentence;
  const own = story.sentences[k];
  if (story.sentences.length < 2) throw new Error("Leaving a word out needs a story of at least two sentences.");
  const { characters } = story;
  const part = (start, end) => characters.slice(start, end).join("");
  const question = oneLine(`${part(own.start, word.start)}${BLANK}${part(word.end, own.end)}`);
  const early = k >= SENTENCES_BEFORE;
  const pieces = early
    ? [{ start: story.sentences[k - SENTENCES_BEFORE].start, end: story.sentences[k - 1].end }]
    : [{ start: 0, end: own.start }, { start: own.end, end: characters.length }];
  const scope = early
    ? `Asked about the ${SENTENCES_BEFORE} sentences before this one.`
    : "Asked about the rest of the story, without this sentence.";
  return { question, candidates: null, pieces, sentence: k, word: index, scope };
}

/** The passage to send: the pieces of the story on lines of their own. */
export function passageOf(story, cloze) {
  return cloze.pieces.map((piece) => surface(story, piece)).join("\n");
}

/** For each word of the passage that was read, its number in the story. */
export function wordsInStory(story, cloze, words) {
  const numbers = new Map(story.words.map((word, number) => [word.start, number]));
  return words.map((word) => numbers.get(placeInStory(cloze, word.start)) ?? null);
}

function placeInStory(cloze, place) {
  let start = 0;
  for (const piece of cloze.pieces) {
    const length = piece.end - piece.start;
    if (place < start + length) return piece.start + place - start;
    start += length + 1;
  }
  return null;
}

/** For each sentence of the passage that was read, its number in the story. */
export function sentencesInStory(story, words, inStory) {
  const numbers = [];
  words.forEach((word, n) => {
    if (inStory[n] !== null) numbers[word.sentence] ??= story.words[inStory[n]].sentence;
  });
  return numbers;
}

/**
 * By how much each sentence moved each hypothesis: the step in its score, less the mean step of all hypotheses, since
 * what they have in common decides nothing.
 */
export function moves(answers) {
  const tested = answers.filter((answer) => answer.evidence !== null);
  if (!tested.length) return answers.map(() => null);
  const steps = (answer) => answer.evidence.map((score, n) => score - (n ? answer.evidence[n - 1] : 0));
  const all = tested.map(steps);
  const mean = all[0].map((_, n) => (all.length < 2 ? 0 : all.reduce((sum, one) => sum + one[n], 0) / all.length));
  return answers.map((answer) => (answer.evidence === null ? null : steps(answer).map((step, n) => step - mean[n])));
}

/** How much better than the mean of all hypotheses each fits the blank; null where the reader does not ask that. */
export function fits(answers) {
  const known = answers.map((answer) => answer.fits_blank).filter((fit) => fit !== null);
  const mean = known.length < 2 ? 0 : known.reduce((sum, fit) => sum + fit, 0) / known.length;
  return answers.map((answer) => (answer.fits_blank === null ? null : answer.fits_blank - mean));
}

/** The sentences that moved a hypothesis most, strongest first. */
export function strongest(move, count = 3) {
  return move
    .map((amount, sentence) => ({ amount, sentence }))
    .filter(({ amount }) => Math.abs(amount) >= 0.005)
    .sort((one, other) => Math.abs(other.amount) - Math.abs(one.amount))
    .slice(0, count);
}
