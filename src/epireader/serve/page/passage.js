// The story on the page: words to click or to walk through with the arrow keys, shaded by attention.

import { canBeLeftOut } from "./cloze.js";
import { byId, make, percent } from "./dom.js";

const NOTED = 0.04;

export class Passage {
  constructor(onWord) {
    this.box = byId("passage");
    this.onWord = onWord;
    this.words = [];
    this.current = null;
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Show a story: paragraphs, in them sentences, in them words; everything between stays as it was. */
  show(story) {
    this.story = story;
    this.words = [];
    this.box.replaceChildren();
    let paragraph = null, sentence = null, number = -1, end = 0;
    story.words.forEach((word, index) => {
      const gap = story.characters.slice(end, word.start).join("");
      const breaks = /\n\s*\n/.test(gap);
      if (paragraph === null || breaks) {
        paragraph = this.box.appendChild(make("p"));
      } else if (gap) {
        (word.sentence === number ? sentence : paragraph).append(gap);
      }
      if (word.sentence !== number || breaks) {
        sentence = paragraph.appendChild(make("span", { cls: "sentence", attributes: { "data-sentence": word.sentence } }));
      }
      sentence.append(this.wordElement(word, index));
      number = word.sentence;
      end = word.end;
    });
    this.aim(this.words.findIndex(Boolean));
  }

  wordElement(word, index) {
    const text = this.story.characters.slice(word.start, word.end).join("");
    const element = make("span", { cls: canBeLeftOut(word) ? "word" : "sign", text });
    if (canBeLeftOut(word)) {
      element.dataset.word = index;
      this.words[index] = element;
    }
    return element;
  }

  sentenceParts(number) {
    return [...this.box.querySelectorAll(`[data-sentence="${Number(number)}"]`)];
  }

  /** Shade the words by attention, and show what is asked and what is not read. */
  explain({ attention = new Map(), cloze = null, read = null, answers = new Map() }) {
    this.words.forEach((element, index) => {
      const weight = attention.get(index) ?? 0;
      element.style.setProperty("--shade", Math.min(1, Math.sqrt(weight / 0.3)).toFixed(3));
      element.classList.toggle("looked-at", weight >= 0.005);
      element.classList.toggle("hypothesis", answers.has(index));
      element.classList.toggle("gone", cloze?.word === index);
      if (weight >= NOTED) element.dataset.share = Math.round(100 * weight);
      else delete element.dataset.share;
      if (weight >= 0.005) element.title = `${percent(weight)} of the attention`;
      else element.removeAttribute("title");
    });
    for (const part of this.box.querySelectorAll(".sentence")) {
      const number = Number(part.dataset.sentence);
      part.classList.toggle("asked-about", cloze !== null && number === cloze.sentence);
      part.classList.toggle("unread", read !== null && !read.has(number) && number !== cloze?.sentence);
    }
  }

  clicked(event) {
    const element = event.target.closest("[data-word]");
    if (!element || String(getSelection())) return;
    this.aim(Number(element.dataset.word));
    this.onWord(this.current);
  }

  pressed(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const sentence = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || this.current === null) return;
    if (step) this.focus(this.next(this.current, step));
    else if (sentence) this.focus(this.firstOf(this.story.words[this.current].sentence + sentence));
    else if (event.key === "Home") this.focus(this.words.findIndex(Boolean));
    else if (event.key === "End") this.focus(this.words.length - 1);
    else if (event.key === "Enter" || event.key === " ") this.onWord(this.current);
    else return;
    event.preventDefault();
  }

  next(index, step) {
    for (let n = index + step; n >= 0 && n < this.words.length; n += step) if (this.words[n]) return n;
    return index;
  }

  firstOf(sentence) {
    const index = this.words.findIndex((element, n) => element && this.story.words[n].sentence === sentence);
    return index < 0 ? this.current : index;
  }

  /** Only one word can be reached with Tab; the arrow keys move from it. */
  aim(index) {
    const before = this.words[this.current];
    if (before) for (const name of ["tabindex", "role", "aria-label"]) before.removeAttribute(name);
    this.current = index < 0 ? null : index;
    const element = this.words[index];
    if (!element) return;
    element.tabIndex = 0;
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", `${element.textContent}: leave this word out`);
  }

  focus(index) {
    this.aim(index);
    this.words[index]?.focus();
  }
}
