import {
  EngineDescription,
  type EngineGraph,
  type EngineRequest,
  EngineStats,
  FlowExport,
  FlowHoldEnd,
  FlowImport,
  FlowRelease,
  type SplitRange,
  SplitState,
} from '@orrery/contract';
import { z } from 'zod';
import { ControlClient } from '../control-client.js';
import type { FlowExportRequest, FlowReleaseRequest } from '../nf-driver.js';

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
  export_flows: 10_000,
  release_flows: 10_000,
  configure: 20_000,
  set_split: 5000,
  hold_flows: 5000,
  end_hold: 5000,
  get_split: 5000,
  shutdown: 3000,
};

const Applied = z.object({ graph_digest: z.string() });

const importParams = (module: string, state: Record<string, unknown>, renew: boolean) =>
  renew ? { module, state, renew } : ({ module, state } as Params<'import_state'>);

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

  async importState(module: string, state: Record<string, unknown>, renew: boolean): Promise<FlowImport | null> {
    // An engine that this agent adopted may be of an earlier version, which answers with nothing and renews nothing.
    return FlowImport.safeParse(await this.request('import_state', importParams(module, state, renew))).data ?? null;
  }

  async exportFlows(module: string, wanted: FlowExportRequest): Promise<FlowExport> {
    return FlowExport.parse(await this.request('export_flows', { module, ...wanted }));
  }

  async releaseFlows(module: string, wanted: FlowReleaseRequest): Promise<FlowRelease> {
    return FlowRelease.parse(await this.request('release_flows', { module, ...wanted }));
  }

  /** Another configuration for an NF. Resolves with the digest of the graph with it. */
  async configure(module: string, config: Record<string, unknown>): Promise<string> {
    return Applied.parse(await this.request('configure', { module, config })).graph_digest;
  }

  /** New ranges for a `hash_split`. Resolves with the digest of the graph with them. */
  async setSplit(module: string, ranges: SplitRange[], keep_flows: boolean): Promise<string> {
    return Applied.parse(await this.request('set_split', { module, ranges, keep_flows })).graph_digest;
  }

  /** Packets of flows at a gate of a `hash_split` wait from now on. */
  async holdFlows(params: Params<'hold_flows'>): Promise<void> {
    await this.request('hold_flows', params);
  }

  /** They wait no longer. `steer`: the flows go to the other gate; refused when it comes too late. */
  async endHold(module: string, steer: boolean): Promise<FlowHoldEnd> {
    return FlowHoldEnd.parse(await this.request('end_hold', { module, steer }));
  }

  /** `limit`: exceptions to list. */
  async getSplit(module: string, limit: number): Promise<SplitState> {
    return SplitState.parse(await this.request('get_split', { module, limit }));
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
