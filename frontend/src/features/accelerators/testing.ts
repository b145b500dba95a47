import type { Accelerator, EventData, EventOf, Reconfiguration } from '@orrery/contract';

type Slot = Accelerator['slots'][number];

export function slotWith(change: Partial<Slot> & Pick<Slot, 'slot'>): Slot {
  const idle = { state: 'empty', module: null, instance_id: null, load: null, reloads: false, detail: null } as const;
  return { ...idle, chain_id: null, node_id: null, reservation: null, ...change };
}

export function boardWith(change: Partial<Accelerator> & Pick<Accelerator, 'id'>): Accelerator {
  return {
    title: change.id,
    origin: 'twin',
    server: 'server-1',
    switches: [],
    device: 'DE5-Net',
    clock_mhz: 200,
    bandwidth_bps: 1e9,
    resources: { lut: 1000 },
    load_s: { full: 12, partial: 2.5 },
    state: 'operating',
    detail: null,
    description: null,
    slots: [slotWith({ slot: 0 })],
    last_load: null,
    ...change,
  };
}

/** `t_ms` is also the place of the event in the log. */
const headOf = (t_ms: number, subject: string) =>
  ({ id: `${t_ms}-0`, t_ms, project: 'default', severity: 'info', subject, message: '', actor: 'server' }) as const;

type SlotData = EventData<'slot.state'>;

export function slotEvent(
  t_ms: number,
  data: Partial<SlotData> & Pick<SlotData, 'board' | 'slot' | 'state'>,
): EventOf<'slot.state'> {
  const nothing = { module: null, instance_id: null, chain_id: null, node_id: null, load: null, policy: null };
  return { ...headOf(t_ms, data.board), type: 'slot.state', data: { ...nothing, ...data } };
}

export function boardEvent(
  t_ms: number,
  board: string,
  state: EventOf<'board.state'>['data']['state'],
): EventOf<'board.state'> {
  return { ...headOf(t_ms, board), type: 'board.state', data: { board, state, detail: null, first: false } };
}

export function returnedEvent(t_ms: number, away_since_ms: number): EventOf<'server.returned'> {
  return { ...headOf(t_ms, 'server'), type: 'server.returned', data: { away_since_ms } };
}

export function reconfigurationWith(change: Partial<Reconfiguration>): Reconfiguration {
  const pending = { state: 'pending', started_ms: null, ended_ms: null, detail: '', operation_id: null } as const;
  return {
    id: 'rc-1',
    policy_id: null,
    cause: 'manual',
    trigger: 'asked for',
    state: 'running',
    slot: { board: 'board-1', slot: 0 },
    load: 'partial',
    policy: 'hold',
    moves: [],
    stages: (['detection', 'update', 'configuration', 'response'] as const).map((stage) => ({ stage, ...pending })),
    loads: [],
    packets_lost: null,
    detail: null,
    started_ms: 0,
    ended_ms: null,
    ...change,
  };
}
