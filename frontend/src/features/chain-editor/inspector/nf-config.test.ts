import { expect, it } from 'vitest';
import { configFields, shownConfig, storedConfig } from './nf-config.js';

const addresses = { type: 'array', minItems: 1, maxItems: 1, items: { type: 'string' }, default: ['198.18.0.1'] };
const proxy = {
  return_traffic: true,
  config_schema: {
    type: 'object',
    required: ['external_addresses', 'port'],
    properties: { external_addresses: addresses, port: { type: 'integer', default: 80 } },
  },
  default_config: { external_addresses: ['198.18.0.1'], port: 80 },
};

it('shows no default external address as if it were configured, because the planner chooses another', () => {
  expect(shownConfig(proxy, {})).toEqual({ port: 80 });
  expect(configFields(proxy)[0]).toMatchObject({
    key: 'external_addresses',
    required: false,
    unset: expect.stringMatching(/planner chooses/),
  });
  expect(shownConfig(proxy, { external_addresses: ['192.0.2.1'] })).toEqual({
    external_addresses: ['192.0.2.1'],
    port: 80,
  });
});

it('stores an address that a user sets though it is that of the descriptor, and no other default', () => {
  expect(storedConfig(proxy, { external_addresses: ['198.18.0.1'], port: 80 })).toEqual({
    external_addresses: ['198.18.0.1'],
  });
  expect(storedConfig(proxy, { port: 81 })).toEqual({ port: 81 });
});

it('is the default of an NF whose addresses nobody chooses', () => {
  const plain = { ...proxy, return_traffic: false };
  expect(shownConfig(plain, {})).toEqual(proxy.default_config);
  expect(configFields(plain)[0]).not.toHaveProperty('unset');
  expect(storedConfig(plain, proxy.default_config)).toEqual({});
});
