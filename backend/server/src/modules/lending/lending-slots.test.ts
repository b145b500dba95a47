import { type LendingGroupRequest, type NfMove, nfInstances, type Plan } from '@orrery/contract';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MoveOutcome } from '../../testing/fake-moves.js';
import { killAt } from '../../testing/kill-point.js';
import { FakeAgents, FakeVnf, type LendingBench } from '../../testing/lending-bench.js';
import { lendingStore } from '../../testing/lending-store.js';

/** Of two chains, on two servers; the board is beside the first. */
const NEAR = 'ch-1.tunnel.0';
const FAR = 'ch-2.tunnel.0';
const SLOT = 'board-1/slot-0';
const slot = (number: number) => ({ kind: 'slot' as const, board: 'board-1', slot: number });
const GROUP: Partial<LendingGroupRequest> = { chains: ['ch-1', 'ch-2'], accelerators: [slot(0)] };

const lab = lendingStore();
let agents: FakeAgents;
let near: FakeVnf;
let far: FakeVnf;
let bench: LendingBench;

function twoChains(): void {
  agents = new FakeAgents();
  near = new FakeVnf(NEAR, 'server-1');
  far = new FakeVnf(FAR, 'server-2');
  agents.add(near, far);
}

beforeEach(async () => {
  twoChains();
  bench = await lab.start(agents);
});
afterEach(async () => {
  await bench.stop();
  expect(agents.moves.shared).toEqual([]);
});

const now = (id: string) => bench.view.describe(bench.groups.get(id)).accelerators_now[0];
const memberOf = (id: string, vnf: string) =>
  bench.view.describe(bench.groups.get(id)).members.find(({ instance_id }) => instance_id === vnf)!;

describe('a slot', () => {
  it('is lent in turn to VNFs wherever they stand: each moves there and back, and is one VNF all the time', async () => {
    const id = await bench.addGroup(GROUP);
    await bench.pass(34);
    expect(agents.moves.asked).toEqual([
      `${NEAR} to ${SLOT}`,
      `${NEAR} home`,
      `${FAR} to ${SLOT}`,
      `${FAR} home`,
      `${NEAR} to ${SLOT}`,
      `${NEAR} home`,
      `${FAR} to ${SLOT}`,
    ]);
    expect(bench.turns(id).map(({ instance_id, chain_id, why, ended }) => [instance_id, chain_id, why, ended])).toEqual(
      [
        [NEAR, 'ch-1', 'overload', 'slice-over'],
        [FAR, 'ch-2', 'overload', 'slice-over'],
        [NEAR, 'ch-1', 'overload', 'slice-over'],
        [FAR, 'ch-2', 'overload', null],
      ],
    );
    expect(bench.holders().toSorted()).toEqual([`accelerator/${SLOT}`, 'board/board-1/0']);
    const { members, fairness } = bench.view.describe(bench.groups.get(id));
    expect(members).toMatchObject([
      { instance_id: NEAR, slot: null, accelerated: false, held_s: 22 },
      { instance_id: FAR, slot: { board: 'board-1', slot: 0 }, accelerated: true, accelerator: SLOT, held_s: 12 },
    ]);
    expect(fairness).toBeGreaterThan(0.9);
    expect(now(id)).toEqual({ accelerator: SLOT, state: 'held', holder: FAR, held_s: 1, origin: 'twin' });
  });

  it('is given up when software could carry the traffic again, by the cost that was measured there', async () => {
    far.software = 0.1;
    Object.assign(near, { software: 0.7, bps: 28e6 });
    const id = await bench.addGroup(GROUP);
    await bench.pass(3);
    Object.assign(near, { software: 0.95, bps: 38e6 });
    await bench.pass(5);
    expect(near.slot).toBe(SLOT);
    expect(memberOf(id, NEAR).usage).toBeCloseTo(0.95);
    near.bps = 24e6;
    await bench.pass(0.5);
    expect(bench.told('lending.released')).toEqual([`${NEAR} idle`]);
    expect(near.slot).toBeNull();
  });

  it('is handed over as slowly as moves are, which counts', async () => {
    const id = await bench.addGroup(GROUP);
    await bench.pass(10.5);
    agents.moves.isSlow = true;
    await bench.pass(3);
    expect(now(id)).toMatchObject({ state: 'releasing', holder: NEAR });
    agents.moves.finish();
    await bench.pass(2);
    expect(now(id)).toMatchObject({ state: 'granting', holder: FAR });
    agents.moves.finish();
    await bench.pass(0.5);
    const { switch_ms, overhead } = bench.view.describe(bench.groups.get(id));
    expect(switch_ms).toBeGreaterThan(4000);
    expect(overhead).toBeCloseTo(switch_ms! / (switch_ms! + 11_000));
  });

  it('is given to another one where a move is refused, and why is told', async () => {
    agents.moves.outcomes.push('refused');
    const id = await bench.addGroup(GROUP);
    await bench.pass(0.5);
    expect([near.slot, far.slot]).toEqual([null, SLOT]);
    expect(memberOf(id, NEAR).waits_for).toBe('the move was refused');
    await bench.pass(24);
    expect(bench.turns(id).map(({ instance_id }) => instance_id)).toEqual([FAR, NEAR, FAR]);
    expect(memberOf(id, NEAR).waits_for).toBeNull();
  });

  it('that cannot be given back stays with its holder, and is asked for again', async () => {
    await bench.addGroup(GROUP);
    agents.moves.outcomes.push('rolled-back', 'rolled-back');
    await bench.pass(12);
    expect([near.slot, far.slot]).toEqual([SLOT, null]);
    await bench.pass(4);
    expect([near.slot, far.slot]).toEqual([null, SLOT]);
  });

  it('waits for whoever changes the chain, and says so', async () => {
    far.software = 0.1;
    const change = { claim: 'change', holder: 'sc-1', purpose: 'scaling', by: 'tests' } as const;
    await bench.commit((batch) => bench.leases.acquireIn(batch, { ...change, resources: ['chain/ch-1'] }));
    const id = await bench.addGroup(GROUP);
    await bench.pass(5);
    expect([agents.moves.asked, memberOf(id, NEAR).waits_for]).toEqual([[], 'The scaling sc-1 is under way.']);
    await bench.commit((batch) => bench.leases.releaseIn(batch, 'change', 'sc-1'));
    await bench.pass(0.5);
    expect(near.slot).toBe(SLOT);
  });

  it('of a board that fails is lost once its VNF has left it, and lent when it works again', async () => {
    far.software = 0.1;
    const id = await bench.addGroup(GROUP);
    agents.isBoardUp = false;
    await bench.pass(1);
    expect(bench.told('lending.released')).toEqual([]);
    near.slot = null;
    await bench.pass(5);
    expect(bench.told('lending.released')).toEqual([`${NEAR} failed`]);
    expect(now(id)).toMatchObject({ state: 'broken', holder: null });
    agents.isBoardUp = true;
    await bench.pass(0.5);
    expect(near.slot).toBe(SLOT);
  });

  it('of a VNF whose chain is taken down is free without a move', async () => {
    await bench.addGroup(GROUP);
    agents.vnfs.delete(NEAR);
    await bench.pass(1);
    expect(bench.told('lending.released')).toEqual([`${NEAR} gone`]);
    expect(agents.moves.asked).toEqual([`${NEAR} to ${SLOT}`, `${FAR} to ${SLOT}`]);
  });

  it('that what runs there by its own plan uses is not lent, and what cannot run there takes no part', async () => {
    far.slot = SLOT;
    const id = await bench.addGroup({ ...GROUP, chains: ['ch-1'] });
    await bench.pass(2);
    expect(now(id)).toMatchObject({ state: 'used', holder: 'ch-2.tunnel.board-1-0' });
    // Two instances of one NF.
    agents.add(new FakeVnf('ch-1.tunnel.1', 'server-1'));
    far.slot = null;
    await bench.pass(2);
    expect([now(id)!.state, agents.moves.asked]).toEqual(['lacking', []]);
  });

  it('comes back when its group is disabled or deleted, also if the server was killed meanwhile', async () => {
    const id = await bench.addGroup(GROUP);
    await bench.change(id, { enabled: false });
    await bench.pass(1);
    expect([near.slot, bench.holders()]).toEqual([null, []]);
    await bench.change(id, { enabled: true });
    agents.moves.isSlow = true;
    await bench.groups.remove(id, null, 'tests');
    await bench.pass(1);
    await bench.stop();
    bench = await lab.start(agents);
    await bench.pass(1);
    expect(bench.holders()).toEqual([`accelerator/${SLOT}`]);
    agents.moves.finish();
    await bench.pass(2);
    expect([near.slot, far.slot, bench.holders(), bench.ledgers.groupIds()]).toEqual([null, null, [], []]);
  });

  it('that a killed server was giving is confirmed when the move is over', async () => {
    agents.moves.isSlow = true;
    const id = await bench.addGroup(GROUP);
    await bench.stop();
    bench = await lab.start(agents);
    await bench.pass(3);
    expect([now(id), agents.moves.asked]).toMatchObject([{ state: 'unknown', holder: NEAR }, [`${NEAR} to ${SLOT}`]]);
    agents.moves.finish();
    await bench.pass(0.5);
    expect(bench.turns(id)).toMatchObject([{ instance_id: NEAR, to_ms: null, switch_ms: null }]);
  });
});

it('a VNF has the instructions of its server or a slot, never both', async () => {
  const accelerators = [{ kind: 'instructions' as const, server: 'server-1' }, slot(0)];
  const id = await bench.addGroup({ ...GROUP, accelerators, slice_s: 2 });
  for (let s = 0; s < 20; s++) {
    await bench.pass(1);
    expect(near.accelerated && near.slot !== null).toBe(false);
  }
  const taken = bench.turns(id).map(({ instance_id, accelerator }) => `${instance_id} ${accelerator}`);
  expect(new Set(taken)).toContain(`${FAR} ${SLOT}`);
  expect(new Set(taken)).not.toContain(`${FAR} server-1/instructions`);
});

describe('what others may not do', () => {
  const plan = (changes: (vnfs: Map<string, FakeVnf>) => void = () => undefined): Plan => {
    const [nearWas, farWas] = [near.slot, far.slot];
    changes(agents.vnfs);
    const made = bench.plan;
    near.slot = nearWas;
    far.slot = farWas;
    agents.add(near, far);
    return made;
  };

  it('is to put an NF into a slot of a group, or to take the holder out; the group itself may', async () => {
    await bench.addGroup(GROUP);
    const before = plan();
    expect(nfInstances(before.graph).map(({ id }) => id)).toEqual(['ch-1.tunnel.board-1-0', FAR]);
    const why = (after: Plan) => bench.rights.refusalOf(before, after);
    expect(why(before)).toBeNull();
    expect(why(plan(() => void Object.assign(near, { slot: null })))).toMatch(
      /"tunnels" has lent board-1\/slot-0 to ch-1.tunnel.0/,
    );
    expect(why(plan((vnfs) => void vnfs.delete(NEAR)))).toBeNull();
    const taken = plan(() => {
      near.slot = null;
      far.slot = SLOT;
    });
    expect(why(taken)).toMatch(/has lent board-1\/slot-0/);
    const there = { on: 'board', slot: { board: 'board-1', slot: 0 } } as const;
    const move = {
      chain_id: 'ch-1',
      node_id: 'tunnel',
      nf: 'crypto-tunnel',
      from: there,
      to: { on: 'software' },
    } as NfMove;
    expect(bench.rights.refusalOfMoves([move])).toMatch(/has lent/);
    agents.isBoardUp = false;
    expect(why(plan(() => void Object.assign(near, { slot: null })))).toBeNull();
    agents.isBoardUp = true;
    agents.moves.isSlow = true;
    await bench.pass(11.5);
    expect(bench.rights.refusalOfMoves([move])).toBeNull();
    agents.moves.finish();
    await bench.pass(1);
  });

  it('is to use what is free but lent by an enabled group', async () => {
    for (const vnf of [near, far]) vnf.software = 0.1;
    const id = await bench.addGroup(GROUP);
    const why = () =>
      bench.rights.refusalOf(
        plan(),
        plan(() => void Object.assign(far, { slot: SLOT })),
      );
    expect(why()).toMatch(/"tunnels" decides who uses board-1\/slot-0/);
    await bench.change(id, { enabled: false });
    expect(why()).toBeNull();
  });

  it('is to reserve it, or to lend what is reserved', async () => {
    const reserve = { claim: 'reserve', holder: 'operators', purpose: 'a test', by: 'Ada' } as const;
    await bench.commit((batch) => bench.leases.acquireIn(batch, { ...reserve, resources: ['board/board-1/0'] }));
    await expect(bench.addGroup(GROUP)).rejects.toMatchObject({
      status: 422,
      errors: [{ pointer: '/accelerators/0', detail: 'is reserved by Ada', code: 'reserved' }],
    });
  });
});

describe('whatever becomes of moves, boards, chains and the server', () => {
  const outcome = fc.constantFrom<MoveOutcome>('completed', 'completed', 'refused', 'rolled-back');
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('pass' as const), outcomes: fc.array(outcome, { maxLength: 2 }) }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('slow' as const, 'finish' as const, 'board' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('kill' as const), write: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('fall-back' as const, 'away' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('load' as const), loads: fc.tuple(fc.boolean(), fc.boolean()) }),
    },
  );

  it('a slot has one VNF at most, nobody has two, and turns go on afterwards', async () => {
    let turns = 0;
    let kills = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 20 }), async (steps) => {
        await bench.stop();
        await lab.redis.flushall();
        twoChains();
        let its = lab.own();
        bench = await lab.start(agents, its);
        const id = await bench.addGroup({ ...GROUP, slice_s: 1 });
        for (const it of steps) {
          if (it.do === 'load') for (const [n, vnf] of [near, far].entries()) vnf.software = it.loads[n] ? 0.99 : 0.1;
          else if (it.do === 'slow') agents.moves.isSlow = true;
          else if (it.do === 'finish') agents.moves.finish();
          else if (it.do === 'board') agents.isBoardUp = !agents.isBoardUp;
          else if (it.do === 'away' && !agents.away.delete('server-1')) agents.away.add('server-1');
          else if (it.do === 'fall-back' && agents.moves.underWay === 0) near.slot = null;
          else if (it.do === 'kill') {
            killAt(its, { write: it.write, when: it.write === 2 ? 'before' : 'after' });
            await bench.pass(1);
            await bench.stop();
            its = lab.own();
            bench = await lab.start(agents, its);
            kills++;
          } else if (it.do === 'pass') {
            agents.moves.outcomes.push(...it.outcomes);
            await bench.pass(1);
          }
          expect(agents.moves.shared).toEqual([]);
        }
        agents.moves.outcomes.length = 0;
        agents.moves.isSlow = false;
        agents.moves.finish();
        agents.away.clear();
        agents.isBoardUp = true;
        for (const vnf of [near, far]) vnf.software = 0.99;
        const before = bench.turns(id).length;
        await bench.pass(40);
        expect(bench.turns(id).length).toBeGreaterThan(before + 3);
        const open = bench.turns(id).filter(({ to_ms }) => to_ms === null);
        const there = [near, far].filter((vnf) => vnf.slot !== null);
        expect(open.map(({ instance_id }) => instance_id)).toEqual(there.map((vnf) => vnf.id));
        turns += bench.turns(id).length;
        await bench.groups.remove(id, null, 'tests');
        await bench.pass(2);
        const users = [near, far].filter((vnf) => vnf.slot !== null);
        expect([users, bench.leases.all(), bench.ledgers.groupIds(), bench.turns(id)]).toEqual([[], [], [], []]);
      }),
      { numRuns: 4, seed: 65 },
    );
    expect(turns).toBeGreaterThan(30);
    expect(kills).toBeGreaterThan(3);
  });
});
