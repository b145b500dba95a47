import type { BoardPlace, CostProfile, Implementation, NfDescriptor, Plan } from '@orrery/contract';

export type SoftwareDriver = 'engine' | 'process';
type SoftwareImplementation = Implementation & { driver: SoftwareDriver };

/** NFs of the PGraph that boards run, each in one slot; all others are software. */
export type BoardPlaces = ReadonlyMap<string, BoardPlace>;

/** What a core pays for a packet that goes out to a slot and comes back: two crossings of a port. */
const LOOK_ASIDE = { cycles_per_packet: 900, cycles_per_byte: 0.1, memory_bytes: 0 } as const;

/** The first implementation that an agent runs on a server's own cores; `null` when there is none. */
export function softwareImplementation(descriptor: NfDescriptor): SoftwareImplementation | null {
  for (const implementation of descriptor.implementations) {
    const { kind, driver } = implementation;
    if (kind === 'software' && (driver === 'engine' || driver === 'process')) return { ...implementation, driver };
  }
  return null;
}

/** The implementation that boards can load; `null` when there is none. */
export function boardImplementation({ implementations }: NfDescriptor): Implementation | null {
  return implementations.find(({ kind }) => kind === 'board') ?? null;
}

/** What an instance costs the core that it is bound to. Precondition: the descriptor has the implementation. */
export function costOnCore(descriptor: NfDescriptor, driver: Plan['instances'][number]['driver']): CostProfile {
  if (driver !== 'board') return softwareImplementation(descriptor)!.cost;
  return { ...LOOK_ASIDE, base_latency_us: boardImplementation(descriptor)!.cost.base_latency_us };
}

/** Time from the slot's near port to its far one, without the way there and back. */
export function slotTimeUs({ cost }: Implementation, packetBytes: number, clockMhz: number): number {
  return cost.base_latency_us + (cost.cycles_per_packet + cost.cycles_per_byte * packetBytes) / clockMhz;
}

/**
 * Configuration of an NF with the descriptor's defaults where the definition says nothing. An empty list of external
 * addresses says nothing: the planner chooses them.
 */
export function effectiveConfig(
  descriptor: NfDescriptor,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { external_addresses, ...rest } = config;
  const silent = external_addresses === undefined || (descriptor.return_traffic && isEmpty(external_addresses));
  return { ...descriptor.default_config, ...rest, ...(silent ? {} : { external_addresses }) };
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
