import { EngineDescription, type EngineGraph, type EngineRequest, EngineStats } from '@orrery/contract';
import { z } from 'zod';
import { ControlClient } from '../control-client.js';

type Method = EngineRequest['method'];
type Params<M extends Method> = Extract<EngineRequest, { method: M }>['params'];

/**
 * A new graph may start ports and compile patterns; everything else takes microseconds. An engine that is merely
 * stopped is given up by its heartbeat first.
 */
const LIMIT_MS: Record<Method, number> = {
  describe: 5000,
  stats: 5000,
  apply: 20_000,
  get_state: 5000,
  export_state: 10_000,
  import_state: 10_000,
  shutdown: 3000,
};

const Applied = z.object({ graph_digest: z.string() });

/** One connection to an engine. */
export class EngineClient {
  private constructor(private readonly control: ControlClient) {}

  /** `onFailure` is called once, when the connection ends or an answer is overdue. */
  static async connect(path: string, onFailure: (error: Error) => void): Promise<EngineClient> {
    return new EngineClient(await ControlClient.connect(path, 'the engine', onFailure));
  }

  /** Whether a request is in flight. */
  get busy(): boolean {
    return this.control.busy;
  }

  async describe(): Promise<EngineDescription> {
    return EngineDescription.parse(await this.request('describe', {}));
  }

  async stats(): Promise<EngineStats> {
    return EngineStats.parse(await this.request('stats', {}));
  }

  /** Resolves with the digest by which `stats` names the graph. */
  async apply(graph: EngineGraph): Promise<string> {
    return Applied.parse(await this.request('apply', graph)).graph_digest;
  }

  async getState(module: string, limit: number): Promise<Record<string, unknown>> {
    return this.request('get_state', { module, limit });
  }

  async exportState(module: string): Promise<Record<string, unknown>> {
    return this.request('export_state', { module });
  }

  async importState(module: string, state: Record<string, unknown>): Promise<void> {
    await this.request('import_state', { module, state });
  }

  async shutdown(): Promise<void> {
    await this.request('shutdown', {});
  }

  close(): void {
    this.control.close();
  }

  private request<M extends Method>(method: M, params: Params<M>): Promise<Record<string, unknown>> {
    return this.control.request(method, params, LIMIT_MS[method]);
  }
}
