import { expect, it } from 'vitest';
import { schemaFindings } from './check-config.js';

const descriptor = {
  id: 'nf',
  config_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      port: { type: 'integer', minimum: 1 },
      rules: {
        type: 'array',
        items: { type: 'object', additionalProperties: false, properties: { to: { minimum: 1 } } },
      },
    },
  },
};

it.each<[Record<string, unknown>, [string, string][]]>([
  [{ port: 0 }, [['/port', '0 is less than 1.']]],
  [{ ports: 1 }, [['/ports', 'There is no such field.']]],
  [
    { port: 0, ports: 1 },
    [
      ['/port', '0 is less than 1.'],
      ['/ports', 'There is no such field.'],
    ],
  ],
  [
    { rules: [{ to: 1 }, { to: 0, from: 1 }] },
    [
      ['/rules/1/to', '0 is less than 1.'],
      ['/rules/1/from', 'There is no such field.'],
    ],
  ],
  [{ port: 1, rules: [] }, []],
])('says once what is wrong with %j', (config, findings) => {
  expect(schemaFindings(descriptor, config).map(({ pointer, message }) => [pointer, message])).toEqual(findings);
});
