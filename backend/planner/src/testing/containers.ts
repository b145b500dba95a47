import type { NfDescriptor } from '@orrery/contract';

/** The descriptor with a container beside what it has, or with nothing else. */
export function withContainer(
  descriptor: NfDescriptor,
  {
    cycles = 10_000,
    base_latency_us = 60,
    only = false,
  }: { cycles?: number; base_latency_us?: number; only?: boolean } = {},
): NfDescriptor {
  return {
    ...descriptor,
    implementations: [
      ...(only ? [] : descriptor.implementations),
      {
        kind: 'container',
        driver: 'container',
        cost: { cycles_per_packet: cycles, cycles_per_byte: 0, base_latency_us, memory_bytes: 1_000_000 },
        resources: {},
      },
    ],
  };
}
