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
