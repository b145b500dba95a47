import type { BoardPlace, CostProfile, Instance, NfDescriptor } from '@orrery/contract';
import { boardImplementation, containerImplementation, softwareImplementation } from './implementation.js';

type Driver = Instance['driver'];

/** Implementation of an NF of the PGraph, the same for all instances; for a board with the slot. */
export type Form =
  | { readonly driver: Exclude<Driver, 'board'> }
  | { readonly driver: 'board'; readonly board: BoardPlace };

/** By node of the PGraph; NFs that are not named have their usual form. */
export type Forms = ReadonlyMap<string, Form>;

export const CONTAINER: Form = { driver: 'container' };

/** Core cycles for a packet that goes to a slot and back: two port crossings. */
const LOOK_ASIDE = { cycles_per_packet: 900, cycles_per_byte: 0.1, memory_bytes: 0 } as const;

/** Software; a container where there is none; `null` for an NF that no server's core can run. */
export function usualForm(descriptor: NfDescriptor): Form | null {
  const software = softwareImplementation(descriptor);
  if (software) return { driver: software.driver };
  return containerImplementation(descriptor) && CONTAINER;
}

/** Precondition: the descriptor has a form that a core can run. */
export function formOf(forms: Forms, node: string, descriptor: NfDescriptor): Form {
  return forms.get(node) ?? usualForm(descriptor)!;
}

/** The forms of what a plan runs. */
export function formsOf(instances: readonly Pick<Instance, 'pgraph_node' | 'driver' | 'board'>[]): Forms {
  return new Map(
    instances.map(({ pgraph_node, driver, board }): [string, Form] => [
      pgraph_node,
      driver === 'board' ? { driver, board: board! } : { driver },
    ]),
  );
}

/** What an instance costs the core that it is bound to. Precondition: the descriptor has the implementation. */
export function costOnCore(descriptor: NfDescriptor, driver: Driver): CostProfile {
  if (driver === 'board')
    return { ...LOOK_ASIDE, base_latency_us: boardImplementation(descriptor)!.cost.base_latency_us };
  if (driver === 'container') return containerImplementation(descriptor)!.cost;
  return softwareImplementation(descriptor)!.cost;
}

/** What the NF costs where all of its work is a core's: for one in a slot, what its usual form would. */
export function costOfWork(forms: Forms, node: string, descriptor: NfDescriptor): CostProfile {
  const form = formOf(forms, node, descriptor);
  return costOnCore(descriptor, form.driver === 'board' ? usualForm(descriptor)!.driver : form.driver);
}
