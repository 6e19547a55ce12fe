// The page: what is chosen, what is asked, and what is shown of the answer.

import * as api from "./api.js";
import { Answers, ranked, reveal } from "./answers.js";
import { fits, leftOut, makeStory, moves, passageOf, sentencesInStory, typed, wordsInStory } from "./cloze.js";
import { byId, make, scrollTo } from "./dom.js";
import { Passage } from "./passage.js";
import { fromFragment, toFragment } from "./state.js";
import { startTheme } from "./theme.js";
import { Threads } from "./threads.js";

const OWN = "own";
const SHOWN = {
  story: "flood-at-elder-bank",
  question:
    '"You may not touch one of us before the grass is dry," said XXXXX to the owl, and she trembled for her babies.',
};
const NO_STORY = makeStory("", "", { words: [], sentences: [] });
const OVERTAKEN = new Error("Something else was asked for meanwhile.");
const page = { stories: [], story: NO_STORY, name: null, told: null, asking: 0 };

const passage = new Passage((index) => guarded(() => ask(leftOut(page.story, index))));
const threads = new Threads();
const answers = new Answers({ onChoose: choose, onSentence: showSentence });

/** Run something that may fail; a failure becomes a sentence under the question. */
async function guarded(action) {
  byId("problem").textContent = "";
  byId("question").removeAttribute("aria-invalid");
  try {
    await action();
  } catch (error) {
    if (error === OVERTAKEN) return;
    byId("problem").textContent = error.message;
    byId("status").textContent = "";
    byId("reading").removeAttribute("aria-busy");
  }
}

/** What a request brings, or why it failed. Whatever comes after something else was asked for is OVERTAKEN. */
async function latest(request) {
  const ticket = ++page.asking;
  const [brought] = await Promise.allSettled([request]);
  if (ticket !== page.asking) throw OVERTAKEN;
  if (brought.status === "rejected") throw brought.reason;
  return brought.value;
}

async function openStory(name, ownText = "") {
  const bundled = page.stories.find((story) => story.name === name);
  byId("story").value = bundled ? name : OWN;
  byId("own").hidden = Boolean(bundled);
  listQuestions(bundled?.questions ?? []);
  page.name = bundled ? name : OWN;
  if (!bundled) byId("text").value = ownText;
  const { title, text } = bundled ?? { title: "Your own text", text: ownText };
  byId("title").textContent = title;
  forget();
  if (text.trim()) {
    page.story = makeStory(title, text, await latest(api.read(text)));
    passage.show(page.story);
  }
  remember();
}

/** Nothing is read or asked any more; what is still under way is overtaken. */
function forget() {
  page.told = null;
  page.asking += 1;
  page.story = NO_STORY;
  answers.clear();
  threads.clear();
  passage.show(NO_STORY);
  byId("status").textContent = "";
  byId("reading").removeAttribute("aria-busy");
}

function listQuestions(questions) {
  const options = questions.map((question) => make("option", { text: question, attributes: { value: question } }));
  byId("try").replaceChildren(make("option", { text: "Choose one…", attributes: { value: "" } }), ...options);
  byId("try").parentElement.hidden = !questions.length;
}

async function ask(cloze) {
  if (page.story === NO_STORY) throw new Error("There is no story yet: choose one, or paste one and let it be read.");
  byId("question").value = cloze.question;
  byId("candidates").value = cloze.candidates?.join(", ") ?? "";
  byId("status").textContent = "Reading…";
  byId("reading").setAttribute("aria-busy", "true");
  const request = { passage: passageOf(page.story, cloze), question: cloze.question, model: byId("model").value || null };
  if (cloze.candidates) request.candidates = cloze.candidates;
  const answered = await latest(api.answer(request));
  byId("reading").removeAttribute("aria-busy");
  page.told = tell(page.story, cloze, answered);
  show();
  reveal(byId("answers"));
}

/** Everything that is shown of an answered question, in terms of the story on the page. */
function tell(story, cloze, answered) {
  const inStory = wordsInStory(story, cloze, answered.words);
  const expected = cloze.word === null ? null : story.words[cloze.word].text;
  return {
    story,
    cloze,
    answers: answered.answers,
    attention: new Map((answered.attention ?? []).map((weight, n) => [inStory[n], weight])),
    places: new Map(answered.words.map((word, n) => [word.start, inStory[n]])),
    sentences: sentencesInStory(story, answered.words, inStory),
    moves: moves(answered.answers),
    fits: fits(answered.answers),
    reasoned: answered.answers.some((answer) => answer.e !== null),
    expected,
    findable: answered.words.some((word) => word.text === expected),
    alone: false,
    chosen: 0,
  };
}

function show() {
  const { told } = page;
  told.alone = told.reasoned && byId("alone").checked;
  told.chosen = ranked(told)[0];
  answers.show(told);
  choose(told.chosen);
  byId("status").textContent = byId("verdict").textContent;
  remember();
}

function choose(n) {
  const { told } = page;
  const shown = answers.choose(n);
  const mentioned = told.answers[n].mentions.map((place) => [told.places.get(place.start), true]);
  passage.explain({
    attention: told.attention,
    cloze: told.cloze,
    read: new Set(told.sentences),
    answers: new Map(mentioned),
  });
  const links = shown.map(({ amount, sentence }) => ({ amount, parts: passage.sentenceParts(told.sentences[sentence]) }));
  threads.show(answers.card(n), links);
}

function showSentence(number) {
  const [first] = passage.sentenceParts(number);
  if (!first) return;
  scrollTo(first, "center");
  first.classList.add("found");
  setTimeout(() => first.classList.remove("found"), 1600);
}

async function showOne() {
  if (page.name !== SHOWN.story) await openStory(SHOWN.story);
  await ask(typed(page.story, SHOWN.question, null));
}

function askTyped() {
  const question = byId("question").value.trim();
  const given = byId("candidates").value.split(",").map((word) => word.trim()).filter(Boolean);
  if (!question) {
    byId("question").focus();
    throw new Error("Type a question with XXXXX for the missing word, or click a word in the story.");
  }
  return ask(typed(page.story, question, given.length ? given : null)).catch((error) => {
    if (error.refused) byId("question").setAttribute("aria-invalid", "true");
    throw error;
  });
}

function remember() {
  const cloze = page.told?.cloze;
  const byClick = cloze && cloze.word !== null;
  const fragment = toFragment({
    story: page.name === OWN ? null : page.name,
    text: page.name === OWN ? page.story.text : null,
    word: byClick ? cloze.word : null,
    question: cloze && !byClick ? cloze.question : null,
    candidates: cloze?.candidates?.join(", "),
    model: byId("model").selectedIndex > 0 ? byId("model").value : null,
    alone: byId("alone").checked ? "1" : null,
  });
  page.shareable = fragment !== null;
  const address = new URL(location.href);
  address.hash = fragment ?? "";
  history.replaceState(null, "", address);
}

/** Show what an address says. */
async function restore() {
  const state = fromFragment(location.hash);
  byId("alone").checked = state.alone === "1";
  if (state.model) byId("model").value = state.model;
  if (!byId("model").value) byId("model").selectedIndex = 0;
  byId("question").value = "";
  byId("candidates").value = "";
  const known = page.stories.some((story) => story.name === state.story);
  await openStory(state.text ? OWN : known ? state.story : SHOWN.story, state.text);
  if (state.word !== undefined && passage.words[state.word]) {
    passage.aim(state.word);
    await ask(leftOut(page.story, state.word));
  } else if (state.question) {
    byId("question").value = state.question;
    byId("candidates").value = state.candidates ?? "";
    await askTyped();
  }
}

async function share() {
  if (!page.shareable) throw new Error("This text is too long to be carried by a link; share a bundled story instead.");
  try {
    await navigator.clipboard.writeText(location.href);
    byId("share").textContent = "Copied";
    byId("status").textContent = "The link has been copied.";
  } catch {
    byId("share").textContent = "In the address bar";
  }
  setTimeout(() => (byId("share").textContent = "Copy link"), 2000);
}

function listen() {
  byId("story").addEventListener("change", (event) => guarded(() => openStory(event.target.value, byId("text").value)));
  byId("read").addEventListener("click", () => guarded(() => openStory(OWN, byId("text").value)));
  byId("model").addEventListener("change", () => guarded(() => page.told && ask(page.told.cloze)));
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(askTyped);
  });
  byId("try").addEventListener("change", (event) => {
    const question = event.target.value;
    if (question) guarded(() => ask(typed(page.story, question, null)));
    event.target.value = "";
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address says what is shown
    passage.focus(passage.current);
  });
  byId("show-me").addEventListener("click", () => guarded(showOne));
  byId("alone").addEventListener("change", () => page.told && show());
  byId("share").addEventListener("click", () => guarded(share));
  addEventListener("hashchange", () => guarded(restore));
}

async function start() {
  startTheme();
  const [stories, models] = await Promise.all([api.stories(), api.models()]);
  page.stories = stories;
  const options = [...stories.map(({ name, title }) => [name, title]), [OWN, "Your own text…"]];
  byId("story").replaceChildren(...options.map(([value, text]) => make("option", { text, attributes: { value } })));
  byId("model").replaceChildren(...models.map(({ name }) => make("option", { text: name, attributes: { value: name } })));
  byId("model-field").hidden = models.length < 2;
  listen();
  await guarded(restore);
  document.documentElement.dataset.ready = "true";
}

guarded(start);
