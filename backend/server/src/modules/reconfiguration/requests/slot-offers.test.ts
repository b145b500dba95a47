import type { Accelerator, NfRef, Plan, PlanRequest } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { invalid, unavailable } from '../../../platform/problem.js';
import type { PlanStore } from '../../../ports/plan-store.js';
import { References } from './references.js';
import { SlotOffers, type SlotQuestion } from './slot-offers.js';

const IDS: NfRef = { chain_id: 'ch-1', node_id: 'ids' };
const NAT: NfRef = { chain_id: 'ch-2', node_id: 'nat' };
const HERE = new AbortController().signal;

interface At {
  readonly board: string;
  readonly slot: number;
}

/** Where each NF is; null: in software. */
let places: [NfRef, At | null][];
let boards: Accelerator[];
let tryOut: ReturnType<typeof vi.fn<PlanStore['tryOut']>>;
let offers: SlotOffers;

function planOf(): Plan {
  const chains = places.map(([{ chain_id }]) => ({ chain_id, definition: { name: chain_id } }));
  const nodes = places.map(([nf, at]) => ({
    kind: 'nf',
    ...nf,
    nf: nf.node_id,
    driver: at ? 'board' : 'engine',
    ...(at && { board: { ...at, load: 'partial', policy: 'hold' } }),
  }));
  return { chains, graph: { nodes } } as unknown as Plan;
}

function board(id: string, slots: number, { modules = ['ids', 'nat'], reserved = -1, switches = [] as object[] } = {}) {
  return {
    id,
    title: id,
    description: { modules },
    switches,
    slots: Array.from({ length: slots }, (_, slot) => ({
      slot,
      state: 'empty',
      reservation: slot === reserved ? { reason: 'mine' } : null,
    })),
  } as unknown as Accelerator;
}

beforeEach(() => {
  places = [[IDS, null]];
  boards = [board('b', 1)];
  tryOut = vi.fn<PlanStore['tryOut']>(async () => ({ feasible: true }) as Plan);
  const view = {
    get comingPlan() {
      return places.length > 0 ? planOf() : null;
    },
    comingDrivers: [],
  } as never;
  const seen = { accelerators: () => boards, errorsOf: () => [] } as never;
  const references = new References(view, seen, { find: () => undefined } as never);
  const lenders = { refusalOfMoves: () => null } as never;
  offers = new SlotOffers({ tryOut } as unknown as PlanStore, view, seen, references, lenders);
});
afterEach(() => vi.restoreAllMocks());

const ask = (more: Partial<SlotQuestion> = {}, gone = HERE) => offers.of({ nf: IDS, load: 'partial', ...more }, gone);
const verdicts = async (more: Partial<SlotQuestion> = {}) => (await ask(more)).map(({ verdict }) => verdict);
/** What the plans were asked for, in order. */
const planned = () =>
  tryOut.mock.calls.map(([{ implementations }]) => implementations.map(({ slot, on }) => slot ?? on));

it('does not take an NF that is being loaded for one that is in every empty slot', async () => {
  places = [[IDS, { board: 'b', slot: 0 }]];
  boards = [board('b', 3)];
  expect(await verdicts()).toEqual(['refused', 'possible', 'possible']);
  expect(planned()).toEqual([[{ board: 'b', slot: 1 }]]);
});

it('plans one of the slots that are alike, and each that is reserved, in use, or at a switch', async () => {
  places = [
    [IDS, null],
    [NAT, { board: 'b', slot: 1 }],
  ];
  boards = [board('b', 4, { reserved: 2 }), board('s', 2, { switches: [{}] })];
  expect(await verdicts()).toEqual(Array.from({ length: 6 }, () => 'possible'));
  expect(planned().flat()).toEqual([
    { board: 'b', slot: 0 },
    'software',
    { board: 'b', slot: 1 },
    { board: 'b', slot: 2 },
    { board: 's', slot: 0 },
    { board: 's', slot: 1 },
  ]);
});

it('promises nothing of a slot that is faulty, nor takes the others for it', async () => {
  boards = [board('b', 3)];
  Object.assign(boards[0]!.slots[0]!, { state: 'faulty' });
  expect(await verdicts()).toEqual(['unchecked', 'possible', 'possible']);
});

it('displaces every NF of a board for a full load', async () => {
  places = [
    [IDS, null],
    [NAT, { board: 'b', slot: 1 }],
  ];
  boards = [board('b', 2)];
  const { chain_id, node_id } = NAT;
  expect(await ask({ load: 'full', only: { board: 'b', slot: 0 } })).toMatchObject([
    { nf: IDS, board: 'b', slot: 0, displaces: [{ chain_id, node_id }], verdict: 'possible' },
  ]);
  expect(planned()).toEqual([['software'], [{ board: 'b', slot: 0 }]]);
});

it('counts only what it plans towards its most, and leaves the rest unchecked', async () => {
  const without = Array.from({ length: 60 }, (_, i) => board(`none-${i}`, 1, { modules: [] }));
  boards = [...without, ...Array.from({ length: 50 }, (_, i) => board(`b-${i}`, 1))];
  const items = await ask();
  const count = (wanted: string) => items.filter(({ verdict }) => verdict === wanted).length;
  expect([count('refused'), count('possible'), count('unchecked')]).toEqual([60, 48, 2]);
  expect(items.at(-1)!.problem).toBe('no more than 48 slots are planned');
  expect(tryOut).toHaveBeenCalledTimes(48);
});

it('says of a slot why it has no plan, and goes on', async () => {
  boards = ['b-0', 'b-1', 'b-2', 'b-3'].map((id) => board(id, 1));
  const out = { pointer: '/time_limit_s', detail: 'raise the time limit', code: 'out-of-time' };
  const large = { pointer: '/chains', detail: 'there are too many', code: 'cannot-be-planned' };
  tryOut
    .mockRejectedValueOnce(unavailable('Too many plans are queued; try again soon.'))
    .mockRejectedValueOnce(invalid([out]))
    .mockRejectedValueOnce(invalid([large]));
  expect((await ask()).map(({ verdict, problem }) => [verdict, problem])).toEqual([
    ['unchecked', 'Too many plans are queued; try again soon.'],
    ['unchecked', 'its plan takes longer than 5 s'],
    ['unchecked', 'there are too many'],
    ['possible', null],
  ]);
  tryOut.mockRejectedValueOnce(new TypeError('a defect'));
  await expect(ask()).rejects.toThrow('a defect');
});

it.each(['the caller is gone', 'the time is over'])('plans no more once %s', async (why) => {
  const end = new AbortController();
  if (why === 'the time is over') vi.spyOn(AbortSignal, 'timeout').mockReturnValue(end.signal);
  boards = [board('b-0', 1), board('b-1', 1)];
  tryOut.mockImplementation(async () => {
    end.abort();
    return { feasible: true } as Plan;
  });
  const items = await ask({}, why === 'the time is over' ? HERE : end.signal);
  expect(items.map(({ verdict }) => verdict)).toEqual(['possible', 'unchecked']);
  expect(tryOut).toHaveBeenCalledTimes(1);
});

it('has one plan in the planner at a time, and refuses questions beyond those that wait', async () => {
  boards = [board('b', 1)];
  const limits = new Set<number | undefined>();
  let atOnce = 0;
  let most = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  tryOut.mockImplementation(async ({ time_limit_s }: PlanRequest) => {
    limits.add(time_limit_s);
    most = Math.max(most, ++atOnce);
    await held;
    atOnce--;
    return { feasible: true } as Plan;
  });
  const waiting = Array.from({ length: 16 }, () => ask());
  await expect(ask()).rejects.toMatchObject({ status: 503 });
  release();
  expect((await Promise.all(waiting)).flat().map(({ verdict }) => verdict)).toEqual(
    Array.from({ length: 16 }, () => 'possible'),
  );
  expect([most, [...limits]]).toEqual([1, [5]]);
  expect(await verdicts()).toEqual(['possible']);
});

it('answers for every NF in one question', async () => {
  places = [
    [IDS, null],
    [NAT, { board: 'b', slot: 0 }],
  ];
  const items = await ask({ nf: null, only: { board: 'b', slot: 0 } });
  expect(items).toMatchObject([
    { nf: IDS, displaces: [NAT], verdict: 'possible' },
    { nf: NAT, displaces: [], verdict: 'refused', problem: 'the NF is already in this slot' },
  ]);
  places = [];
  expect(await ask({ nf: null })).toEqual([]);
});
