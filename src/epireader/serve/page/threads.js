// Lines from the chosen hypothesis to the sentences that moved it, and a figure in the margin beside each sentence.

import { signed } from "./answers.js";
import { byId, make } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

export class Threads {
  constructor() {
    this.svg = byId("threads");
    this.marks = byId("marks");
    this.links = [];
    this.card = null;
    const redraw = () => this.redraw();
    addEventListener("resize", redraw);
    addEventListener("scroll", redraw, { passive: true });
    new ResizeObserver(redraw).observe(byId("reading"));
  }

  /** `links`: the amount and the elements of each sentence; `card`: where the lines begin. */
  show(card, links) {
    for (const part of document.querySelectorAll(".sentence.towards, .sentence.away")) {
      part.classList.remove("towards", "away");
    }
    this.card = card;
    this.links = links.filter((link) => link.parts.length);
    for (const { amount, parts } of this.links) {
      for (const part of parts) part.classList.add(amount > 0 ? "towards" : "away");
    }
    this.draw();
  }

  clear() {
    this.show(null, []);
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const frame = byId("reading").getBoundingClientRect();
    const book = this.marks.parentElement.getBoundingClientRect();
    this.svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const heights = [];
    const drawn = this.links.map((link) => {
      const first = link.parts[0].getClientRects()[0];
      let y = first.top + first.height / 2;
      while (heights.some((other) => Math.abs(other - y) < 15)) y += 15;
      heights.push(y);
      return { ...link, x: book.right - frame.left, y: y - frame.top, top: y - book.top };
    });
    this.marks.replaceChildren(...drawn.map(markElement));
    const strongest = Math.max(0, ...drawn.map(({ amount }) => Math.abs(amount)));
    const lines = this.card ? drawn.map((link, lane) => this.line(link, lane, frame, strongest)) : [];
    this.svg.replaceChildren(...lines);
  }

  line({ amount, x, y }, lane, frame, strongest) {
    const card = this.card.getBoundingClientRect();
    const middle = card.top + card.height / 2 - frame.top;
    const path = document.createElementNS(SVG, "path");
    const beside = card.left - frame.left > x;
    path.setAttribute("d", beside ? across(card.left - frame.left, middle, x, y) : down(frame.width, middle, y, lane));
    path.setAttribute("class", amount > 0 ? "towards" : "away");
    path.setAttribute("stroke-width", (1 + (2 * Math.abs(amount)) / strongest).toFixed(2));
    return path;
  }
}

/** From a card to the right of the text over to a sentence. */
function across(fromX, fromY, x, y) {
  const bend = (fromX - x) / 2;
  return `M ${fromX} ${fromY} C ${fromX - bend} ${fromY} ${x + bend} ${y} ${x} ${y}`;
}

/** From a card above the text down the outer margin to a sentence, each line in a lane of its own. */
function down(edge, fromY, y, lane) {
  const x = edge + 4 + 4 * lane;
  const inset = edge - 17;
  return `M ${inset} ${fromY} C ${x} ${fromY} ${x} ${fromY} ${x} ${fromY + 18} L ${x} ${y - 14} Q ${x} ${y} ${edge - 2} ${y}`;
}

function markElement({ amount, top }) {
  const mark = make("span", { cls: amount > 0 ? "towards" : "away", text: signed(amount) });
  mark.style.setProperty("--top", `${top}px`);
  return mark;
}
