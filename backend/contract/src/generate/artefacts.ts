import { jsonSchemaBundle } from './json-schema.js';

/** Every generated file with its text; the same contract gives the same bytes. */
export function artefacts(): Map<string, string> {
  return new Map([['schema.json', print(jsonSchemaBundle())]]);
}

function print(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
