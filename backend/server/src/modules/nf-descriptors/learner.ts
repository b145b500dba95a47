import { Inject, Injectable } from '@nestjs/common';
import {
  type Instance,
  type LearnAnswer,
  type LearnRequest,
  type MeasuredProfile,
  type NfDescriptor,
  nfInstances,
  type PlannedChain,
  sampleKey,
} from '@orrery/contract';
import { costFactor, learntFrom, timesFactor } from '@orrery/planner';
import { conflict } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS } from '../../ports/descriptor-catalogue.js';
import { ELEMENT_MANAGERS, type ElementManagers } from '../../ports/element-managers.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { NfDescriptorsService } from './nf-descriptors.service.js';

/** From how far back samples are taken. */
const WINDOW_MS = 300_000;
/** Below, the work of the engine itself outweighs that of the NF. */
const LEAST_PPS = 500;
const LEAST_SHARE = 0.01;
/** After it was switched to software, figures of an NF are of software alone. */
const SETTLED_MS = 2000;
/** Many times what a median needs. */
const MOST_SAMPLES = 10_000;

interface Measured {
  readonly factor: number;
  readonly packet_bytes: number;
  readonly server: string;
}

/** Learns what packets of an NF cost from its running instances. */
@Injectable()
export class Learner {
  constructor(
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptorsService,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(ELEMENT_MANAGERS) private readonly managers: ElementManagers,
  ) {}

  /** Throws 404, and without a dry run 409 where too little is measured. */
  async learn(id: string, { driver, dry_run }: LearnRequest, by: string): Promise<LearnAnswer> {
    const { measured, refusal } = this.measured(id, driver, Date.now());
    if (dry_run) return { measured, refusal, learnt: false };
    if (measured === null || refusal !== null) throw conflict(refusal ?? 'Nothing was measured.');
    await this.catalogue.learn(id, { ...measured, by, learnt_ms: Date.now() });
    return { measured, refusal, learnt: true };
  }

  private measured(id: string, driver: LearnRequest['driver'], nowMs: number): Omit<LearnAnswer, 'learnt'> {
    const declared = this.catalogue.declaredBy(id);
    const cost = declared.implementations.find((it) => it.driver === driver)?.cost;
    if (!cost) return { measured: null, refusal: `It has no implementation with the driver ${driver}.` };
    const { plan } = this.view;
    const chains = new Map(plan?.chains.map((chain) => [chain.chain_id, chain]));
    const instances = nfInstances(plan?.graph).filter((it) => it.nf === id && it.driver === driver);
    const samples = instances
      .flatMap((instance) => this.samplesOf(instance, driver, chains.get(instance.chain_id), nowMs - WINDOW_MS))
      .slice(-MOST_SAMPLES);
    const found = learntFrom(samples.map(({ factor }) => factor));
    if (!found) return { measured: null, refusal: 'No instance of it carried enough packets in software lately.' };
    const { factor, spread, refusal } = found;
    const servers = [...new Set(samples.map(({ server }) => server))].sort();
    const profile: MeasuredProfile = {
      driver,
      factor,
      spread,
      samples: samples.length,
      packet_bytes: samples.reduce((sum, { packet_bytes }) => sum + packet_bytes, 0) / samples.length,
      servers,
      origin: servers.some((server) => this.serverOf(server)?.origin === 'twin') ? 'twin' : 'live',
      declared: cost,
      cost: timesFactor(cost, factor),
    };
    return { measured: profile, refusal };
  }

  private samplesOf(
    { id, node_id, nf, server }: Instance,
    driver: LearnRequest['driver'],
    chain: PlannedChain | undefined,
    sinceMs: number,
  ): Measured[] {
    const { ghz } = this.serverOf(server) ?? {};
    const declared = this.catalogue.declaredBy(nf);
    const softwareMs = this.inSoftwareSince(id, declared);
    if (!chain || ghz === undefined || softwareMs === null) return [];
    const points = (metric: 'cpu' | 'pps' | 'bps') =>
      new Map(this.telemetry.series([sampleKey('instance', id, metric)], sinceMs).flatMap((series) => series.points));
    const [cpu, pps, bps] = [points('cpu'), points('pps'), points('bps')];
    return [...cpu].flatMap(([t_ms, share]): Measured[] => {
      const [packets, bits] = [pps.get(t_ms) ?? 0, bps.get(t_ms) ?? 0];
      if (t_ms <= softwareMs || packets < LEAST_PPS || share < LEAST_SHARE) return [];
      const packet_bytes = bits / packets / 8;
      const cycles = (share * ghz * 1e9) / packets;
      const factor = costFactor(declared, driver, chain.definition, node_id, { cycles, packet_bytes });
      return [{ factor, packet_bytes, server }];
    });
  }

  /** Since when its samples are of software; null: it is accelerated, or may be. */
  private inSoftwareSince(instanceId: string, { acceleration }: NfDescriptor): number | null {
    if (!acceleration) return 0;
    const sinceMs = this.managers.softwareSince(instanceId);
    return sinceMs === null ? null : sinceMs + SETTLED_MS;
  }

  private serverOf(id: string) {
    return this.infrastructure.current.infrastructure.servers.find((server) => server.id === id);
  }
}
