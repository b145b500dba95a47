import type { ElementState } from '@orrery/contract';

export const ELEMENT_MANAGERS = Symbol('ElementManagers');

export interface ElementManagers {
  /** Of every running instance whose NF can switch between software and an accelerator; null figures: not measured lately. */
  all(): readonly ElementState[];
  state(instanceId: string): ElementState | null;
  /**
   * Since when it is known to work in software all the time: when it was switched, or else first told of like that; null: it
   * does not, or may not.
   */
  softwareSince(instanceId: string): number | null;
  /** The instance uses the accelerator from its next packet on; sessions stay up. Resolves with the state told by its element manager. Throws if the agent is away or refuses, LostReply if no answer came. */
  accelerate(instanceId: string, signal?: AbortSignal): Promise<ElementState>;
  release(instanceId: string, signal?: AbortSignal): Promise<ElementState>;
  onChange(listener: (instanceId: string) => void): void;
}
