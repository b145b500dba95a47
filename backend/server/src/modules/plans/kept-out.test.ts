import type { Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { keptOut } from './kept-out.js';

const [one, two, three] = RACK.servers.map(({ id }) => id);
const boards = ['board-1', 'board-2'].map((id) => ({ id, server: one! }));
const infrastructure = { ...RACK, boards } as typeof RACK;
/** An instance on the second server, and one in a slot of the first board, which the first server drives. */
const base = {
  graph: {
    nodes: [
      { kind: 'nf', server: two },
      { kind: 'nf', server: two, board: { board: 'board-1', slot: 0 } },
      { kind: 'exit' },
    ],
  },
} as unknown as Plan;
const NONE = { servers: [], boards: [], lost_servers: [] };

it('what runs on parts in maintenance stays, unless the request drains that very part, or it is lost', () => {
  const out = { servers: [one!, two!, three!], boards: ['board-1', 'board-2'], lost_servers: [] };
  expect(keptOut({}, out, base, infrastructure)).toEqual({
    without_servers: [three],
    lost_servers: [],
    without_boards: ['board-2'],
    closed: { servers: [one, two], boards: ['board-1'] },
  });
  expect(keptOut({ without_servers: [two!] }, out, base, infrastructure)).toMatchObject({
    without_servers: [two, three],
    closed: { servers: [one] },
  });
  expect(keptOut({ without_boards: ['board-1'] }, out, base, infrastructure)).toMatchObject({
    without_boards: ['board-1', 'board-2'],
    closed: { boards: [] },
  });
  expect(keptOut({}, { ...out, lost_servers: [two!, 'gone'] }, base, infrastructure)).toMatchObject({
    without_servers: [two, three],
    lost_servers: [two],
    closed: { servers: [one] },
  });
});

it('what a request names is left whether it is in maintenance or not, and nothing is closed without maintenance', () => {
  expect(keptOut({ without_servers: [two!] }, NONE, base, infrastructure)).toEqual({
    without_servers: [two],
    lost_servers: [],
    without_boards: [],
    closed: { servers: [], boards: [] },
  });
  expect(keptOut({}, { ...NONE, servers: [two!] }, null, infrastructure).without_servers).toEqual([two]);
});
