import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { Calibration, nfInstances, type Plan, percentileNs, sampleKey } from '@orrery/contract';
import { NOT_CALIBRATED, overheadMeasured } from '@orrery/planner';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { unreadableState } from '../../platform/state-version.js';
import type { CalibrationView } from '../../ports/calibration.js';
import { DATA_PATH, type DataPath } from '../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { Calibrator } from './calibrator.js';

/** Windows do not overlap. */
const WINDOW_S = 10;
const TICK_MS = 1000 * WINDOW_S;
/** A window begins no earlier than this after the first packet of what runs. */
const WARM_UP_S = 5;
/** So that two of them lie above the 99th percentile. */
const LEAST_PACKETS = 200;

/** Change of the mean that is told of: on a busy machine it changes a little with every window. */
const WORTH_TELLING = 0.25;

/** Adjusts the planner's model of latency to what exits of running chains measure, and remembers it. */
@Injectable()
export class CalibrationService
  implements CalibrationView, OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  private readonly loop: ControlLoop;
  private calibrator = new Calibrator(NOT_CALIBRATED);
  /** The mean that was told last. */
  private told_us: number | null = null;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(STORE) private readonly store: Store,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DATA_PATH) private readonly dataPath: DataPath,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {
    this.loop = loops.add({
      id: 'calibration',
      title: 'Calibration of the latency model',
      purpose: 'Measures on running chains what the latency model lacks on these servers.',
      tickMs: TICK_MS,
      backoff: { firstMs: TICK_MS, mostMs: TICK_MS },
      deadlineMs: TICK_MS,
      run: (run) => this.calibrate(run, Date.now()),
    });
  }

  async onModuleInit(): Promise<void> {
    const stored = await this.store.json(KEYS.calibration);
    if (stored === null) return;
    const parsed = Calibration.safeParse(stored);
    if (!parsed.success) throw unreadableState('The calibration', parsed.error.message);
    this.calibrator = new Calibrator(parsed.data);
  }

  onApplicationBootstrap(): void {
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  get current(): Calibration {
    return this.calibrator.current;
  }

  private async calibrate({ step, decide }: LoopRun, nowMs: number): Promise<undefined> {
    const { infrastructure } = this.infrastructure.current;
    this.measure(nowMs);
    if (!this.calibrator.renew(infrastructure)) return;
    const { current } = this.calibrator;
    await step(this.store.redis.set(KEYS.calibration, JSON.stringify(current)));
    const { mean_us = 0, packets = 0 } = Object.values(current.entries)[0] ?? {};
    if (this.told_us !== null && Math.abs(mean_us - this.told_us) <= WORTH_TELLING * this.told_us) return;
    this.told_us = mean_us;
    decide({
      subject: 'calibration',
      what: 'Latency model calibrated',
      why: `${packets} packets measured, mean overhead of an entry ${mean_us.toFixed(1)} µs`,
      inputs: { servers: Object.keys(current.entries).length, packets, mean_us },
    });
  }

  /** Packets that wait behind others in a full queue tell of the load, not of the servers. */
  private isFull({ graph }: Plan, chainId: string, sinceMs: number): boolean {
    const own = nfInstances(graph).filter(({ chain_id }) => chain_id === chainId);
    const keys = own.map(({ id }) => sampleKey('instance', id, 'full_pps'));
    return this.telemetry.series(keys, sinceMs).some(({ points }) => points.some(([, pps]) => pps > 0));
  }

  private measure(nowMs: number): void {
    const { plan } = this.view;
    const { infrastructure } = this.infrastructure.current;
    if (!plan) return;
    const running = { plan, infrastructure, descriptors: this.catalogue.all(), calibration: this.current };
    for (const { chain_id } of plan.chains) {
      const window = this.telemetry.window(chain_id, WINDOW_S);
      if (!window || window.packets < LEAST_PACKETS || window.steady_s < WARM_UP_S + WINDOW_S) continue;
      if (this.view.deployment(chain_id)?.state !== 'running' || this.dataPath.troublesOf(chain_id).length > 0)
        continue;
      if (this.isFull(plan, chain_id, nowMs - 1000 * WINDOW_S)) continue;
      const [p50, p99] = [50, 99].map((percentile) => percentileNs(window.latency_ns, percentile)) as [number, number];
      const found = overheadMeasured(running, chain_id, { p50_us: p50 / 1000, p99_us: p99 / 1000 });
      if (found) this.calibrator.add(found, window.packets, nowMs, infrastructure);
    }
  }
}
