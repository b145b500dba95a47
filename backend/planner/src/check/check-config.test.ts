import { expect, it } from 'vitest';
import { schemaFindings } from './check-config.js';

const descriptor = {
  id: 'nf',
  config_schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      port: { type: 'integer', minimum: 1 },
      rate_bps: { type: 'number', maximum: 1000 },
      bursts_bytes: { type: 'array', items: { multipleOf: 64 } },
      'a/b': { exclusiveMinimum: 0, unit: 'us' },
      requests_per_s: { minimum: 1, unit: 'requests/s' },
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
  [{ rate_bps: 2000 }, [['/rate_bps', '2000 is greater than 1000 bit/s.']]],
  [{ rate_bps: 'fast' }, [['/rate_bps', 'Instance type "string" is invalid. Expected "number".']]],
  [{ bursts_bytes: [64, 65] }, [['/bursts_bytes/1', '65 is not a multiple of 64 bytes.']]],
  [{ 'a/b': 0 }, [['/a~1b', '0 is less than 0 µs.']]],
  [{ requests_per_s: 0 }, [['/requests_per_s', '0 is less than 1 requests/s.']]],
])('says once what is wrong with %j', (config, findings) => {
  expect(schemaFindings(descriptor, config).map(({ pointer, message }) => [pointer, message])).toEqual(findings);
});
