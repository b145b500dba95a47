import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isOver } from '../../ports/operation-log.js';
import { type HealingStory, HealingWorld, healingServer, placesOf } from '../../testing/healing-bench.js';

const STORY: HealingStory = {
  places: { high: 'server-1' },
  origins: { 'server-1': 'twin', 'server-2': 'twin' },
  isWell: (server, second) => server !== 'server-1' || second < 3 || second >= 30,
};
const SHUT: HealingStory = { ...STORY, places: { high: 'server-1', low: 'server-2' }, closed: ['low'] };

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

async function healing(story: HealingStory) {
  const world = new HealingWorld(story);
  return { world, ...(await healingServer(world, world.store.open())) };
}

it.each([
  { enabled: false, builtRevision: null },
  { enabled: true, builtRevision: null },
])(
  'a live server is judged while the twin, which has another one, is $enabled and has built $builtRevision',
  async (twin) => {
    const { world, records, goOn } = await healing({
      places: { high: 'live-1' },
      origins: { 'live-1': 'live', 'live-2': 'live', 'server-1': 'twin' },
      isWell: (server, second) => server === 'live-2' || (server === 'live-1' && second < 3),
      twin,
    });
    await goOn(20);
    expect(placesOf(world.inForce)).toEqual({ high: 'live-2' });
    expect(world.store.counts).toEqual({ 'healing.lost': 1, 'healing.moved': 1 });
    expect(records.out()).toMatchObject([{ id: 'live-1' }]);
  },
);

it('a loss is healed beyond the limit of changes, which holds the return back', async () => {
  const away = [
    [3, 30],
    [60, 90],
  ];
  const isWell = (server: string, second: number) =>
    server !== 'server-1' || away.every(([from, to]) => second < from! || second >= to!);
  const { world, records, goOn, setPolicy } = await healing({ ...STORY, isWell });
  await setPolicy({ max_changes: 2 });
  await goOn(55);
  expect(placesOf(world.inForce)).toEqual({ high: 'server-1' });
  await goOn(80);
  expect(placesOf(world.inForce)).toEqual({ high: 'server-2' });
  await goOn(200);
  expect(placesOf(world.inForce)).toEqual({ high: 'server-2' });
  expect(records.out()).toMatchObject([{ id: 'server-1', lost: null }]);
  expect(world.decisions.filter(({ what }) => what === 'Hold back')).toMatchObject([{ subject: 'server-1' }]);
  await goOn(700);
  expect([placesOf(world.inForce), records.out()]).toEqual([{ high: 'server-1' }, []]);
});

it('a return that is cancelled stays open with the reason, ends no maintenance, and is tried again', async () => {
  const { world, records, goOn } = await healing(STORY);
  const { operations } = world;
  await goOn(100, () => {
    const last = operations.accepted.at(-1);
    if (operations.accepted.length === 2 && !isOver(operations.log.find(last!.id)!)) operations.cancel(last!.id, 'ann');
  });
  expect(operations.accepted).toHaveLength(3);
  expect([placesOf(world.inForce), records.out()]).toEqual([{ high: 'server-1' }, []]);
  expect(Object.keys(world.store.counts)).not.toContain('maintenance.ended');

  const second = await healing(STORY);
  await second.goOn(100, () => {
    const { accepted, log } = second.world.operations;
    const { id } = accepted.at(-1) ?? {};
    if (accepted.length > 1 && !isOver(log.find(id!)!)) second.world.operations.cancel(id!, 'ann');
  });
  expect(second.records.out()).toMatchObject([
    {
      id: 'server-1',
      ...{ lost: null, maintenance: null, return_refused: 'Cancelled by ann' },
      left: [{ chain_id: 'high', node_id: 'fw', instance: 'high.fw.0' }],
    },
  ]);
});

it('a chain that was given up is listed until its packets pass: also while that is cancelled', async () => {
  const { world, records, redeployment, goOn } = await healing({ ...SHUT, isWell: (id) => id !== 'server-1' });
  await goOn(20);
  const listed = () => records.notKept().map(({ chain_id, given_up_by }) => [chain_id, given_up_by]);
  expect(listed()).toEqual([['low', null]]);
  await redeployment.giveUp('low', 'ann');
  expect(listed()).toEqual([['low', 'ann']]);
  await expect(redeployment.deploy('low', 'bob')).rejects.toThrow('being given up');
  await expect(redeployment.giveUp('low', 'bob')).rejects.toThrow('being given up');
  world.operations.cancel(world.operations.accepted.at(-1)!.id, 'ann');
  await goOn(22);
  expect([listed(), world.inForce.guarded]).toEqual([[['low', null]], [{ chain_id: 'low' }]]);
  expect(world.store.counts['healing.given-up']).toBeUndefined();
  await redeployment.giveUp('low', 'ann');
  await goOn(24);
  expect([listed(), world.inForce.guarded, world.store.counts['healing.given-up']]).toEqual([[], [], 1]);
});

it('a chain that an operation under way may deploy is not given up: its packets are dropped again if that is cancelled', async () => {
  const { world, records, redeployment, goOn } = await healing({ ...SHUT, isWell: (id) => id !== 'server-1' });
  await goOn(20);
  world.coming = { ...world.inForce, id: 'plan-x', guarded: [] };
  await expect(redeployment.giveUp('low', 'ann')).rejects.toThrow('An operation under way is about it');
  expect(records.notKept()).toHaveLength(1);
});

const LOST = { why: 'its agent is away', since_ms: 0 };

it.each([
  { enabled: true, lost: null },
  { enabled: false, lost: null },
  { enabled: false, lost: LOST },
])(
  'a drain of which nobody knows whether it was accepted, and that fails then, comes about (%o)',
  async ({ enabled, lost }) => {
    const isWell = (id: string) => lost === null || id !== 'server-1';
    const { world, records, goOn, setPolicy } = await healing({ ...STORY, isWell, ends: ['failed'] });
    await setPolicy({ enabled });
    const maintenance = { reason: 'new memory', by: 'ann', since_ms: 0, force: false };
    await records.commit((draft) =>
      draft.change('server-1', () => ({
        kind: 'server',
        origin: 'twin',
        ...{ id: 'server-1', maintenance, lost, operation_id: 'op-drain', left: [], return_refused: null },
      })),
    );
    await goOn(20);
    const { accepted } = world.operations;
    expect(accepted.map(({ request }) => request)).toEqual(Array(2).fill({ without_servers: ['server-1'] }));
    expect(accepted[0]!.id).toBe('op-drain');
    expect(placesOf(world.inForce)).toEqual({ high: 'server-2' });
    expect(records.out()).toMatchObject([{ id: 'server-1', maintenance, lost }]);
  },
);

it('a drain of a lost server that is cancelled while healing is off is over, and the server stays lost', async () => {
  const isWell = (id: string) => id !== 'server-1';
  const { world, records, goOn, setPolicy } = await healing({ ...STORY, isWell, comesFromS: 20 });
  await setPolicy({ enabled: false });
  const maintenance = { reason: 'new memory', by: 'ann', since_ms: 0, force: true };
  await records.commit((draft) =>
    draft.change('server-1', () => ({
      kind: 'server',
      origin: 'twin',
      ...{ id: 'server-1', maintenance, lost: LOST, operation_id: null, left: [], return_refused: null },
    })),
  );
  await goOn(5);
  world.operations.cancel(world.operations.accepted[0]!.id, 'bob');
  await goOn(60);
  expect([world.operations.accepted.length, placesOf(world.inForce)]).toEqual([1, { high: 'server-1' }]);
  expect(records.out()).toMatchObject([{ id: 'server-1', maintenance: null, lost: LOST }]);
});

it('a drain that is stuck and rolled back by hand is not asked for again: the server is in service', async () => {
  const { world, records, goOn } = await healing({ ...STORY, isWell: () => true, ends: ['stuck'] });
  const maintenance = { reason: 'new memory', by: 'ann', since_ms: 0, force: false };
  await records.commit((draft) =>
    draft.change('server-1', () => ({
      kind: 'server',
      origin: 'twin',
      ...{ id: 'server-1', maintenance, lost: null, operation_id: null, left: [], return_refused: null },
    })),
  );
  await goOn(10);
  world.operations.rollBack(world.operations.accepted[0]!.id, 'bob');
  await goOn(60);
  expect([world.operations.accepted.length, placesOf(world.inForce)]).toEqual([1, { high: 'server-1' }]);
  expect(records.out()).toEqual([]);
  expect(world.store.told).toMatchObject([
    { type: 'maintenance.ended', subject: 'server-1', message: 'Its operation was rolled back', actor: 'bob' },
  ]);
});

it('what was lost before healing was switched off, and is not healed, stays as it is', async () => {
  const { world, records, goOn, setPolicy } = await healing({
    ...STORY,
    isWell: (id) => id !== 'server-1',
    ends: ['failed'],
  });
  const { accepted } = world.operations;
  await goOn(100, async () => {
    if (accepted.length > 0 && records.policy.enabled) await setPolicy({ enabled: false });
  });
  expect([accepted.length, placesOf(world.inForce)]).toEqual([1, { high: 'server-1' }]);
  expect(records.out()).toMatchObject([{ id: 'server-1', lost: { why: expect.any(String) } }]);
});

it('who changes the policy is told with what it is from then on', async () => {
  const { world, setPolicy } = await healing(STORY);
  await setPolicy({ enabled: false, grace_s: 3 });
  expect(world.store.told).toMatchObject([
    { type: 'healing.policy', subject: 'healing', actor: 'ann', data: { enabled: false, grace_s: 3 } },
  ]);
});
