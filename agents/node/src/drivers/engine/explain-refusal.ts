import type { Refusal } from '../control-client.js';
import { DriverError, type Wiring } from '../nf-driver.js';

/** Translates the engine's pointer into terms of the desired state: the instance and the field of its configuration. */
export function explainRefusal(
  { error, message, permanent }: Refusal,
  { graph, instances }: Pick<Wiring, 'graph' | 'instances'>,
): DriverError {
  const [, index, rest] = /^\/modules\/(\d+)(.*)$/.exec(error.pointer ?? '') ?? [];
  const name = index === undefined ? undefined : graph.modules[Number(index)]?.name;
  if (name === undefined) return new DriverError(`engine: ${message}`, null, permanent);
  const instance = [...instances.keys()].find((id) => name === id || name.startsWith(`${id}:`)) ?? null;
  return new DriverError(`${name}: ${error.detail} (at ${rest || '/'})`, instance, permanent);
}
