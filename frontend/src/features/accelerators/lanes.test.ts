import type { EventOf, SlotState } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldLanes, type LaneEvent, loadKindOf, phaseAt } from './lanes.js';
import { boardEvent, boardWith, reconfigurationWith, returnedEvent, slotEvent, slotWith } from './testing.js';

const idle = boardWith({ id: 'board-1' });
const active = boardWith({
  id: 'board-1',
  slots: [slotWith({ slot: 0, state: 'active', module: 'nat', chain_id: 'ch-1', node_id: 'nat' })],
});
const slot = (t: number, state: SlotState, more = {}) => slotEvent(t, { board: 'board-1', slot: 0, state, ...more });
const nat = { module: 'nat', chain_id: 'ch-1', node_id: 'nat' };
const told = (phases: readonly { state: string; from_ms: number; to_ms: number | null }[] | undefined) =>
  phases?.map(({ state, from_ms, to_ms }) => [state, from_ms, to_ms]);

describe('foldLanes', () => {
  it('makes one phase of each change, the last one still going on', () => {
    const log = [
      slot(1000, 'empty'),
      slot(2000, 'loading', nat),
      slot(4000, 'configuring', nat),
      slot(5000, 'active', nat),
    ];
    const [lane] = foldLanes([active], 9000, log, 0);
    expect(told(lane?.phases)).toEqual([
      ['empty', 1000, 2000],
      ['loading', 2000, 4000],
      ['configuring', 4000, 5000],
      ['active', 5000, null],
    ]);
    expect(lane?.phases.at(-1)?.nf).toEqual({ chain_id: 'ch-1', node_id: 'nat' });
  });

  it('takes what a slot does now to have lasted when the log tells nothing of it', () => {
    const other = slotEvent(3000, { board: 'board-2', slot: 0, state: 'faulty' });
    expect(told(foldLanes([active], 9000, [other], 100)[0]?.phases)).toEqual([['active', 100, null]]);
  });

  it('believes the resource when it was read well after the last event, and the event before that', () => {
    const log = [slot(5000, 'active', nat)];
    expect(told(foldLanes([idle], 5200, log, 0)[0]?.phases)).toEqual([['active', 5000, null]]);
    expect(told(foldLanes([idle], 7000, log, 0)[0]?.phases)).toEqual([
      ['active', 5000, 7000],
      ['empty', 7000, null],
    ]);
  });

  it('shows every slot as absent while its board is away, and what the slot did meanwhile not at all', () => {
    const board = (t: number, state: EventOf<'board.state'>['data']['state']) => boardEvent(t, 'board-1', state);
    const log: LaneEvent[] = [
      slot(1000, 'active', nat),
      board(2000, 'failed'),
      slot(2500, 'unknown'),
      board(3000, 'absent'),
    ];
    log.push(board(4000, 'operating'), slot(4000.5, 'empty'));
    expect(told(foldLanes([idle], 9000, log, 0)[0]?.phases)).toEqual([
      ['active', 1000, 2000],
      ['absent', 2000, 4000],
      ['unknown', 4000, 4000.5],
      ['empty', 4000.5, null],
    ]);
  });

  it('shows every slot as starting, not absent, while its board is being built or started', () => {
    const starting = { ...idle, state: 'starting' as const };
    const log: LaneEvent[] = [boardEvent(2000, 'board-1', 'absent')];
    expect(told(foldLanes([starting], 9000, log, 0)[0]?.phases)).toEqual([
      ['absent', 2000, 9000],
      ['starting', 9000, null],
    ]);
    expect(told(foldLanes([starting], 9000, [], 100)[0]?.phases)).toEqual([['starting', 100, null]]);
    // Its agent knows nothing of it until then.
    expect(told(foldLanes([starting], 9000, [slot(1000, 'unknown')], 0)[0]?.phases)).toEqual([
      ['starting', 1000, null],
    ]);
    const late = [slot(1000, 'active', nat), returnedEvent(6000, 3000), slot(6500, 'unknown')];
    expect(told(foldLanes([starting], 9000, late, 0)[0]?.phases)).toEqual([
      ['active', 1000, 3000],
      ['unknown', 3000, 6500],
      ['starting', 6500, null],
    ]);
  });

  it('knows nothing of the time in which the server was away', () => {
    const log = [slot(1000, 'active', nat), returnedEvent(6000, 3000), slot(6500, 'active', nat)];
    expect(told(foldLanes([active], 6600, log, 0)[0]?.phases)).toEqual([
      ['active', 1000, 3000],
      ['unknown', 3000, 6500],
      ['active', 6500, null],
    ]);
    expect(told(foldLanes([idle], 6600, [returnedEvent(500, 100), slot(1000, 'empty')], 0)[0]?.phases)).toEqual([
      ['empty', 1000, null],
    ]);
    // The clock of the note lies a little before the last event.
    const late = [slot(1000, 'active', nat), returnedEvent(6000, 900), slot(6500, 'empty')];
    expect(told(foldLanes([idle], 6600, late, 0)[0]?.phases)).toEqual([
      ['unknown', 1000, 6500],
      ['empty', 6500, null],
    ]);
  });

  it('parts two NFs that one slot serves one after the other', () => {
    const log = [slot(1000, 'active', nat), slot(2000, 'active', { ...nat, chain_id: 'ch-2' })];
    expect(foldLanes([active], 2500, log, 0)[0]?.phases).toHaveLength(2);
  });

  it('takes over who is served, and by which load, as soon as anything tells it', () => {
    const log = [slot(1000, 'loading', { module: 'nat', load: 'full' })];
    const loading = { ...slotWith({ slot: 0, state: 'loading', ...nat }) };
    const [lane] = foldLanes([boardWith({ id: 'board-1', slots: [loading] })], 9000, log, 0);
    expect(lane?.phases).toMatchObject([{ from_ms: 1000, to_ms: null, load: 'full', nf: { node_id: 'nat' } }]);
  });

  it('keeps the name of the chain from the instance, for when the chain is deleted', () => {
    const log = [slot(1000, 'active', { ...nat, instance_id: 'web.nat.board-1-0' }), slot(2000, 'empty')];
    const [lane] = foldLanes([idle], 2500, log, 0);
    expect(lane?.phases.map(({ chain }) => chain)).toEqual(['web', null]);
  });

  it('says of an empty slot that it serves nobody, although a plan has it for somebody', () => {
    const planned = slotWith({ slot: 0, chain_id: 'ch-1', node_id: 'nat' });
    const [lane] = foldLanes([boardWith({ id: 'board-1', slots: [planned] })], 9000, [slot(1000, 'empty')], 0);
    expect(lane?.phases).toMatchObject([{ state: 'empty', to_ms: null, nf: null }]);
  });

  it('forgets what ended before the window', () => {
    const log = [slot(1000, 'empty'), slot(2000, 'loading', nat), slot(4000, 'active', nat)];
    expect(told(foldLanes([active], 9000, log, 3000)[0]?.phases)).toEqual([
      ['loading', 2000, 4000],
      ['active', 4000, null],
    ]);
  });

  it('does not depend on the order of events nor on repeats; phases follow each other without gap or overlap', () => {
    const states = fc.constantFrom<SlotState>('empty', 'quiescing', 'loading', 'configuring', 'active', 'faulty');
    const events = fc
      .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 5000 }), states, fc.boolean()), { selector: ([t]) => t })
      .map((list) =>
        list.map(([t, state, board]) =>
          board ? boardEvent(t, 'board-1', state === 'faulty' ? 'absent' : 'operating') : slot(t, state),
        ),
      );
    fc.assert(
      fc.property(events, fc.integer(), (log, seed) => {
        const inOrder = foldLanes([idle], 10_000, log, 0);
        const shuffled = [...log, ...log].sort((a, b) => ((a.t_ms * 31 + seed) % 17) - ((b.t_ms * 31 + seed) % 17));
        expect(foldLanes([idle], 10_000, shuffled, 0)).toEqual(inOrder);
        const { phases } = inOrder[0]!;
        expect(phases.at(-1)).toMatchObject({ state: 'empty', to_ms: null });
        for (const [index, phase] of phases.slice(0, -1).entries()) {
          expect(phase.to_ms).toBe(phases[index + 1]!.from_ms);
          expect(phase.to_ms).toBeGreaterThan(phase.from_ms);
        }
      }),
    );
  });
});

describe('phaseAt', () => {
  const [lane] = foldLanes([idle], 9000, [slot(1000, 'loading', nat), slot(2000, 'empty')], 0);
  it.each([
    [500, undefined],
    [1000, 'loading'],
    [1999, 'loading'],
    [2000, 'empty'],
    [8000, 'empty'],
  ])('at %d ms is %s', (t, state) => expect(phaseAt(lane!, t)?.state).toBe(state));
});

describe('loadKindOf', () => {
  const phase = {
    from_ms: 1000,
    to_ms: 3000,
    state: 'loading',
    module: 'nat',
    nf: null,
    chain: null,
    load: null,
  } as const;
  const at = { board: 'board-1', slot: 1 };
  it('is that of the reconfiguration that went on meanwhile; a full load concerns every slot of the board', () => {
    const partial = reconfigurationWith({ started_ms: 500, ended_ms: 4000 });
    expect(loadKindOf(at, phase, [partial])).toBeNull();
    expect(loadKindOf({ ...at, slot: 0 }, phase, [partial])).toBe('partial');
    expect(loadKindOf(at, phase, [{ ...partial, load: 'full' }])).toBe('full');
    expect(loadKindOf(at, phase, [{ ...partial, load: 'full', ended_ms: 900 }])).toBeNull();
  });
});
