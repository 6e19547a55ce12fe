// The hypotheses: three bars each, and for the chosen one the sentences that moved it.

import { aroundBlank, oneLine, strongest, surface } from "./cloze.js";
import { byId, make, percent, scrollTo } from "./dom.js";

const BARS = [["p", "Extractor"], ["e", "Reasoner"], ["pi", "Both"]];
const ONE_BAR = [["pi", "Reader"]]; // of a reader that has no Reasoner

export class Answers {
  constructor({ onChoose, onSentence }) {
    this.list = byId("hypotheses");
    this.onChoose = onChoose;
    this.onSentence = onSentence;
  }

  /** `told` is what `page.js` knows of the answered question. */
  show(told) {
    byId("empty").hidden = true;
    byId("result").hidden = false;
    this.told = told;
    this.list.replaceChildren(...ranked(told).map((n, rank) => this.item(n, rank)));
    this.list.classList.toggle("alone", told.alone);
    byId("toggle").hidden = !told.reasoned;
    this.say();
    this.choose(told.chosen);
  }

  clear() {
    byId("empty").hidden = false;
    byId("result").hidden = true;
    this.told = null;
  }

  item(n, rank) {
    const answer = this.told.answers[n];
    const bars = (this.told.reasoned ? BARS : ONE_BAR).map(([key, name]) => bar(key, name, answer[key]));
    const button = make("button", {
      cls: "hypothesis-card",
      attributes: { type: "button", "data-hypothesis": n },
      children: [
        make("span", { cls: "rank", text: `${rank + 1}` }),
        make("span", { cls: "candidate", text: answer.text }),
        make("span", { cls: "bars", children: bars }),
      ],
    });
    button.addEventListener("click", () => this.onChoose(n));
    return make("li", { children: [button] });
  }

  say() {
    const { told } = this;
    const best = told.answers[ranked(told)[0]];
    byId("verdict").replaceChildren(...verdict(told, best));
    byId("scope").textContent = told.cloze.scope;
    const alone = told.answers[byKey(told.answers, "p")[0]];
    const same = alone === told.answers[0];
    byId("alone-says").textContent = told.alone
      ? same ? "The Reasoner would not have changed the answer." : `With the Reasoner the answer is “${told.answers[0].text}”.`
      : same ? "It would have said the same." : `It would have said “${alone.text}” (${percent(alone.p)}).`;
  }

  /** Show one hypothesis in the question, and what moved it. */
  choose(n) {
    this.told.chosen = n;
    const answer = this.told.answers[n];
    for (const card of this.list.querySelectorAll("button")) {
      card.setAttribute("aria-pressed", String(Number(card.dataset.hypothesis) === n));
    }
    byId("asked").replaceChildren(...filledIn(this.told.cloze.question, answer.text));
    const shown = this.told.alone || this.told.moves[n] === null ? [] : strongest(this.told.moves[n]);
    const fit = this.told.alone ? null : this.told.fits[n];
    const again = this.told.alone ? null : answer.read_again || null; // 0: it was not read again for this one
    byId("evidence").hidden = !shown.length && fit === null && again === null;
    byId("evidence-title").textContent = `What moved “${answer.text}”`;
    byId("moves").replaceChildren(...shown.map((move) => this.moveItem(move)));
    say("fit", fit, `fits the blank ${fit > 0 ? "better" : "worse"} than the others on average`);
    say("again", again, `the passage, read again with it in mind, speaks ${again > 0 ? "for" : "against"} it`);
    return shown;
  }

  moveItem({ amount, sentence }) {
    const { story, sentences } = this.told;
    const number = sentences[sentence];
    const text = number === undefined ? "" : oneLine(surface(story, story.sentences[number]));
    const button = make("button", {
      cls: amount > 0 ? "move towards" : "move away",
      attributes: { type: "button" },
      children: [make("b", { text: signed(amount) }), make("span", { text })],
    });
    button.addEventListener("click", () => this.onSentence(number));
    return make("li", { children: [button] });
  }

  card(n) {
    return this.list.querySelector(`[data-hypothesis="${Number(n)}"]`);
  }
}

export const signed = (amount) => `${amount > 0 ? "▲" : "▼"} ${Math.abs(amount).toFixed(2)}`;

function say(id, amount, text) {
  byId(id).hidden = amount === null;
  byId(id).replaceChildren(...(amount === null ? [] : [make("b", { text: signed(amount) }), make("span", { text })]));
}

const byKey = (answers, key) =>
  answers.map((_, n) => n).sort((one, other) => answers[other][key] - answers[one][key] || one - other);

/** The numbers of the answers in the order they are shown. */
export const ranked = (told) => byKey(told.answers, told.alone ? "p" : "pi");

function bar(key, name, value) {
  const fill = make("i", { cls: "fill" });
  fill.style.setProperty("--value", value ?? 0);
  return make("span", {
    cls: `bar ${key}`,
    children: [
      make("span", { cls: "name", text: name }),
      make("span", { cls: "track", attributes: { "aria-hidden": "true" }, children: [fill] }),
      make("span", { cls: "figure", text: value === null ? "not tested" : percent(value) }),
    ],
  });
}

function filledIn(question, word) {
  const [before, after] = aroundBlank(question);
  return [before, make("mark", { text: word }), after];
}

function verdict(told, best) {
  const who = told.alone ? "The Extractor alone says" : "The reader says";
  const said = [`${who} `, make("strong", { text: best.text }), ` (${percent(told.alone ? best.p : best.pi)}).`];
  if (told.expected === null) return said;
  const place = ranked(told).findIndex((n) => told.answers[n].text === told.expected);
  if (place === 0) return [...said, " ✓ Right: that is the word."];
  const where = place > 0 ? `its choice number ${place + 1}` : "not among its hypotheses";
  return [...said, ` The word was “${told.expected}”, ${where}${told.findable ? "" : "; it stands nowhere else in what was read"}.`];
}

/** Bring the answer into view where it stands above the text; beside the text it is in view already. */
export function reveal(element) {
  const { top, bottom, width } = element.getBoundingClientRect();
  const stacked = width > 0.8 * element.parentElement.clientWidth;
  if (stacked && (top < 0 || bottom > innerHeight)) scrollTo(element, "start");
}
