import type { ContainerImage, Implementation, LegacyProgram, NfDescriptor } from '@orrery/contract';

type SoftwareDriver = 'engine' | 'process';
type SoftwareImplementation = Implementation & { driver: SoftwareDriver };

/** The first implementation that the engine or a process runs; `null` when there is none. */
export function softwareImplementation(
  descriptor: Pick<NfDescriptor, 'implementations'>,
): SoftwareImplementation | null {
  for (const implementation of descriptor.implementations) {
    const { kind, driver } = implementation;
    if (kind === 'software' && (driver === 'engine' || driver === 'process')) return { ...implementation, driver };
  }
  return null;
}

/** What servers run for a legacy NF, as a process or in a container; `null` where the NF in software is the engine's. */
export function programOf(descriptor: Pick<NfDescriptor, 'implementations'>): LegacyProgram | null {
  const software = softwareImplementation(descriptor);
  return (software?.driver === 'process' && software.program) || null;
}

/** What runs an NF that knows nothing of Orrery: a program or an image; `null` for an NF of ours. */
export function unmodifiedOf(
  descriptor: Pick<NfDescriptor, 'implementations'>,
): Pick<LegacyProgram, 'forwarding' | 'preserves'> | null {
  return programOf(descriptor) ?? imageOf(descriptor);
}

/** The image that containers of the NF run; `null` where they run something else. */
export function imageOf({ implementations }: Pick<NfDescriptor, 'implementations'>): ContainerImage | null {
  return implementations.find(({ driver, image }) => driver === 'container' && image)?.image ?? null;
}

/** The implementation that a server with containers can run; `null` when there is none. */
export function containerImplementation({ implementations }: NfDescriptor): Implementation | null {
  return implementations.find(({ kind, driver }) => kind === 'container' && driver === 'container') ?? null;
}

/** The implementation that boards can load; `null` when there is none. */
export function boardImplementation({ implementations }: NfDescriptor): Implementation | null {
  return implementations.find(({ kind }) => kind === 'board') ?? null;
}

/** Time from the slot's near port to its far one, excluding transfer to and from the board. */
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

/** Whether the NF reads reassembled TCP streams with this configuration. */
export function readsStreams(descriptor: NfDescriptor, config: Readonly<Record<string, unknown>>): boolean {
  const { bytestream } = descriptor;
  return bytestream !== undefined && effectiveConfig(descriptor, config)[bytestream.field] === bytestream.value;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
