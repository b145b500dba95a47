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

  of({ chain_id, node_id }: NfRef, metric: LoadMetric): number | null {
    const instance = nfInstances(this.view.plan?.graph).find(
      (it) => it.chain_id === chain_id && it.node_id === node_id,
    );
    return instance ? this.telemetry.newest(sampleKey('nf', instance.pgraph_node, metric), FRESH_MS) : null;
  }
}
