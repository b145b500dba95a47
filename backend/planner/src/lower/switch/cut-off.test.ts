import type { FabricRule } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { board, withBoardAtSwitch } from '../../testing/boards.js';
import { row, rule } from '../../testing/row-of-switches.js';
import { lowerFabric } from './lower-fabric.js';

/** Three switches in a row, of which no link leads to the third. */
const APART = { ...row(3), links: row(3).links.filter(({ id }) => id !== 't-3') };
const slotAt = (near: string, far: string) =>
  withBoardAtSwitch(APART, board('board-1', 'server-1', { slots: 1 }), near, { far0: far });

const classify = (server: string, from_hosts: string[]) => rule('classify', [{ hop: 1, server }], { from_hosts });
const onward = (server: string, from_servers: string[]) => rule('hop', [{ hop: 2, server }], { from_servers, hop: 2 });
const lacks = (infrastructure: typeof APART, one: FabricRule) => {
  const { conflicts, faults } = lowerFabric(infrastructure, new Map(), [one]);
  return { where: conflicts.map(({ constraint, where }) => `${constraint} ${where}`), faults };
};

describe('what no way leads to', () => {
  it.each([
    ['a server', APART, classify('server-3', ['host-1']), 'sw-1', 'server-3'],
    ['a server, from hosts of every switch', APART, classify('server-1', []), 'sw-3', 'server-1'],
    ['the slot of a board', slotAt('sw-3', 'sw-1'), classify('board-1.0', ['host-2']), 'sw-2', 'board-1.0'],
    ['a server, from a slot', slotAt('sw-1', 'sw-3'), onward('server-1', ['board-1.0']), 'sw-3', 'server-1'],
  ])('is told of %s', (_what, infrastructure, one, at, target) => {
    expect(lacks(infrastructure, one)).toEqual({
      where: [`switch-path ${at}`],
      faults: [`no way leads from ${at} to ${target} (${one.id})`],
    });
  });

  it('is of no concern elsewhere', () => {
    for (const one of [classify('server-2', ['host-1']), onward('server-2', ['board-1.0'])])
      expect(lacks(slotAt('sw-1', 'sw-2'), one).faults).toEqual([]);
  });
});
