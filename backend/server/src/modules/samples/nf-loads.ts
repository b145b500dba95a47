import { Inject, Injectable } from '@nestjs/common';
import { type NfRef, nfInstances, sampleKey } from '@orrery/contract';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import type { LoadMetric, NfLoads } from '../../ports/nf-loads.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';

/** How long the latest sample is valid. */
const FRESH_MS = 2500;

@Injectable()
export class MeasuredNfLoads implements NfLoads {
  constructor(
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  of({ chain_id, node_id }: NfRef, metric: LoadMetric, nowMs: number): number | null {
    const instance = nfInstances(this.view.plan?.graph).find(
      (it) => it.chain_id === chain_id && it.node_id === node_id,
    );
    if (!instance) return null;
    const [series] = this.telemetry.series([sampleKey('nf', instance.pgraph_node, metric)], nowMs - FRESH_MS);
    return series?.points.at(-1)?.[1] ?? null;
  }
}
