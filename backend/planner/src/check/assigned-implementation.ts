import type { BoardPlace, CostProfile, Instance, NfDescriptor } from '@orrery/contract';
import { LOOK_ASIDE } from '../engine-costs.js';
import { boardImplementation, containerImplementation, softwareImplementation } from './implementation.js';

type Driver = Instance['driver'];

const NOTHING = { cycles_per_packet: 0, cycles_per_byte: 0 };

/** Implementation of an NF of the PGraph, the same for all instances; for a board with the slot. */
export type AssignedImplementation =
  | { readonly driver: Exclude<Driver, 'board'> }
  | { readonly driver: 'board'; readonly board: BoardPlace };

/** By node of the PGraph; NFs that are not named have their default implementation. */
export type AssignedImplementations = ReadonlyMap<string, AssignedImplementation>;

export const CONTAINER: AssignedImplementation = { driver: 'container' };

/** Software; a container where there is none; `null` for an NF that no server's core can run. */
export function defaultImplementation(descriptor: NfDescriptor): AssignedImplementation | null {
  const software = softwareImplementation(descriptor);
  if (software) return { driver: software.driver };
  return containerImplementation(descriptor) && CONTAINER;
}

/** Precondition: the descriptor has an implementation that a core can run. */
export function implementationOf(
  implementations: AssignedImplementations,
  node: string,
  descriptor: NfDescriptor,
): AssignedImplementation {
  return implementations.get(node) ?? defaultImplementation(descriptor)!;
}

/** The implementations of what a plan runs. */
export function implementationsOf(
  instances: readonly Pick<Instance, 'pgraph_node' | 'driver' | 'board'>[],
): AssignedImplementations {
  return new Map(
    instances.map(({ pgraph_node, driver, board }): [string, AssignedImplementation] => [
      pgraph_node,
      driver === 'board' ? { driver, board: board! } : { driver },
    ]),
  );
}

/**
 * What an instance costs the core that it is bound to: in a slot at a switch, nothing. Precondition: the descriptor has the
 * implementation.
 */
export function costOnCore(
  descriptor: NfDescriptor,
  driver: Driver,
  place?: Pick<BoardPlace, 'attached'> | undefined,
): CostProfile {
  if (driver === 'board')
    return {
      ...(place?.attached === 'switch' ? NOTHING : LOOK_ASIDE),
      memory_bytes: 0,
      base_latency_us: boardImplementation(descriptor)!.cost.base_latency_us,
    };
  if (driver === 'container') return containerImplementation(descriptor)!.cost;
  return softwareImplementation(descriptor)!.cost;
}

/** What the NF costs where all of its work is a core's: for one in a slot, what its default implementation would. */
export function costOfWork(
  implementations: AssignedImplementations,
  node: string,
  descriptor: NfDescriptor,
): CostProfile {
  const implementation = implementationOf(implementations, node, descriptor);
  return costOnCore(
    descriptor,
    implementation.driver === 'board' ? defaultImplementation(descriptor)!.driver : implementation.driver,
  );
}
