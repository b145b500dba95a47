import { join } from 'node:path';
import { z } from 'zod';
import { ControlClient } from '../control-client.js';
import type { InstanceRecord } from '../hosted-instance.js';
import { stemOf } from '../veth-names.js';

/** In the run directory; holds a folder for each instance. */
export const BOX_FOLDER = 'box';
export const CONTROL_SOCKET = 'ctl';

/** Where the NF of an instance is spoken to, the longest path of a socket that the agent makes. */
export const controlSocket = (folder: string, instanceId: string): string =>
  join(folder, stemOf(instanceId), CONTROL_SOCKET);

const Stats = z.looseObject({
  epoch: z.string(),
  t_ns: z.int(),
  cpu_ns: z.int(),
  drops: z.record(z.string(), z.int()),
});
export type BoxStats = z.infer<typeof Stats>;

const Description = z.looseObject({ nf: z.string() });

const STATS_LIMIT_MS = 3000;
const LIMIT_MS = 10_000;

/** One connection to the NF in a container (agents/box). */
export class BoxClient {
  private constructor(private readonly control: ControlClient) {}

  /** `onFailure` is called once, when the connection ends or an answer is overdue. */
  static async connect(path: string, onFailure: (error: Error) => unknown): Promise<BoxClient> {
    return new BoxClient(await ControlClient.connect(path, 'the NF', onFailure));
  }

  async stats(): Promise<BoxStats> {
    return Stats.parse(await this.control.request('stats', {}, STATS_LIMIT_MS));
  }

  /** Which NF it is. */
  async nf(): Promise<string> {
    return Description.parse(await this.control.request('describe', {}, STATS_LIMIT_MS)).nf;
  }

  /** Keeps flow state. */
  async configure({ config, metadata }: InstanceRecord): Promise<void> {
    await this.control.request('configure', { config, metadata }, LIMIT_MS);
  }

  getState(limit: number): Promise<Record<string, unknown>> {
    return this.control.request('get_state', { limit }, LIMIT_MS);
  }

  exportState(): Promise<Record<string, unknown>> {
    return this.control.request('export_state', {}, LIMIT_MS);
  }

  async importState(state: Record<string, unknown>): Promise<void> {
    await this.control.request('import_state', { state }, LIMIT_MS);
  }

  close(): void {
    this.control.close();
  }
}
