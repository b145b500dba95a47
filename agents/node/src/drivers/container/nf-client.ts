import { FlowExport, FlowImport, FlowRelease } from '@orrery/contract';
import { z } from 'zod';
import { ControlClient } from '../control-client.js';
import type { InstanceRecord } from '../hosted-instance.js';
import type { FlowExportRequest, FlowReleaseRequest } from '../nf-driver.js';

const Stats = z.looseObject({
  epoch: z.string(),
  t_ns: z.number().min(0),
  cpu_ns: z.int(),
  drops: z.record(z.string(), z.int()),
});
export type NfStats = z.infer<typeof Stats>;

const Description = z.looseObject({ nf: z.string() });

/** An NF that is merely stopped is given up by its heartbeat first. */
const STATS_LIMIT_MS = 6000;
const LIMIT_MS = 10_000;
/** Patterns may need compiling, as when a graph is applied to an engine; a start takes as long. */
export const CONFIGURE_LIMIT_MS = 20_000;

/** One connection to the NF in a container (agents/container-nf). */
export class NfClient {
  private constructor(private readonly control: ControlClient) {}

  /** `onFailure` is called once, when the connection ends or an answer is overdue. */
  static async connect(path: string, onFailure: (error: Error) => unknown): Promise<NfClient> {
    return new NfClient(await ControlClient.connect(path, 'the NF', onFailure));
  }

  async stats(): Promise<NfStats> {
    return Stats.parse(await this.control.request('stats', {}, STATS_LIMIT_MS));
  }

  /** Which NF it is. */
  async nf(): Promise<string> {
    return Description.parse(await this.control.request('describe', {}, STATS_LIMIT_MS)).nf;
  }

  /** Keeps flow state across a new configuration. */
  async configure({ config, metadata }: InstanceRecord): Promise<void> {
    await this.control.request('configure', { config, metadata }, CONFIGURE_LIMIT_MS);
  }

  getState(limit: number): Promise<Record<string, unknown>> {
    return this.control.request('get_state', { limit }, LIMIT_MS);
  }

  exportState(): Promise<Record<string, unknown>> {
    return this.control.request('export_state', {}, LIMIT_MS);
  }

  async importState(state: Record<string, unknown>, renew: boolean): Promise<FlowImport | null> {
    // A container that this agent adopted may be of an earlier version, which answers with nothing and renews nothing.
    const params = renew ? { state, renew } : { state };
    return FlowImport.safeParse(await this.control.request('import_state', params, LIMIT_MS)).data ?? null;
  }

  async exportFlows(wanted: FlowExportRequest): Promise<FlowExport> {
    return FlowExport.parse(await this.control.request('export_flows', wanted, LIMIT_MS));
  }

  async releaseFlows(wanted: FlowReleaseRequest): Promise<FlowRelease> {
    return FlowRelease.parse(await this.control.request('release_flows', wanted, LIMIT_MS));
  }

  close(): void {
    this.control.close();
  }
}
