import type { NfMove, Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { changesOf, detailOf } from './course.js';
import { brokenObjectives, decideBack } from './decision.js';

const slo = (pipeline_id: string, met: boolean) => ({ pipeline_id, slo_id: 'fast', met });
const planWith = (...slos: ReturnType<typeof slo>[]) => ({ slos }) as unknown as Plan;

describe('objectives that a reconfiguration would break', () => {
  const now = planWith(slo('moves', true), slo('displaced', true), slo('missed', false));
  const next = planWith(slo('moves', false), slo('displaced', false), slo('missed', false));
  const brokenFor = (priority: number, of: Record<string, number>) =>
    brokenObjectives(now, next, new Set(['moves']), priority, (id) => of[id] ?? 50).map(
      ({ pipeline_id }) => pipeline_id,
    );

  it('are those of more important chains, the displaced one among them, that were to be met', () => {
    expect(brokenFor(50, { displaced: 51, missed: 100 })).toEqual(['displaced']);
    expect(brokenFor(50, { displaced: 50 })).toEqual([]);
    expect(brokenFor(50, { moves: 100 })).toEqual([]);
  });
});

describe('the way back', () => {
  const ref = (node_id: string) => ({ pipeline_id: 'pl-1', node_id });
  const place = { board: 'board-1', slot: 0, load: 'partial', policy: 'hold' } as const;
  const plan = {
    instances: [
      { ...ref('moved'), nf: 'ids', driver: 'board', board: place },
      { ...ref('displaced'), nf: 'nat', driver: 'engine' },
    ],
  } as unknown as Plan;
  const earlier: NfMove[] = [
    { ...ref('moved'), nf: 'ids', from: 'container', to: 'board-1 slot 0' },
    { ...ref('displaced'), nf: 'nat', from: 'board-1 slot 0', to: 'software' },
  ];
  const toldOf = (moves: NfMove[]) => {
    const decision = decideBack(plan, ref('moved'), moves, place);
    const run = { load: 'partial', slot: place, moves: decision.moves } as const;
    const details = changesOf(decision).map(({ stage, leads }) => [
      detailOf(stage, run),
      leads ? detailOf('response', run) : null,
    ]);
    return { moves: decision.moves.map(({ nf, from, to }) => `${nf} from ${from} to ${to}`), details };
  };

  it('leads to a container what was one before, and says so', () => {
    expect(toldOf(earlier.slice(0, 1))).toEqual({
      moves: ['ids from board-1 slot 0 to container'],
      details: [['ids to container', 'traffic led to container']],
    });
  });

  it('tells who leaves for a container from who returns to the slot', () => {
    expect(toldOf(earlier)).toEqual({
      moves: ['ids from board-1 slot 0 to container', 'nat from software to board-1 slot 0'],
      details: [
        ['ids to container', null],
        ['nat, partial load of board-1 slot 0', 'traffic led to the board'],
      ],
    });
  });

  it('leads to software what was software before', () => {
    const was = [{ ...earlier[0]!, from: 'software' }];
    expect(toldOf(was).details).toEqual([['ids to software', 'traffic led to software']]);
  });
});
