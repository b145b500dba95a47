import { isDeepStrictEqual } from 'node:util';
import { type EngineRequest, type FlowHoldEnd, SplitFlow, type SplitReading, type Target } from '@orrery/contract';
import { DriverError, type Wiring } from '../nf-driver.js';
import type { EngineClient } from './engine-client.js';

type Hold = Extract<EngineRequest, { method: 'hold_flows' }>['params'];

/** Flows that go from one target of an instance to another. */
export interface HeldTargets {
  from: Target;
  to: Target;
}

/** Packets wait at the splits behind an instance while their flows move (HYPER III-A). */
export class SplitHolds {
  constructor(
    private readonly client: () => EngineClient,
    private readonly wiring: () => Wiring | null,
  ) {}

  /** Where several splits lead to both targets, packets wait at all of them or at none. */
  async hold(instanceId: string, targets: HeldTargets, { flows, hold_ms }: Pick<Hold, 'flows' | 'hold_ms'>) {
    const client = this.client();
    const held: string[] = [];
    try {
      for (const split of this.splits(instanceId, targets)) {
        await client.holdFlows({ ...split, flows, hold_ms });
        held.push(split.module);
      }
    } catch (error) {
      await Promise.all(held.map((module) => client.endHold(module, false).catch(() => undefined)));
      throw error;
    }
    return {};
  }

  /** `steer`: the flows go to the other target from now on; rejects where it comes too late for one of the splits. */
  async end(instanceId: string, targets: HeldTargets, steer: boolean): Promise<FlowHoldEnd> {
    const sum: FlowHoldEnd = { flows: 0, packets: 0, table_full: false };
    for (const { module } of this.splits(instanceId, targets)) {
      const { flows, packets, table_full } = await this.client().endHold(module, steer);
      sum.flows += flows;
      sum.packets += packets;
      sum.table_full ||= table_full;
    }
    return sum;
  }

  /** What the splits behind it keep elsewhere than their ranges say; `limit`: exceptions to list of each. */
  async read(instanceId: string, limit: number): Promise<SplitReading> {
    const splits = (this.wiring()?.probes.splits ?? []).filter(({ from_id }) => from_id === instanceId);
    if (splits.length === 0) throw new DriverError(`there is no split behind ${instanceId}`);
    const sum: SplitReading = { total: 0, untracked: 0, exceptions: [] };
    for (const { module, targets } of splits) {
      const { split, exceptions } = await this.client().getSplit(module, limit);
      sum.total += split.exceptions;
      sum.untracked += split.untracked;
      for (const { flow, gate } of exceptions) {
        const { data } = SplitFlow.safeParse(flow);
        const to = targets[gate];
        if (data && to && sum.exceptions.length < limit) sum.exceptions.push({ flow: data, to });
      }
    }
    return sum;
  }

  private splits(instanceId: string, { from, to }: HeldTargets): Pick<Hold, 'module' | 'from' | 'to'>[] {
    const splits = (this.wiring()?.probes.splits ?? []).filter(({ from_id }) => from_id === instanceId);
    const found = splits.flatMap(({ module, targets }) => {
      const [first, second] = [from, to].map((target) => targets.findIndex((it) => isDeepStrictEqual(it, target)));
      return first! < 0 || second! < 0 ? [] : [{ module, from: first!, to: second! }];
    });
    if (found.length === 0) throw new DriverError(`no split behind ${instanceId} leads to both instances`);
    return found;
  }
}
