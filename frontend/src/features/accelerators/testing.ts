import type { Accelerator, EventData, EventOf, LendingGroup, LendingTurn, Reconfiguration } from '@orrery/contract';

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

export function lendingMember(
  instance_id: string,
  change: Partial<LendingGroup['members'][number]> = {},
): LendingGroup['members'][number] {
  return {
    instance_id,
    chain_id: 'ch-1',
    node_id: 'tunnel',
    server: 'server-1',
    slot: null,
    origin: 'twin',
    usage: 0.99,
    cpu_share: 0.99,
    cpu_limit: null,
    bps: 38_800_000,
    accelerated: false,
    lacks: false,
    waits_for: null,
    accelerator: null,
    time_s: 0,
    held_s: 0,
    waited_s: 0,
    ...change,
  };
}

export function lendingGroupWith(change: Partial<LendingGroup> = {}): LendingGroup {
  return {
    id: 'lg-1',
    title: 'Tunnels',
    enabled: true,
    chains: ['ch-1'],
    nfs: [],
    accelerators: [{ kind: 'instructions', server: 'server-1' }],
    strategy: 'ssm',
    usage: 'cpu',
    max_bps: null,
    th_up: 0.75,
    th_low: 0.65,
    slice_s: 11,
    revision: 3,
    state: 'lending',
    accelerators_now: [
      { accelerator: 'server-1/instructions', state: 'held', holder: 'vpn.tunnel.0', held_s: 4, origin: 'twin' },
    ],
    members: [],
    fairness: null,
    switch_ms: null,
    switches: 0,
    overhead: null,
    turns_dropped: 0,
    ...change,
  };
}

export function lendingTurn(change: Partial<LendingTurn> & Pick<LendingTurn, 'id' | 'from_ms' | 'to_ms'>): LendingTurn {
  return {
    group_id: 'lg-1',
    accelerator: 'server-1/instructions',
    instance_id: 'vpn.tunnel.0',
    chain_id: 'ch-1',
    node_id: 'tunnel',
    why: 'overload',
    ended: change.to_ms === null ? null : 'slice-over',
    switch_ms: 12,
    ...change,
  };
}
