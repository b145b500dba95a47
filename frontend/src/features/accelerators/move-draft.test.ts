import { PlanRequest, ReconfigurationRequest } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { nfKey } from '../../shared/api/chains.js';
import { inTheWay, type MoveDraft, moveRequest, waysOf } from './move-draft.js';
import type { BoardNf } from './nfs.js';

const nf = (id: string, slot: BoardNf['slot']): BoardNf => {
  const [chain = '', node_id = ''] = id.split('.');
  return {
    id,
    chain_id: `ch-${chain}`,
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
      nf: { chain_id: 'ch-web', node_id: 'sqli' },
      to: 'board',
      slot: { board: 'board-1', slot: 0 },
      load: 'partial',
      policy: 'hold',
      displaces: [{ chain_id: 'ch-edge', node_id: 'ddos' }],
    });
    expect(ReconfigurationRequest.parse(request)).toEqual(request);
  });

  const ways = (change: Partial<MoveDraft>) =>
    waysOf(moveRequest({ ...draft, ...change }, nfs)!, nfs).map((plans) =>
      plans.map((choices) => choices.map(({ node_id, on, slot }) => `${node_id} ${on} ${slot?.slot ?? ''}`.trim())),
    );

  it('is planned with the same choices, room first', () => {
    expect(ways({})).toEqual([[['ddos software'], ['sqli board 0']]]);
    for (const implementations of waysOf(moveRequest(draft, nfs)!, nfs)[0]!)
      expect(() => PlanRequest.parse({ implementations: [...implementations] })).not.toThrow();
  });

  it('displaces only what is in the way of a slot that is named', () => {
    const both = [nfKey(ddos), nfKey(nat)];
    expect(moveRequest({ ...draft, displaces: both }, nfs)!.displaces.map(({ node_id }) => node_id)).toEqual(['ddos']);
    expect(ways({ displaces: both, load: 'full' })).toEqual([[['ddos software', 'nat software'], ['sqli board 0']]]);
  });

  it('to any slot is planned without displacing anybody first, then as the server would', () => {
    const both = [nfKey(nat), nfKey(ddos)];
    expect(ways({ slot: '', displaces: both })).toEqual([[['sqli board']], [['ddos software'], ['sqli board 0']]]);
    expect(ways({ slot: '', displaces: [] })).toEqual([[['sqli board']]]);
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
