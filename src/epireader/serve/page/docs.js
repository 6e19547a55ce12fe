// The API's page, made from /openapi.json.

import { byId, make } from "./dom.js";
import { startTheme } from "./theme.js";

const EXAMPLE = { passage: "Ann had a goat and Tom a cow. The goat ran off.", question: "“Where is my XXXXX?” said Ann." };

const nameOf = (reference) => reference.split("/").at(-1);

function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.type ?? "anything";
}

function table(headings, rows) {
  const line = (cells, tag) => make("tr", { children: cells.map((text) => make(tag, { text })) });
  return make("table", { children: [line(headings, "th"), ...rows.map((row) => line(row, "td"))] });
}

function address(path, method, operation) {
  const body = operation.requestBody?.content["application/json"].schema;
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const schema = response.content?.["application/json"]?.schema;
    return [status, schema ? typeOf(schema) : "", response.description.replace("Successful Response", "Done.")];
  });
  const fine = rows.filter(([status]) => Number(status) < 400);
  const refused = rows.filter(([status]) => Number(status) >= 400);
  if (refused.length) {
    fine.push([refused.map(([status]) => status).join(" "), refused[0][1], refused.map((row) => row[2]).join(" ")]);
  }
  return [
    make("h3", { children: [make("code", { text: `${method.toUpperCase()} ${path}` })] }),
    make("p", { text: operation.summary + (body ? ` Takes ${typeOf(body)}.` : "") }),
    table(["Status", "Shape", "When"], fine),
  ];
}

function shape(name, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([field, value]) => [
    field + (required.has(field) ? "" : " (optional)"), typeOf(value), value.description ?? "",
  ]);
  return [make("h3", { text: name }), table(["Field", "Type", "Meaning"], rows)];
}

async function start() {
  startTheme();
  byId("example").textContent =
    `curl ${location.origin}/v1/answer \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(EXAMPLE)}'`;
  const api = await (await fetch("/openapi.json")).json();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) byId("addresses").append(...address(path, method, operation));
  }
  for (const [name, schema] of Object.entries(api.components.schemas)) byId("shapes").append(...shape(name, schema));
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  byId("problem").textContent = `The description could not be shown: ${error.message}`;
});
