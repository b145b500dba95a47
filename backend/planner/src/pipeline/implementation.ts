import type { Implementation, NfDescriptor } from '@orrery/contract';

export type SoftwareDriver = 'engine' | 'process';
type SoftwareImplementation = Implementation & { driver: SoftwareDriver };

/** The first implementation that an agent runs on a server's own cores; `null` when there is none. */
export function softwareImplementation(descriptor: NfDescriptor): SoftwareImplementation | null {
  for (const implementation of descriptor.implementations) {
    const { kind, driver } = implementation;
    if (kind === 'software' && (driver === 'engine' || driver === 'process')) return { ...implementation, driver };
  }
  return null;
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
