import { Inject, Injectable } from '@nestjs/common';
import type { NfRef } from '@orrery/contract';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { nfKey, sameNf, USUAL_PRIORITY } from './decision.js';
import { Policies, type StoredPolicy } from './policies.js';

/** The newest sample counts for so long. */
const FRESH_MS = 2500;

type Metric = StoredPolicy['threshold']['metric'];

const UNITS: Readonly<Record<Metric, (value: number) => string>> = {
  bps: (value) => `${(value / 1e6).toPrecision(3)} Mbit/s`,
  pps: (value) => `${Math.round(value)} packets/s`,
  cpu: (value) => `${Math.round(value * 100)} % of a core`,
};

export function inWords(metric: Metric, load: number): string {
  return UNITS[metric](load);
}

/** What NFs carry now, and what policies say of that. */
@Injectable()
export class NfLoads {
  constructor(
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(Policies) private readonly policies: Policies,
  ) {}

  /** null: nothing was measured lately. */
  of(nf: NfRef, metric: Metric, nowMs: number): number | null {
    const key = nfKey(this.view.plan, nf);
    if (key === null) return null;
    const [series] = this.telemetry.series([`nf/${key}/${metric}`], nowMs - FRESH_MS);
    return series?.points.at(-1)?.[1] ?? null;
  }

  priorityOf(pipelineId: string): number {
    const own = this.policies.all().filter(({ nf }) => nf.pipeline_id === pipelineId);
    return Math.max(...(own.length > 0 ? own.map(({ priority }) => priority) : [USUAL_PRIORITY]));
  }

  /** Why a displaced NF cannot be software: its own load is above what its policy lets software carry. null: it can. */
  cannotLeave(nf: NfRef): string | null {
    for (const policy of this.policies.all()) {
      if (!policy.enabled || !sameNf(policy.nf, nf)) continue;
      const { metric, up } = policy.threshold;
      const load = this.of(nf, metric, Date.now());
      if (load !== null && load > up)
        return `${nf.node_id} cannot make room: its load of ${inWords(metric, load)} is above the ${inWords(metric, up)} that software carries.`;
    }
    return null;
  }
}
