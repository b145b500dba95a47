import { type Infrastructure, type Instance, MOST_LEFT, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { chainsAt, leftSoFar, toDrain, uses } from './moves.js';

it('a drain names its own part alone, and takes chains down only where that was asked for this part', () => {
  expect(toDrain({ id: 's1', kind: 'server' }, true)).toEqual({ without_servers: ['s1'], when_short: 'leave-out' });
  expect(toDrain({ id: 's2', kind: 'server' }, false)).toEqual({ without_servers: ['s2'] });
  expect(toDrain({ id: 'b', kind: 'board' }, false)).toEqual({ without_boards: ['b'] });
});

const instance = (id: string, chain_id = 'c') =>
  ({ id, chain_id, node_id: 'fw', server: 's1', board: null }) as unknown as Instance;
const left = (name: string, chain_id = 'c') => ({ chain_id, node_id: 'fw', instance: name, slot: null });

it('what leaves a part again, also as its successor, is known once, and what is lent does not return', () => {
  const before = [left('c.fw.0'), left('c.fw.1'), left('d.fw.0', 'd')];
  const running = [instance('c.fw.0-2'), instance('d.fw.0', 'd'), instance('c.fw.7')];
  const found = leftSoFar(before, running, ({ chain_id }) => chain_id === 'd');
  expect(found).toEqual([left('c.fw.1'), left('c.fw.0'), left('c.fw.7')]);
  expect(leftSoFar(found, running, () => false)).toHaveLength(4);
});

it('no more leaves a part than a plan can bring back: the latest', () => {
  const many = Array.from({ length: 300 }, (_, n) => instance(`c.fw.${n}`));
  const found = leftSoFar([left('c.fw.999')], many, () => false);
  expect([found.length, found[0], found.at(-1)]).toEqual([MOST_LEFT, left('c.fw.44'), left('c.fw.299')]);
});

it('a part is used by what stands there, what its boards run, and where parallel steps begin and end', () => {
  const boards = [{ id: 'b', server: 's1' }];
  const infrastructure = { boards } as unknown as Infrastructure;
  const nodes = [
    { ...instance('a.fw.0', 'a'), kind: 'nf', server: 's2' },
    { ...instance('b.fw.0', 'b'), kind: 'nf', server: 's2', board: { board: 'b', slot: 0 } },
    { kind: 'mirror', chain_id: 'm', server: 's1' },
    { kind: 'merge', chain_id: 'm', server: 's1' },
    { kind: 'exit', chain_id: 'a' },
  ];
  const plan = { graph: { nodes } } as unknown as Plan;
  expect(chainsAt(plan, infrastructure, { id: 's1', kind: 'server' })).toEqual(['b', 'm']);
  expect(chainsAt(plan, infrastructure, { id: 'b', kind: 'board' })).toEqual(['b']);
  expect(chainsAt(plan, infrastructure, { id: 's3', kind: 'server' })).toEqual([]);
  const merges = { graph: { nodes: nodes.filter(({ kind }) => kind === 'merge') } } as unknown as Plan;
  expect(uses(merges, infrastructure, { id: 's1', kind: 'server' })).toBe(true);
  expect(uses(null, infrastructure, { id: 's1', kind: 'server' })).toBe(false);
});
