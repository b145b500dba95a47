import type { Accelerator, Event, Reconfiguration } from '@orrery/contract';

type Slot = Accelerator['slots'][number];

export function slotWith(change: Partial<Slot> & Pick<Slot, 'slot'>): Slot {
  const idle = { state: 'empty', module: null, instance_id: null, load: null, detail: null } as const;
  return { ...idle, pipeline_id: null, node_id: null, reservation: null, ...change };
}

export function boardWith(change: Partial<Accelerator> & Pick<Accelerator, 'id'>): Accelerator {
  return {
    title: change.id,
    origin: 'twin',
    server: 'server-1',
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

/** An event of a slot or, without `slot`, of its board; `t_ms` is also its place in the log. */
export function boardEvent(t_ms: number, data: Record<string, unknown>): Event {
  return {
    id: `${t_ms}-0`,
    t_ms,
    project: 'default',
    type: 'slot' in data ? 'slot.state' : 'board.state',
    severity: 'info',
    subject: String(data.board),
    message: '',
    actor: 'server',
    data,
  };
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
