import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import {
  type InstanceSample,
  type LinkSample,
  type ModuleSample,
  metricOfKey,
  type NodeSamples,
  nfInstances,
  type ObservedApplications,
  type Origin,
  type Sample,
  type SampleMetric,
  type Series,
  type SwitchSamples,
  sampleKey,
  samplePrefix,
} from '@orrery/contract';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import type { ExitWindow, Telemetry, TelemetrySink } from '../../ports/telemetry.js';
import { ApplicationRates } from './application-rates.js';
import { BoardRates } from './board-rates.js';
import { CounterRates } from './counter-rates.js';
import { ExitMeter } from './exit-meter.js';
import { NfMeter } from './nf-meter.js';
import { RunningForms } from './running-forms.js';
import { SeriesStore } from './series-store.js';
import { SplitMeter } from './split-meter.js';
import { nfCounters, SwitchNfRates } from './switch-nf-rates.js';
import { SwitchRates } from './switch-rates.js';

/** Ten minutes at 5 Hz. */
const POINTS_PER_KEY = 3000;
const MAX_KEYS = 4000;
/** Ten minutes at 1 Hz. */
const POINTS_PER_RULE = 600;
/** Two of each rule; requests are rules, by the thousand. */
const MAX_RULE_KEYS = 16_000;
const RULES = samplePrefix('rule');
const QUIET_MS = 10_000;
const TICK_MS = 200;
/** Samples of an agent whose clock is further from the server's are taken for as old as their arrival. */
const MOST_OFF_MS = 2000;

type SampleListener = (samples: readonly Sample[], links: readonly LinkSample[]) => void;

/** Turns measurements into rates, keeps the last ten minutes and publishes each sample. */
@Injectable()
export class SamplesService implements Telemetry, TelemetrySink, OnModuleInit, OnApplicationShutdown {
  private readonly common = new SeriesStore(POINTS_PER_KEY, MAX_KEYS, QUIET_MS);
  /** Of the rules of switches, which take no room from what objectives are judged by. */
  private readonly ofRules = new SeriesStore(POINTS_PER_RULE, MAX_RULE_KEYS, QUIET_MS);
  private readonly rates = new Map<string, CounterRates>();
  private readonly boardRates = new Map<string, BoardRates>();
  private readonly switchRates = new Map<string, SwitchRates>();
  private readonly switchNfs = new Map<string, SwitchNfRates>();
  private readonly applicationRates = new Map<string, ApplicationRates>();
  private readonly nfs = new NfMeter();
  private readonly splits = new SplitMeter();
  private readonly newestOfServers = new Map<string, Pick<NodeSamples, 'instances' | 'modules'>>();
  private readonly newestOfSwitches = new Map<string, SwitchSamples>();
  private readonly forms = new RunningForms();
  private readonly meters = new Map<string, ExitMeter>();
  private readonly sampleListeners: SampleListener[] = [];
  private readonly packetListeners: ((chainId: string, tMs: number) => void)[] = [];
  private tick: NodeJS.Timeout | null = null;

  constructor(
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  onModuleInit(): void {
    this.tick = setInterval(() => this.publishChains(performance.now()), TICK_MS);
  }

  onApplicationShutdown(): void {
    if (this.tick) clearInterval(this.tick);
  }

  takeNode(node: string, origin: Origin, samples: NodeSamples): void {
    this.newestOfServers.set(node, { instances: samples.instances, modules: samples.modules });
    let rates = this.rates.get(node);
    if (!rates) {
      rates = new CounterRates(node, (id) => this.forms.isMerge(id));
      this.rates.set(node, rates);
    }
    const boardRates = this.boardRates.get(node) ?? new BoardRates();
    this.boardRates.set(node, boardRates);
    const ofBoards = boardRates.take(samples);
    const takenMs = byServersClock(samples.t_ms);
    this.followPlan();
    const result = rates.take(samples);
    this.publish(
      ofBoards.map(([key, value]) => ({ key, t_ms: takenMs, value, origin })),
      [],
    );
    if (!result) return;
    const nowMs = performance.now();
    this.nfs.take(node, result.values, origin, nowMs);
    this.splits.take(node, samples, origin, this.view.plan, nowMs);
    this.publish(
      result.values.map(([key, value]) => ({ key, t_ms: takenMs, value, origin })),
      [],
    );
    const exits = this.view.exits();
    const t_ms = Date.now();
    for (const delta of result.exits) {
      const exit = exits.get(delta.exit_id);
      if (exit?.direction !== 'forward') continue;
      let meter = this.meters.get(exit.chain_id);
      if (!meter) {
        meter = new ExitMeter(origin);
        this.meters.set(exit.chain_id, meter);
      }
      meter.add(`${node} ${delta.exit_id}`, delta, result.interval_ms, nowMs);
      if (delta.packets > 0) for (const listener of this.packetListeners) listener(exit.chain_id, t_ms);
    }
  }

  takeSwitch(id: string, origin: Origin, samples: SwitchSamples): void {
    this.newestOfSwitches.set(id, samples);
    const rates = this.switchRates.get(id) ?? new SwitchRates(id);
    this.switchRates.set(id, rates);
    const nfs = this.switchNfs.get(id) ?? new SwitchNfRates();
    this.switchNfs.set(id, nfs);
    this.followPlan();
    const nowMs = performance.now();
    const takenMs = byServersClock(samples.t_ms);
    const ofNfs = nfs.take(samples, nowMs);
    this.nfs.take(id, ofNfs, origin, nowMs, 3 * samples.interval_ms);
    this.publish(
      ofNfs.map(([key, value]) => ({ key, t_ms: takenMs, value, origin })),
      [],
    );
    const { t_ms: clock_ms, splits } = samples;
    this.splits.take(id, { epoch: 'switch', clock_ms, splits }, origin, this.view.plan, performance.now());
    this.publish(
      rates.take(samples, performance.now()).map(([key, value]) => ({ key, t_ms: takenMs, value, origin })),
      [],
    );
  }

  takeLinks(links: readonly LinkSample[]): void {
    const samples = links.flatMap((link): Sample[] => [
      { key: sampleKey('link', link.link_id, 'a_to_b_bps'), t_ms: link.t_ms, value: link.a_to_b_bps, origin: 'twin' },
      { key: sampleKey('link', link.link_id, 'b_to_a_bps'), t_ms: link.t_ms, value: link.b_to_a_bps, origin: 'twin' },
    ]);
    this.publish(samples, links);
  }

  takeApplications(supervisor: string, origin: Origin, { applications }: ObservedApplications): void {
    const rates = this.applicationRates.get(supervisor) ?? new ApplicationRates();
    this.applicationRates.set(supervisor, rates);
    const t_ms = Date.now();
    this.publish(
      rates.take(applications, performance.now()).map(([key, value]) => ({ key, t_ms, value, origin })),
      [],
    );
  }

  counters(isHeard: (id: string) => boolean = () => true): InstanceSample[] {
    const { plan } = this.view;
    const running = new Set([...nfInstances(plan?.graph), ...(plan?.on_switches ?? [])].map(({ id }) => id));
    const onServers = [...this.newestOfServers].flatMap(([id, { instances }]) => (isHeard(id) ? instances : []));
    const onSwitches = [...this.newestOfSwitches].flatMap(([id, { nfs = [] }]) => (isHeard(id) ? nfs : []));
    return [...onServers, ...onSwitches.map(nfCounters)].filter(({ instance_id }) => running.has(instance_id));
  }

  moduleCounters(): ModuleSample[] {
    const running = new Set(this.view.plan?.graph.nodes.map(({ id }) => id));
    return [...this.newestOfServers.values()]
      .flatMap(({ modules }) => modules)
      .filter(({ module_id }) => running.has(module_id));
  }

  switchCounters(id: string): SwitchSamples | null {
    return this.newestOfSwitches.get(id) ?? null;
  }

  series(keys: readonly string[], sinceMs: number): Series[] {
    const unitOf = (key: string) => metricOfKey(key)?.unit ?? '';
    return [this.common, this.ofRules].flatMap((store) => {
      const those = keys.filter((key) => this.storeOf(key) === store);
      return store.read(those, sinceMs, unitOf);
    });
  }

  newest(key: string, withinMs: number): number | null {
    return this.storeOf(key).newest(key, performance.now() - withinMs);
  }

  mean(key: string, overMs: number, withinMs: number): number | null {
    return this.storeOf(key).mean(key, overMs, performance.now() - withinMs);
  }

  window(chainId: string, seconds: number): ExitWindow | null {
    this.followPlan();
    return this.meters.get(chainId)?.window(seconds, performance.now()) ?? null;
  }

  onSamples(listener: SampleListener): void {
    this.sampleListeners.push(listener);
  }

  onPackets(listener: (chainId: string, tMs: number) => void): void {
    this.packetListeners.push(listener);
  }

  /** A chain of which something else runs is not steady until that has carried packets. */
  private followPlan(): void {
    for (const chainId of this.forms.follow(this.view.plan)) this.meters.get(chainId)?.unsettle();
  }

  /** `nowMs`: monotonic clock. */
  private publishChains(nowMs: number): void {
    const now = Date.now();
    this.publish(
      [...this.nfs.now(nowMs), ...this.splits.now(nowMs)].map(({ key, value, origin }) => ({
        key,
        t_ms: now,
        value,
        origin,
      })),
      [],
    );
    for (const [chainId, meter] of this.meters) {
      if (!this.view.deployment(chainId)) {
        this.meters.delete(chainId);
        continue;
      }
      const rates = meter.now(nowMs);
      if (!rates) continue;
      const sample = (metric: SampleMetric<'chain'>, value: number): Sample => ({
        key: sampleKey('chain', chainId, metric),
        t_ms: now,
        value,
        origin: meter.origin,
      });
      const samples = [sample('pps', rates.pps), sample('bps', rates.bps)];
      if (rates.p50_us !== null && rates.p99_us !== null)
        samples.push(sample('latency_p50_us', rates.p50_us), sample('latency_p99_us', rates.p99_us));
      this.publish(samples, []);
    }
  }

  /** `key`: a prefix too. */
  private storeOf(key: string): SeriesStore {
    return key.startsWith(RULES) ? this.ofRules : this.common;
  }

  private publish(samples: readonly Sample[], links: readonly LinkSample[]): void {
    const nowMs = performance.now();
    for (const { key, t_ms, value } of samples)
      if (!this.storeOf(key).push(key, t_ms, value, nowMs)) this.metrics.sampleKeysRefused.inc();
    for (const listener of this.sampleListeners) listener(samples, links);
  }
}

/** When an agent took its samples, by the clock of the server, which those who read them go by. */
function byServersClock(agentMs: number): number {
  const nowMs = Date.now();
  return Math.abs(nowMs - agentMs) > MOST_OFF_MS ? nowMs : agentMs;
}
