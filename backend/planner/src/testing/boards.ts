import { type BoardNode, type Infrastructure, type NfDescriptor, SLOT_ENDS, slotPort } from '@orrery/contract';

export function board(id: string, server: string, more: Partial<BoardNode> = {}): BoardNode {
  return {
    id,
    origin: 'twin',
    server,
    attached: 'server',
    profile: 'de5',
    device: 'test',
    slots: 2,
    clock_mhz: 200,
    resources: { lut: 10_000 },
    bandwidth_bps: 1e10,
    latency_us: 1,
    load_s: { full: 12, partial: 2.5 },
    cost: 1,
    ...more,
  };
}

/** The infrastructure with a board whose ports hang on `switchId`, or where `at` says. */
export function withBoardAtSwitch(
  infrastructure: Infrastructure,
  own: BoardNode,
  switchId: string,
  at: Readonly<Record<string, string>> = {},
  bandwidth_bps = 1e10,
): Infrastructure {
  const ports = Array.from({ length: own.slots }, (_, slot) => SLOT_ENDS.map((end) => slotPort(end, slot))).flat();
  const links = ports.map((port) => ({
    id: `${own.id}-${port}`,
    a: { node: own.id, port },
    b: { node: at[port] ?? switchId, port: `${own.id}-${port}` },
    ...{ bandwidth_bps, delay_us: 0, jitter_us: 0, loss: 0 },
  }));
  return {
    ...infrastructure,
    boards: [...infrastructure.boards, { ...own, attached: 'switch' }],
    links: [...infrastructure.links, ...links],
  };
}

/** The descriptor with an implementation for boards beside its software. */
export function withBoard(software: NfDescriptor, lut: number): NfDescriptor {
  return {
    ...software,
    implementations: [
      ...software.implementations,
      {
        kind: 'board',
        driver: 'board',
        cost: { cycles_per_packet: 20, cycles_per_byte: 0, base_latency_us: 0.3, memory_bytes: 0 },
        resources: { lut },
      },
    ],
  };
}
