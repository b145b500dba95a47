import type { ElementState } from '@orrery/contract';

export const ELEMENT_MANAGERS = Symbol('ElementManagers');

export interface ElementManagers {
  /** Of every running instance whose NF can switch between software and an accelerator; null figures: not measured lately. */
  all(): readonly ElementState[];
  state(instanceId: string): ElementState | null;
  /** The instance uses the accelerator from its next packet on; sessions stay up. Resolves with the state told by its element manager. Throws if the agent is away or refuses, LostReply if no answer came. */
  accelerate(instanceId: string, signal?: AbortSignal): Promise<ElementState>;
  release(instanceId: string, signal?: AbortSignal): Promise<ElementState>;
  onChange(listener: (instanceId: string) => void): void;
}
