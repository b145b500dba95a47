import type { Infrastructure } from '@orrery/contract';
import { expect, it } from 'vitest';
import { passageOf } from './passage.js';
import type { Section } from './sections.js';

const link = (a: string, b: string) => ({
  id: `${a}-${b}`,
  a: { node: a, port: 'p' },
  b: { node: b, port: `to-${a}` },
});
/** Two leaves below a spine; two servers at the first leaf, one at the second. */
const FABRIC = {
  boards: [],
  hosts: [],
  switches: ['leaf-1', 'leaf-2', 'spine'].map((id) => ({ id })),
  servers: ['s1', 's2', 's3'].map((id) => ({ id, nics: [{ name: 'p' }], addresses: [] })),
  links: [
    ...[link('s1', 'leaf-1'), link('s2', 'leaf-1'), link('s3', 'leaf-2'), link('client', 'leaf-1')],
    ...['leaf-1', 'leaf-2'].map((id) => ({
      ...{ id: `up-${id}`, a: { node: id, port: 'up' } },
      b: { node: 'spine', port: `to-${id}` },
    })),
  ],
} as unknown as Infrastructure;

const hop = (from: string[], to: string[], receives = to, scope: Section['scope'] = 'hop') =>
  ({ scope, way: { from, to }, to: { receives } }) as unknown as Section;
const told = (broken: Section[], arriving: Section[] = [], others: Section[] = []) => {
  const seen = { isBroken: (it: Section) => broken.includes(it), arrives: (it: Section) => arriving.includes(it) };
  return Object.fromEntries(passageOf([...broken, ...arriving, ...others], seen, FABRIC));
};

it('a switch passes nothing where all packets that have to take it are lost, and it does where some arrive', () => {
  const across = hop(['s1'], ['s3']);
  expect(told([across])).toEqual({ 'leaf-1': false, spine: false, 'leaf-2': false });
  expect(told([across], [hop(['s1'], ['s2'])])).toEqual({ 'leaf-1': true, spine: false, 'leaf-2': false });
  expect(told([across], [hop(['client'], ['s3'], ['other'])])).toEqual({ 'leaf-1': true, spine: true, 'leaf-2': true });
  expect(told([], [], [across])).toEqual({});
});

it('nothing is said by packets that may have taken another way, or stay in a server, nor by more than hops', () => {
  expect(told([hop(['s1'], ['s2', 's3'])])).toEqual({ 'leaf-1': false });
  expect(told([hop(['s1'], ['s1'])], [hop(['s3'], ['s3'])])).toEqual({});
  const all = { 'leaf-1': true, spine: true, 'leaf-2': true };
  expect(told([], [hop(['s1'], ['s3'], ['same'])], [hop(['s2'], ['s3'], ['same'])])).toEqual(all);
  // What arrives at a node may all come from its neighbour at the same leaf.
  expect(told([], [hop(['s1'], ['s3'], ['same'])], [hop(['s3'], ['s3'], ['same'])])).toEqual({});
  expect(told([hop(['s1'], ['s3'], ['x'], 'chain')], [hop(['s1'], ['s3'], ['y'], 'step')])).toEqual({});
});
