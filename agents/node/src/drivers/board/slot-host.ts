import type { BoardAgentEventType, InstanceSpec, LoadResult } from '@orrery/contract';
import type { AgentEventData, Emit } from '../../link/agent-event.js';
import type { BoardPort, SlotLoad } from './board-port.js';
import type { ModuleAdapter } from './modules/module-adapter.js';

/** What a slot should run. */
export interface SlotTarget {
  instance: InstanceSpec;
  adapter: ModuleAdapter;
  digest: string;
}

/** The board around a slot. */
export interface SlotHost {
  readonly port: BoardPort;
  readonly board: string;
  readonly online: boolean;
  /** Loads, one at a time per board. Resolves with null if it is no longer `needed` when its turn comes. */
  load(
    slot: number,
    target: SlotTarget,
    onProgress: (load: SlotLoad) => void,
    needed: () => Promise<boolean>,
  ): Promise<LoadResult | null>;
  readonly emit: BoardEmit;
  readonly tell: Emit;
  changed(): void;
}

/** Emits an event about the board. */
export type BoardEmit = <T extends BoardAgentEventType>(event: T, message: string, data: AgentEventData<T>) => void;
