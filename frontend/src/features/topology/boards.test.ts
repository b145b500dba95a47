import type { Accelerator, Infrastructure, NfInstance } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { slotWords } from './boards.js';
import { rowsOf } from './element-list.js';
import { boardOf, buildScene, chipOf, rateKey } from './model.js';

const network = {
  name: 'test',
  servers: [{ id: 'server-1', origin: 'twin', cores: 2, nics: [], addresses: [] }],
  boards: [{ id: 'board-1', title: 'Board 1', origin: 'twin', server: 'server-1', device: 'DE5-Net', slots: 2 }],
  switches: [],
  hosts: [],
  links: [],
} as unknown as Infrastructure;
const instance = (id: string) =>
  ({ id, chain_id: 'pl', node_id: 'nat', nf: 'nat', server: 'server-1', core: 0, state: 'running' }) as NfInstance;
const boards = [
  {
    id: 'board-1',
    state: 'operating',
    description: null,
    slots: [
      { slot: 0, state: 'loading', module: 'sqli-detector', instance_id: null },
      { slot: 1, state: 'active', module: 'nat', instance_id: 'web.nat.0' },
    ],
  },
] as unknown as Accelerator[];

describe('boards on the topology', () => {
  const scene = buildScene(network, [instance('web.nat.0'), instance('web.fw.0')], boards);
  const server = scene.nodes.get('server-1')!;
  const board = boardOf(scene, 'board-1')!;

  it('have an instance in its slot and on no core', () => {
    expect(server.rows.map(({ label }) => label)).toEqual(['core 0', '1 idle core']);
    const chip = chipOf(scene, 'web.nat.0')!;
    expect(chip.slot).toEqual({ board: 'board-1', slot: 1 });
    expect(rateKey(chip)).toBe('slot/board-1.1/pps');
    expect(chipOf(scene, 'web.fw.0')!.slot).toBeUndefined();
  });

  it('lie in the box of their server, below its cores, around their slots', () => {
    const bottom = Math.max(...server.rows.map(({ y }) => y));
    expect(board.y - board.h / 2).toBeGreaterThan(bottom);
    expect(board.y + board.h / 2).toBeLessThanOrEqual(server.h / 2);
    const chip = chipOf(scene, 'web.nat.0')!;
    expect(Math.abs(chip.y - board.y) + chip.h / 2).toBeLessThan(board.h / 2);
    expect(Math.abs(chip.x - board.x) + chip.w / 2).toBeLessThanOrEqual(board.w / 2);
  });

  it('say what a slot does, also before their agent told of it', () => {
    expect(board.slots.map(slotWords)).toEqual(['loading sqli-detector', 'active nat']);
    const untold = boardOf(buildScene(network, []), 'board-1')!;
    expect(untold.slots.map(slotWords)).toEqual(['unknown', 'unknown']);
    expect(untold.state).toBe('unknown');
    const starts = buildScene(network, [], [{ ...boards[0]!, state: 'starting' }]);
    expect(boardOf(starts, 'board-1')!.slots.map(slotWords)).toEqual(['starting', 'starting']);
  });

  it('are in the list for the keyboard, under their server', () => {
    const items = (text: string) => rowsOf(scene, text).flatMap((row) => (row.kind === 'item' ? [row.target] : []));
    expect(items('')).toContainEqual({ kind: 'board', id: 'board-1' });
    expect(items('board 1')).toEqual([
      { kind: 'node', id: 'server-1' },
      { kind: 'board', id: 'board-1' },
    ]);
  });
});

describe('a board at a switch', () => {
  const hung = {
    ...network,
    boards: [{ ...network.boards[0], attached: 'switch' }],
    switches: [{ id: 'leaf-1', driver: 'ovs', origin: 'twin' }],
    links: ['near0', 'far0'].map((port) => ({ id: port, a: { node: 'board-1', port }, b: { node: 'leaf-1', port } })),
  } as unknown as Infrastructure;
  const inSlot = { ...instance('web.nat.0'), slot: { board: 'board-1', slot: 1 } } as NfInstance;
  const known = boards.map((board) => ({ ...board, switches: ['leaf-1'] }));
  const scene = buildScene(hung, [inSlot], known);

  it('is drawn by itself with its links and its NF, and not in its server', () => {
    const node = scene.nodes.get('board-1')!;
    expect(node.kind).toBe('board');
    expect(node.chips.map(({ id }) => id)).toEqual(['web.nat.0']);
    expect(scene.serverOfInstance.get('web.nat.0')).toBe('board-1');
    expect([...scene.links.values()].map(({ a, b }) => [a, b])).toEqual([
      ['board-1', 'leaf-1'],
      ['board-1', 'leaf-1'],
    ]);
    const server = scene.nodes.get('server-1')!;
    expect(server.boards).toEqual([]);
    expect(server.chips).toEqual([]);
    const board = boardOf(scene, 'board-1')!;
    expect(board).toMatchObject({ server: 'server-1', switches: ['leaf-1'] });
    expect(board.h).toBeLessThanOrEqual(node.h);
  });

  it('is in the list by itself', () => {
    const targets = rowsOf(scene, 'Board 1').flatMap((row) => (row.kind === 'item' ? [[row.target, row.depth]] : []));
    expect(targets[0]).toEqual([{ kind: 'board', id: 'board-1' }, 0]);
  });
});
