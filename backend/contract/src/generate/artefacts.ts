import { asyncApi } from './asyncapi.js';
import { jsonSchemaBundle } from './json-schema.js';
import { openApi } from './openapi.js';

/** Every generated file with its text; deterministic. */
export function artefacts(version: string): Map<string, string> {
  return new Map([
    ['schema.json', print(jsonSchemaBundle())],
    ['openapi.json', print(openApi(version))],
    ['asyncapi.json', print(asyncApi(version))],
  ]);
}

function print(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
