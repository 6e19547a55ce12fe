// The server's side of the page. Whatever fails comes back as one Error with a sentence for people, `refused` where what
// was sent is at fault.

async function call(path, body) {
  const options = body === undefined
    ? {}
    : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server cannot be reached. Is it still running?");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    const error = new Error(sentence(answer?.error ?? `the server answered ${response.status}`));
    throw Object.assign(error, { refused: response.status < 500 });
  }
  if (answer === null) throw new Error("The server's answer broke off. Is it still running?");
  return answer;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

export const stories = async () => (await call("/v1/stories")).stories;
export const models = async () => (await call("/v1/models")).models;
export const read = (passage) => call("/v1/read", { passage });
export const answer = (request) => call("/v1/answer", request);
