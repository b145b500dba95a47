import type { NfInstance, Reconfiguration } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { deliveredSeries } from './executors.js';

const nf = { id: 'web.ids', chain_id: 'ch-1', node_id: 'ids', where: '', color: 0 };
const instance = (id: string) => ({ id, chain_id: 'ch-1', node_id: 'ids' }) as NfInstance;
const move = (started_ms: number) =>
  ({
    started_ms,
    moves: [{ ...nf, nf: 'ids', from: { on: 'board', slot: { board: 'board-1', slot: 1 } }, to: { on: 'software' } }],
  }) as unknown as Reconfiguration;
const series = (instances: string[], moves: Reconfiguration[] = []) =>
  deliveredSeries([nf], instances.map(instance), moves, 'out_bps', 1000);

describe('delivered by each executor', () => {
  it('is one line for each of software, slot and container', () => {
    expect(series(['web.ids.0', 'web.ids.board-1-0', 'web.ids.container-0'])).toEqual([
      { key: 'instance/web.ids.0/out_bps', label: 'web.ids (software 0)' },
      { key: 'instance/web.ids.board-1-0/out_bps', label: 'web.ids (board-1 slot 0)' },
      { key: 'instance/web.ids.container-0/out_bps', label: 'web.ids (container 0)' },
    ]);
  });

  it('keeps the executor that was left within the window, so that the outage shows', () => {
    const keys = (moves: Reconfiguration[]) => series(['web.ids.0'], moves).map(({ key }) => key);
    expect(keys([move(2000)])).toEqual(['instance/web.ids.0/out_bps', 'instance/web.ids.board-1-1/out_bps']);
    expect(keys([move(500)])).toEqual(['instance/web.ids.0/out_bps']);
  });
});
