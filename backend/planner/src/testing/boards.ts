import type { BoardNode, NfDescriptor } from '@orrery/contract';

export function board(id: string, server: string, more: Partial<BoardNode> = {}): BoardNode {
  return {
    id,
    origin: 'twin',
    server,
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
