import { ContainerImage, NfDescriptor } from '@orrery/contract';
import { expect, it } from 'vitest';
import { legacyNfErrors } from './check.js';

const MIB = 2 ** 20;
const image = {
  reference: 'a/b:1',
  pull: 'never',
  forwarding: 'bridge',
  command: ['run', '{{port}}'],
  environment: { PORT: '{{port}}' },
  files: [{ name: 'rules', content: '{{port}}' }],
  health: { by: 'command', command: ['check', '{{port}}'] },
  preserves: [],
};
const descriptor = {
  ...{ id: 'mine', title: 'Mine', summary: '', category: 'security', icon: 'box', version: '1.0.0' },
  ...{ attributes: [], affinity: [], scaling: { max_instances: 1 }, state: { kind: 'none', key: [] } },
  actions: { reads: [], writes: [], may_drop: true },
  config_schema: { type: 'object', required: ['port'], properties: { port: { type: 'integer' } } },
  default_config: { port: 80 },
};
const container = {
  kind: 'container',
  driver: 'container',
  cost: { cycles_per_packet: 1, base_latency_us: 1, memory_bytes: 32 * MIB },
};

const foundIn = (of: object, more: object = {}, others: object[] = []) =>
  legacyNfErrors(
    NfDescriptor.parse({
      ...descriptor,
      ...more,
      implementations: [{ ...container, image: ContainerImage.parse({ ...image, ...of }) }, ...others],
    }),
  );
const errorsOf = (...given: Parameters<typeof foundIn>) =>
  foundIn(...given).map(({ pointer, code }) => [pointer, code]);

const IMAGE = '/implementations/0/image';

it('accepts an NF of an image', () => {
  expect(errorsOf({})).toEqual([]);
});

it.each([
  [{ reference: 'registry.example/team/filter:1.0' }, `${IMAGE}/reference`, 'placeholder'],
  [{ command: ['run', '{{prot}}'] }, `${IMAGE}/command/1`, 'unknown-placeholder'],
  [{ entrypoint: ['{{prot}}'] }, `${IMAGE}/entrypoint/0`, 'unknown-placeholder'],
  [{ environment: { A: '{{prot}}' } }, `${IMAGE}/environment/A`, 'unknown-placeholder'],
  [{ files: [{ name: 'a', content: '{{prot}}' }] }, `${IMAGE}/files/0/content`, 'unknown-placeholder'],
  [{ health: { by: 'command', command: ['x', '{{prot}}'] } }, `${IMAGE}/health/command/1`, 'unknown-placeholder'],
  [{ files: [{ name: 'config.json', content: '' }] }, `${IMAGE}/files/0/name`, 'duplicate-id'],
  [{ limits: { memory_bytes: 16 * MIB } }, `${IMAGE}/limits/memory_bytes`, 'too-small'],
  [{ health: { by: 'image', timeout_s: 20, start_s: 10 } }, `${IMAGE}/health/timeout_s`, 'too-large'],
  [{ health: { by: 'image', interval_s: 30 } }, `${IMAGE}/health/start_s`, 'too-small'],
  [{ health: { by: 'command', command: ['x'], interval_s: 13 } }, `${IMAGE}/health/start_s`, 'too-small'],
  [{ writable: ['/tmp', '/tmp'] }, `${IMAGE}/writable/1`, 'duplicate-id'],
  [{ forwarding: 'tap' }, '/actions/may_drop', 'not-possible'],
  [{ forwarding: 'route' }, '/unsupported', 'not-supported'],
])('names what is wrong: %j', (of, pointer, code) => {
  expect(errorsOf(of)).toEqual([[pointer, code]]);
});

it.each([
  [{ limits: { memory_bytes: 16 * MIB } }, 'must be at least 33554432 bytes, '],
  [{ health: { by: 'image', timeout_s: 20, start_s: 10 } }, 'must be at most 10 s: '],
  [{ health: { by: 'image', interval_s: 30, timeout_s: 3 } }, 'must be at least 33 s '],
])('tells a limit with its unit: %j', (of, words) => {
  expect(foundIn(of).map(({ detail }) => detail)).toEqual([expect.stringContaining(words)]);
});

it.each([
  { by: 'image', interval_s: 12, timeout_s: 3, start_s: 15 },
  { by: 'tcp', port: 80, interval_s: 60 },
])('accepts a check that can succeed in time: %j', (health) => {
  expect(errorsOf({ health })).toEqual([]);
});

it('takes no other implementation beside an image, and no derived attributes', () => {
  expect(errorsOf({}, {}, [container])).toEqual([['/implementations/1', 'bad-implementation']]);
  const attributes = [{ name: 'a', title: 'A', values: [{ value: 'x', title: 'X' }] }];
  expect(errorsOf({}, { attributes })).toEqual([['/attributes', 'not-possible']]);
});
