import { PlanRequest, ReconfigurationRequest } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { nfKey } from '../../shared/api/chains.js';
import { choicesOf, inTheWay, type MoveDraft, moveRequest } from './move-draft.js';
import type { BoardNf } from './nfs.js';

const nf = (id: string, slot: BoardNf['slot']): BoardNf => {
  const [chain = '', node_id = ''] = id.split('.');
  return {
    id,
    pipeline_id: `pl-${chain}`,
    node_id,
    nf: node_id,
    server: 'server-1',
    driver: 'engine',
    slot,
    slotState: slot && 'active',
  };
};
const sqli = nf('web.sqli', null);
const ddos = nf('edge.ddos', { board: 'board-1', slot: 0 });
const nat = nf('bulk.nat', { board: 'board-1', slot: 1 });
const nfs = [sqli, ddos, nat];
const draft: MoveDraft = {
  to: 'board',
  nf: nfKey(sqli),
  slot: 'board-1 0',
  load: 'partial',
  policy: 'hold',
  displaces: [nfKey(ddos)],
};

describe('inTheWay', () => {
  it('is what the slot runs; with a full load what the whole board runs; never the NF itself', () => {
    expect(inTheWay(nfs, draft)).toEqual([ddos]);
    expect(inTheWay(nfs, { ...draft, load: 'full' })).toEqual([ddos, nat]);
    expect(inTheWay(nfs, { ...draft, nf: nfKey(ddos) })).toEqual([]);
    expect(inTheWay(nfs, { ...draft, slot: '' })).toEqual([]);
  });
});

describe('a move by hand', () => {
  it('asks for a slot and for what it displaces, as the contract has it', () => {
    const request = moveRequest(draft, nfs)!;
    expect(request).toEqual({
      nf: { pipeline_id: 'pl-web', node_id: 'sqli' },
      to: 'board',
      slot: { board: 'board-1', slot: 0 },
      load: 'partial',
      policy: 'hold',
      displaces: [{ pipeline_id: 'pl-edge', node_id: 'ddos' }],
    });
    expect(ReconfigurationRequest.parse(request)).toEqual(request);
  });

  it('is planned with the same choices, room first', () => {
    const plans = choicesOf(moveRequest(draft, nfs)!);
    expect(plans.map((choices) => choices.map(({ node_id, on, slot }) => [node_id, on, slot?.slot]))).toEqual([
      [['ddos', 'software', undefined]],
      [['sqli', 'board', 0]],
    ]);
    for (const implementations of plans) expect(() => PlanRequest.parse({ implementations })).not.toThrow();
  });

  it('to software names no slot and displaces nothing', () => {
    const request = moveRequest({ ...draft, to: 'software', nf: nfKey(ddos) }, nfs);
    expect(request).toMatchObject({ to: 'software', slot: null, displaces: [] });
  });

  it('is none while no NF is chosen, or one that is gone', () => {
    expect(moveRequest({ ...draft, nf: '' }, nfs)).toBeNull();
    expect(moveRequest(draft, [ddos])).toBeNull();
  });
});
