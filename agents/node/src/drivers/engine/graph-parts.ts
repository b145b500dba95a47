import type { EngineGraph, EngineModule, EnginePort } from '@orrery/contract';
import { CompileError } from './compile-error.js';

/** Gates of a module of the engine. */
export const GATES = 256;
const QUEUE_CAPACITY = 1024;

/** Where packets go into a module. */
export interface Entry {
  readonly module: string;
  readonly input: number;
}

/** Where packets leave a module. */
export interface Gate {
  readonly name: string;
  readonly gate: number;
}

export function at(module: string, input = 0): Entry {
  return { module, input };
}

export function entryKey({ module, input }: Entry): string {
  return `${module} ${input}`;
}

/** Collects the parts of an engine's graph. */
export class GraphParts {
  readonly ports: EnginePort[] = [];
  readonly links: EngineGraph['links'] = [];
  readonly tasks: EngineGraph['tasks'] = [];
  private readonly byName = new Map<string, EngineModule>();

  get modules(): EngineModule[] {
    return [...this.byName.values()];
  }

  has(name: string): boolean {
    return this.byName.has(name);
  }

  /** Errors: `CompileError` at `pointer`, if another module has the name. */
  add(module: EngineModule, pointer: string, instanceId: string | null = null): void {
    if (this.byName.has(module.name))
      throw new CompileError(pointer, `the name ${module.name} is used by another module`, instanceId);
    this.byName.set(module.name, module);
  }

  link(from: string, gate: number, { module, input }: Entry): void {
    this.links.push({ from, gate, to: module, input });
  }

  queue(name: string, worker: number, pointer: string, instanceId: string | null = null): void {
    this.add({ name, kind: 'queue', config: { capacity: QUEUE_CAPACITY } }, pointer, instanceId);
    this.tasks.push({ module: name, worker });
  }
}
