import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../testing/scratch.js';
import { readSwitches } from './switch-config.js';

function read(content: unknown) {
  const file = join(scratchDirectory(), 'switches.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return readSwitches(file);
}

const ovs = { node: 'leaf-1', driver: 'ovs', bridge: 'br0' };

describe('the file of switches', () => {
  it('names each with its driver', () => {
    const [first, second] = read([ovs, { ...ovs, node: 'leaf-2', join_token: 't', ports: { p1: 'eth1' } }]);
    expect(first).toMatchObject({ node: 'leaf-1', join_token: null, kind: { kind: 'ovs' } });
    expect(second).toMatchObject({ node: 'leaf-2', join_token: 't' });
  });

  it.each([
    ['no list', {}, /must be a list of switches/],
    ['no switch', [], /must be a list of switches/],
    ['no JSON', '[', /JSON/],
    ['no name', [{ ...ovs, node: 'Leaf' }], /\/0\/node: must start with a letter/],
    ['no driver of that kind', [ovs, { ...ovs, node: 'b', driver: 'p9' }], /\/1\/driver: must be ovs/],
    ['no bridge', [{ node: 'a', driver: 'ovs' }], /\/0\/bridge/],
    ['an unknown field', [{ ...ovs, colour: 'red' }], /colour/],
    ['a name twice', [ovs, ovs], /leaf-1 appears twice/],
  ])('is refused with its field: %s', (_, content, words) => expect(() => read(content)).toThrow(words));
});
