// What the page shows, in the fragment of its address: it never leaves the browser, and it is bounded.

export const LONGEST = 8000;
const KEYS = ["story", "text", "word", "question", "candidates", "model", "alone"];

/** The state in an address; what is not there, or makes no sense, is left out. */
export function fromFragment(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text || text.length > LONGEST || !text.includes("=")) return {};
  const given = new URLSearchParams(text);
  const state = Object.fromEntries(KEYS.filter((key) => given.has(key)).map((key) => [key, given.get(key)]));
  if ("word" in state) {
    if (/^\d{1,6}$/.test(state.word)) state.word = Number(state.word);
    else delete state.word;
  }
  return state;
}

/** The fragment for a state, or null if the text is too long to be carried by an address. */
export function toFragment(state) {
  const given = new URLSearchParams();
  for (const key of KEYS) {
    if (state[key] !== undefined && state[key] !== null && state[key] !== "") given.set(key, state[key]);
  }
  const fragment = given.toString();
  return fragment.length > LONGEST ? null : fragment;
}
