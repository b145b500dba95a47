import { Inject, Injectable } from '@nestjs/common';
import type { NfRef, Plan } from '@orrery/contract';
import { configuredNf } from '@orrery/planner';
import { DESCRIPTORS, type NfDescriptors } from '../../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../../ports/infrastructure-store.js';
import { type LoadMetric, NF_LOADS, type NfLoads } from '../../../ports/nf-loads.js';
import { USUAL_PRIORITY } from '../../../ports/reconfigurer.js';
import { softwareRoom } from '../decision/software-room.js';
import { instancesOf, sameNf } from '../places.js';
import { Policies } from './policies.js';

const UNITS: Readonly<Record<LoadMetric, (value: number) => string>> = {
  bps: (value) => `${(value / 1e6).toPrecision(3)} Mbit/s`,
  pps: (value) => `${Math.round(value)} packets/s`,
  cpu: (value) => `${Math.round(value * 100)} % of a core`,
};

export function inWords(metric: LoadMetric, load: number): string {
  return UNITS[metric](load);
}

/** What policies say about chains and NFs that another reconfiguration wants to move. */
@Injectable()
export class PolicyRules {
  constructor(
    @Inject(NF_LOADS) private readonly loads: NfLoads,
    @Inject(Policies) private readonly policies: Policies,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  /** The priority of a chain, which its definition states; of one without, the highest of its policies. */
  priorityOf(chainId: string, plan: Pick<Plan, 'chains'>): number {
    const stated = plan.chains.find(({ chain_id }) => chain_id === chainId)?.definition.priority;
    if (stated !== undefined) return stated;
    const own = this.policies.all().filter(({ nf }) => nf.chain_id === chainId);
    return Math.max(...(own.length > 0 ? own.map(({ priority }) => priority) : [USUAL_PRIORITY]));
  }

  /** Why an NF cannot be displaced to software: its load exceeds the threshold of its own policy. Null: it can. */
  cannotLeave(nf: NfRef): string | null {
    for (const policy of this.policies.all()) {
      if (!policy.enabled || !sameNf(policy.nf, nf)) continue;
      const { metric, up } = policy.threshold;
      const load = this.loads.of(nf, metric);
      if (load !== null && load > up)
        return `${nf.node_id} cannot make room: its load of ${inWords(metric, load)} is above the ${inWords(metric, up)} that software carries.`;
    }
    return null;
  }

  /**
   * Why an NF cannot be displaced to the software of this plan: its cores have no room for the measured load. It needs
   * no policy for that. Null: they have, or nothing was measured.
   */
  softwareFallsShort(plan: Plan, nf: NfRef): string | null {
    const pps = this.loads.of(nf, 'pps');
    const bps = this.loads.of(nf, 'bps');
    const [instance] = instancesOf(plan, nf);
    const described = instance && this.catalogue.find(instance.nf);
    const chain = plan.chains.find(({ chain_id }) => chain_id === nf.chain_id);
    if (pps === null || bps === null || !described || !chain) return null;
    const descriptor = configuredNf(described, chain.definition, nf.node_id);
    const room = softwareRoom(plan, nf, { pps, bps }, descriptor, this.infrastructure.current.infrastructure);
    if (!room || room.needed <= room.available) return null;
    const carried = inWords('pps', (pps * room.available) / room.needed);
    return `${nf.node_id} cannot make room: its load is ${inWords('pps', pps)}, and its software on ${instance.server} would carry ${carried}.`;
  }
}
