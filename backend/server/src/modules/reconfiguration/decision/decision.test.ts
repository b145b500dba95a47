import type { NfMove, Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { changesOf, detailOf } from '../conduct/changes.js';
import { placeText } from '../places.js';
import { brokenObjectives, decideBack } from './decision.js';

const SLOT = { board: 'board-1', slot: 0 };

const slo = (chain_id: string, met: boolean) => ({ chain_id, slo_id: 'fast', met });
const planWith = (...slos: ReturnType<typeof slo>[]) => ({ slos }) as unknown as Plan;

describe('objectives that a reconfiguration would break', () => {
  const now = planWith(slo('moves', true), slo('displaced', true), slo('missed', false));
  const next = planWith(slo('moves', false), slo('displaced', false), slo('missed', false));
  const brokenFor = (priority: number, of: Record<string, number>) =>
    brokenObjectives(now, next, new Set(['moves']), priority, (id) => of[id] ?? 50).map(({ chain_id }) => chain_id);

  it('are those of higher-priority chains, including displaced ones, that were predicted to be met', () => {
    expect(brokenFor(50, { displaced: 51, missed: 100 })).toEqual(['displaced']);
    expect(brokenFor(50, { displaced: 50 })).toEqual([]);
    expect(brokenFor(50, { moves: 100 })).toEqual([]);
  });
});

describe('the way back', () => {
  const ref = (node_id: string) => ({ chain_id: 'ch-1', node_id });
  const place = { board: 'board-1', slot: 0, load: 'partial', policy: 'hold' } as const;
  const plan = {
    graph: {
      nodes: [
        { kind: 'nf', ...ref('moved'), nf: 'ids', driver: 'board', board: place },
        { kind: 'nf', ...ref('displaced'), nf: 'nat', driver: 'engine' },
      ],
      edges: [],
    },
  } as unknown as Plan;
  const earlier: NfMove[] = [
    { ...ref('moved'), nf: 'ids', from: { on: 'container' }, to: { on: 'board', slot: SLOT } },
    { ...ref('displaced'), nf: 'nat', from: { on: 'board', slot: SLOT }, to: { on: 'software' } },
  ];
  const toldOf = (moves: NfMove[]) => {
    const decision = decideBack(plan, ref('moved'), moves, place);
    const run = { load: 'partial', slot: place, moves: decision.moves } as const;
    const details = changesOf(decision).map(({ stage, leads }) => [
      detailOf(stage, run),
      leads ? detailOf('response', run) : null,
    ]);
    return {
      moves: decision.moves.map(({ nf, from, to }) => `${nf} from ${placeText(from)} to ${placeText(to)}`),
      details,
    };
  };

  it('returns a former container to a container, and says so', () => {
    expect(toldOf(earlier.slice(0, 1))).toEqual({
      moves: ['ids from board-1 slot 0 to container'],
      details: [['ids to container', 'traffic steered to container']],
    });
  });

  it('distinguishes an NF that leaves for a container from one that returns to the slot', () => {
    expect(toldOf(earlier)).toEqual({
      moves: ['ids from board-1 slot 0 to container', 'nat from software to board-1 slot 0'],
      details: [
        ['ids to container', null],
        ['nat, partial load of board-1 slot 0', 'traffic steered to the board'],
      ],
    });
  });

  it('returns a former software NF to software', () => {
    const was: NfMove[] = [{ ...earlier[0]!, from: { on: 'software' } }];
    expect(toldOf(was).details).toEqual([['ids to software', 'traffic steered to software']]);
  });
});
