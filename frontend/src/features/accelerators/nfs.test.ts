import type { NfDescriptor, NfInstance } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { boardNfs, chartedNfs, goneNfs, MOST_SERIES, whereText } from './nfs.js';
import { boardWith, slotWith } from './testing.js';

const descriptor = (id: string, ...kinds: string[]) =>
  ({ id, implementations: kinds.map((kind) => ({ kind })) }) as unknown as NfDescriptor;
const instance = (id: string, nf: string, driver: NfInstance['driver'] = 'engine') =>
  ({
    id,
    chain_id: `ch-${id.split('.')[0]}`,
    node_id: id.split('.')[1],
    nf,
    driver,
    server: 'server-1',
  }) as NfInstance;
const descriptors = [descriptor('nat', 'software', 'board'), descriptor('ids', 'software')];

describe('boardNfs', () => {
  it('has each NF that a board could run once, with the slot that runs it', () => {
    const board = boardWith({
      id: 'board-1',
      slots: [slotWith({ slot: 0 }), slotWith({ slot: 1, state: 'active', chain_id: 'ch-web', node_id: 'nat' })],
    });
    const instances = ['web.nat.0', 'web.nat.board-1-1', 'edge.nat.0'].map((id) => instance(id, 'nat'));
    const nfs = boardNfs([...instances, instance('web.ids.0', 'ids')], descriptors, [board]);
    expect(nfs.map(whereText)).toEqual(['software', 'board-1 slot 1']);
    expect(whereText({ ...nfs[0]!, driver: 'container' })).toBe('container');
    expect(whereText({ ...nfs[1]!, slotState: 'loading' })).toBe('board-1 slot 1, loading');
    expect(nfs.map(({ id, slot }) => [id, slot])).toEqual([
      ['edge.nat', null],
      ['web.nat', { board: 'board-1', slot: 1 }],
    ]);
  });
});

describe('chartedNfs', () => {
  const nfs = boardNfs(
    Array.from({ length: MOST_SERIES + 2 }, (_, index) => instance(`c${index}.nat.0`, 'nat')),
    descriptors,
    [],
  );
  it('draws no more than colours tell apart, those with a policy first, in the order of all', () => {
    const shown = chartedNfs(nfs, [{ chain_id: 'ch-c7', node_id: 'nat' }]);
    expect(shown.map(({ id }) => id)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'c7'].map((chain) => `${chain}.nat`));
    expect(shown.map(({ color }) => color)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('keeps those that are gone, as far as there is room beside those that matter more', () => {
    const gone = ['old.nat', 'older.nat'].map((id) => ({ id, chain_id: `ch-${id}`, node_id: 'nat' }));
    const shown = chartedNfs(nfs.slice(0, 5), [], gone);
    expect(shown.map(({ id, where, color }) => `${color} ${id} ${where}`).slice(3)).toEqual([
      '3 c3.nat software',
      '4 old.nat removed',
      '5 older.nat removed',
    ]);
    const all = nfs.slice(0, 6);
    expect(chartedNfs(all, all, gone).map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  });
});

describe('goneNfs', () => {
  it('are those that slots served within the window and that no chain has any more', () => {
    const phase = (node_id: string, to_ms: number | null) =>
      ({
        from_ms: 0,
        to_ms,
        state: 'active',
        module: 'nat',
        nf: { chain_id: 'ch-web', node_id },
        chain: 'web',
        load: null,
      }) as const;
    const phases = [phase('nat', 5000), phase('early', 900), phase('late', 5000), phase('now', null)];
    const lanes = [{ board: 'board-1', slot: 0, phases: [...phases, phase('late', 6000)] }];
    const nfs = boardNfs([instance('web.nat.0', 'nat')], descriptors, []);
    expect(goneNfs(lanes, nfs, 1000)).toEqual([{ id: 'web.late', chain_id: 'ch-web', node_id: 'late' }]);
  });
});
