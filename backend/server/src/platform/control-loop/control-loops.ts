import type { Log } from '../log.js';
import { type Clock, SYSTEM_CLOCK } from './clock.js';
import { ControlLoop } from './control-loop.js';
import type { LoopDefinition, LoopStatus, TakenDecision } from './definition.js';

export const CONTROL_LOOPS = Symbol('ControlLoops');

/** Every loop of the server. */
export class ControlLoops {
  private readonly loops = new Map<string, ControlLoop>();
  private readonly paused = new Set<string>();
  private readonly listeners: ((decision: TakenDecision) => void)[] = [];

  constructor(
    private readonly log: Log,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  /** The loop first runs when it is woken. */
  add(definition: LoopDefinition): ControlLoop {
    if (this.loops.has(definition.id)) throw new Error(`there are two loops "${definition.id}"`);
    const loop = new ControlLoop(definition, this.clock, this.log, (decision) => {
      for (const listener of this.listeners) listener(decision);
    });
    if (this.paused.has(definition.id)) loop.pause();
    this.loops.set(definition.id, loop);
    return loop;
  }

  /** By name. */
  statuses(): LoopStatus[] {
    return [...this.loops.values()].map((loop) => loop.status()).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  status(id: string): LoopStatus | undefined {
    return this.loops.get(id)?.status();
  }

  /** Also applies to a loop that is added later. */
  pause(id: string): void {
    this.paused.add(id);
    this.loops.get(id)?.pause();
  }

  resume(id: string): void {
    this.paused.delete(id);
    this.loops.get(id)?.resume();
  }

  onDecision(listener: (decision: TakenDecision) => void): void {
    this.listeners.push(listener);
  }
}
