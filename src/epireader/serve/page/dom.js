// The few things every part of the page needs. Text from people only ever goes through textContent.

export const byId = (id) => document.getElementById(id);

/** An element with a class, some text, and children. */
export function make(tag, { cls = "", text = null, attributes = {}, children = [] } = {}) {
  const element = document.createElement(tag);
  if (cls) element.className = cls;
  if (text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export const scrollTo = (element, block) =>
  element.scrollIntoView({ behavior: calm() ? "auto" : "smooth", block });

export function percent(value) {
  if (value === null) return "–";
  const share = 100 * value;
  return share > 0 && share < 1 ? "<1%" : `${Math.round(share)}%`;
}
