import type { EngineGraph, InstanceSpec } from '@orrery/contract';
import { isAccelerated, type Switched, switchedConfig } from '../acceleration.js';
import { Refusal } from '../control-client.js';
import { DriverError, type ElementDriver, type Wiring } from '../nf-driver.js';
import type { EngineClient } from './engine-client.js';

type Module = EngineGraph['modules'][number];
type Mode = NonNullable<InstanceSpec['acceleration']>;

const withConfig = (module: Module, mode: Mode, switched: Switched): Module =>
  ({ ...module, config: switchedConfig(module.config as InstanceSpec['config'], mode, switched) }) as Module;

/** The NFs of an engine that do something else than its graph says, as long as it runs. */
export class SwitchedNfs implements ElementDriver {
  private readonly nfs = new Map<string, Switched & { readonly mode: Mode }>();
  private tail: Promise<unknown> = Promise.resolve();

  /** `onGraph`: told by which digest the engine names its graph from now on. */
  constructor(
    private readonly client: () => EngineClient,
    private readonly applied: () => Wiring | null,
    private readonly onGraph: (digest: string) => void,
  ) {}

  /** A graph is applied and an NF is switched one after the other: each counts on what the other has done. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  switched(instanceId: string): Switched | null {
    return this.nfs.get(instanceId) ?? null;
  }

  /** Judged when its turn comes: what was asked for before may not have been done yet. */
  switchTo({ id, acceleration: mode }: InstanceSpec, accelerated: boolean): Promise<void> {
    return this.inTurn(async () => {
      const client = this.client();
      const module = this.applied()?.graph.modules.find(({ name }) => name === id);
      if (!mode || !module) throw new DriverError(`${id} does not run yet`, id);
      const now = module.config as InstanceSpec['config'];
      if (isAccelerated(now, mode, this.switched(id)) === accelerated) return;
      const switched = { accelerated, at_ms: Date.now() };
      const { config } = withConfig(module, mode, switched);
      const digest = await client.configure(id, config).catch((error: Error) => {
        throw new DriverError(`${id}: ${error.message}`, id, error instanceof Refusal && error.permanent);
      });
      if (client !== this.client()) throw new DriverError('the engine ended meanwhile', id);
      this.onGraph(digest);
      this.nfs.set(id, { ...switched, mode });
    });
  }

  /** The engine is another one. */
  clear(): void {
    this.nfs.clear();
  }

  /** The graph with what they do. */
  in(graph: EngineGraph): EngineGraph {
    if (this.nfs.size === 0) return graph;
    const modules = graph.modules.map((module) => {
      const switched = this.nfs.get(module.name);
      return switched && switched.mode.setting in module.config ? withConfig(module, switched.mode, switched) : module;
    });
    return { ...graph, modules };
  }

  /** The graph has been applied: what it does not have is forgotten. */
  keepThoseIn({ modules }: EngineGraph): void {
    const there = new Set(modules.map(({ name }) => name));
    for (const id of this.nfs.keys()) if (!there.has(id)) this.nfs.delete(id);
  }
}
