import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configSchemaErrors } from './config-schema.js';

const errorsOf = (property: unknown) =>
  configSchemaErrors({ type: 'object', properties: { a: property } }).map(({ pointer }) => pointer);
const A = '/config_schema/properties/a';

it.each<[unknown, string]>([
  [{ type: 'strnig', default: 1 }, '/type'],
  [{ type: 7 }, '/type'],
  [{ type: ['string', 'none'] }, '/type/1'],
  [{ type: [] }, '/type'],
  [7, ''],
  [{ minimum: 'x' }, '/minimum'],
  [{ type: 'integer', minimum: 2, maximum: 1 }, '/maximum'],
  [{ type: 'number', exclusiveMinimum: 2, exclusiveMaximum: 2 }, '/exclusiveMaximum'],
  [{ type: 'number', exclusiveMinimum: 2, maximum: 2 }, '/maximum'],
  [{ type: 'number', minimum: 2, exclusiveMaximum: 2 }, '/exclusiveMaximum'],
  [{ not: { minimum: 'x' } }, '/not/minimum'],
  [{ type: 'string', minLength: -1 }, '/minLength'],
  [{ multipleOf: 0 }, '/multipleOf'],
  [{ enum: [] }, '/enum'],
  [{ type: 'integer', enum: ['one'] }, '/enum'],
  [{ type: 'integer', const: 1.5 }, '/const'],
  [{ pattern: '(' }, '/pattern'],
  [{ patternProperties: { '(': true } }, '/patternProperties/('],
  [{ required: 'b' }, '/required'],
  [{ properties: { b: true }, required: ['b', 'c'], additionalProperties: false }, '/required/1'],
  [{ items: { type: 'x' } }, '/items/type'],
  [{ anyOf: [true, { type: 'x' }] }, '/anyOf/1/type'],
  [{ oneOf: {} }, '/oneOf'],
  [{ properties: [] }, '/properties'],
  [{ properties: { 'b/c': 1 } }, '/properties/b~1c'],
])('names what is wrong in %j', (property, pointer) => {
  expect(errorsOf(property)).toEqual([`${A}${pointer}`]);
});

it('refuses what is nested without end', () => {
  let nested: object = { type: 'string' };
  for (let i = 0; i < 20_000; i++) nested = { not: nested };
  expect(configSchemaErrors({ not: nested })).toHaveLength(1);
});

it('takes what is a schema of an object', () => {
  expect(errorsOf({ type: ['integer', 'null'], minimum: 1, maximum: 1, enum: [1, null, 'x'] })).toEqual([]);
  expect(errorsOf({ type: 'number', exclusiveMinimum: 1, maximum: 2 })).toEqual([]);
  expect(errorsOf({ not: { minimum: 2, maximum: 1 }, if: { type: 'integer', const: 'x' } })).toEqual([]);
  expect(errorsOf({ not: { allOf: [{ required: ['a'], additionalProperties: false }] } })).toEqual([]);
  expect(configSchemaErrors({})).toEqual([]);
  expect(configSchemaErrors({ type: 'array' }).map(({ pointer }) => pointer)).toEqual(['/config_schema/type']);
});

it('takes the schemas of all NFs that come with Orrery', () => {
  for (const folder of ['nfs', 'node/process-nfs']) {
    const url = new URL(`../../../../../agents/${folder}/`, import.meta.url);
    for (const entry of readdirSync(url, { withFileTypes: true }).filter((each) => each.isDirectory())) {
      let text: string;
      try {
        text = readFileSync(new URL(`${entry.name}/descriptor.json`, url), 'utf8');
      } catch {
        continue;
      }
      const { config_schema } = JSON.parse(text) as { config_schema: Record<string, unknown> };
      expect([entry.name, configSchemaErrors(config_schema)]).toEqual([entry.name, []]);
    }
  }
});
