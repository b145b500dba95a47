import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Plan, SloStatus } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { DATA_PATH, type DataPath } from '../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { type SloBoard, TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { SloAlerts } from './alerts/slo-alerts.js';
import { ClassMeter } from './class-meter.js';
import { type ClassObjective, classObjectives } from './class-tasks.js';
import { evaluateSlo, WINDOW_S, windowOf } from './evaluate.js';
import { evaluateClassSlo } from './evaluate-classes.js';
import { SloLedgers } from './ledger/slo-ledgers.js';
import { LeftOutObjectives } from './left-out.js';
import { RunningPredictions } from './running-predictions.js';
import { WarmUps } from './warm-ups.js';

const DEADLINE_MS = 10_000;

/** Evaluates every objective of the deployed chains periodically. */
@Injectable()
export class SlosService implements SloBoard, OnApplicationBootstrap, OnApplicationShutdown {
  private statuses: readonly SloStatus[] = [];
  private readonly listeners: ((statuses: readonly SloStatus[]) => void)[] = [];
  private readonly loop: ControlLoop;
  private readonly warmUps: WarmUps;
  private readonly classMeter = new ClassMeter();
  private followed: Plan | null = null;
  /** By chain. */
  private classObjectives: ReadonlyMap<string, readonly ClassObjective[]> = new Map();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) config: Config,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DATA_PATH) private readonly dataPath: DataPath,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(RunningPredictions) private readonly predictions: RunningPredictions,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(SloLedgers) private readonly ledgers: SloLedgers,
    @Inject(SloAlerts) private readonly alerts: SloAlerts,
    @Inject(LeftOutObjectives) private readonly leftOut: LeftOutObjectives,
  ) {
    const { sloPeriodMs, sloWarmUpMs } = config.timing;
    this.warmUps = new WarmUps(sloWarmUpMs);
    this.loop = loops.add({
      id: 'slo',
      title: 'SLO evaluation',
      purpose:
        'Compares measurements of deployed chains with their objectives, and tells when their budgets burn too fast.',
      tickMs: sloPeriodMs,
      backoff: { firstMs: sloPeriodMs, mostMs: 10_000 },
      deadlineMs: DEADLINE_MS,
      onPause: () => this.expire(),
      run: async (run) => {
        await run.step(this.leftOut.follow(this.view.plan));
        return this.evaluate(run, Date.now());
      },
    });
  }

  onApplicationBootstrap(): void {
    this.telemetry.onSamples((samples) => {
      this.follow();
      this.classMeter.take(samples, performance.now());
    });
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  all(): readonly SloStatus[] {
    return this.statuses;
  }

  onChange(listener: (statuses: readonly SloStatus[]) => void): void {
    this.listeners.push(listener);
  }

  /** Nothing is evaluated while the loop is paused. */
  private expire(): void {
    this.statuses = this.statuses.map((status) => ({ ...status, state: 'stale' }));
    this.ledgers.interrupt();
    this.tell();
  }

  private evaluate(run: LoopRun, nowMs: number): undefined {
    if (this.loop.status().paused) return;
    const before = new Map(this.statuses.map((status) => [idOf(status), status]));
    const { plan } = this.view;
    const definitions = new Map(plan?.chains.map(({ chain_id, definition }) => [chain_id, definition]));
    const definitionOf = (id: string) => definitions.get(id) ?? this.leftOut.definitionOf(id);
    const monotonicMs = performance.now();
    const current = [...this.current(nowMs, monotonicMs), ...this.leftOut.statuses(plan, nowMs)];
    this.statuses = this.ledgers.countSeconds(current, definitionOf, nowMs, monotonicMs);
    this.alerts.judge(this.ledgers, run.decide, nowMs, monotonicMs);
    for (const status of this.statuses) this.tellChange(before.get(idOf(status)), status, run);
    if (this.statuses.length > 0 || before.size > 0) this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener(this.statuses);
  }

  private current(nowMs: number, monotonicMs: number): SloStatus[] {
    const { plan } = this.view;
    if (!plan) return [];
    this.follow();
    const { servers: known } = this.infrastructure.current.infrastructure;
    const ghzOf = (id: string) => known.find((server) => server.id === id)?.ghz ?? 1;
    const predictions = this.predictions.of(plan);
    const exits = [...this.view.exits().values()];
    this.warmUps.forget(monotonicMs);
    return plan.chains.flatMap(({ chain_id: chainId, definition }) => {
      if (!this.view.deployment(chainId)) return [];
      const servers = exits
        .filter((exit) => exit.chain_id === chainId && exit.direction === 'forward')
        .flatMap((exit) => exit.servers);
      const window = this.telemetry.window(chainId, WINDOW_S);
      const blackout = this.dataPath.troublesOf(chainId).some(({ isTotal }) => isTotal);
      const isAway = (server: string) => !this.fleet.isConnected(server);
      const common = {
        chainId,
        window,
        blackout,
        warmUp: this.warmUps.of(chainId, window?.steady_s ?? null, monotonicMs),
        origin: servers[0] ? this.fleet.originOf(servers[0]) : ('twin' as const),
        nowMs,
      };
      const ofChain = definition.slos.map((slo) =>
        evaluateSlo(slo, {
          ...common,
          carriage: this.dataPath.carriage(chainId, windowOf(slo)),
          delivers: this.dataPath.delivers(chainId),
          prediction: predictions.find((each) => each.chain_id === chainId && each.slo_id === slo.id),
          stale: servers.some(isAway),
        }),
      );
      const betweenClasses = (this.classObjectives.get(chainId) ?? []).map((objective) =>
        evaluateClassSlo(objective, {
          ...common,
          stale: objective.ends.some(({ tasks }) => tasks.some(({ queue }) => isAway(queue.server))),
          meter: this.classMeter,
          monotonicMs,
          ghzOf,
          schedule: objective.isPlanned ? plan.schedules.find((each) => each.chain_id === chainId) : undefined,
        }),
      );
      const all = [...ofChain, ...betweenClasses];
      const isUnjudged = all.some(({ state }) => state === 'warming-up');
      this.warmUps.looked(chainId, isUnjudged, monotonicMs);
      return all;
    });
  }

  private follow(): void {
    const { plan } = this.view;
    if (plan === this.followed) return;
    this.followed = plan;
    this.classObjectives = new Map(
      (plan?.chains ?? []).map(({ chain_id }) => [chain_id, classObjectives(plan!, chain_id)]),
    );
    this.classMeter.follow([...this.classObjectives.values()].flat());
  }

  private tellChange(before: SloStatus | undefined, now: SloStatus, { decide }: LoopRun): void {
    if (before?.state === now.state || (!before && (now.state === 'no-data' || now.state === 'warming-up'))) return;
    const why = reasonOf(now);
    const inputs = { measured: now.measured, target: now.target, unit: now.unit };
    decide({ subject: idOf(now), what: `Objective ${WORDS[now.state]}`, why, inputs, told: true });
    this.events.append({
      type: `slo.${now.state}`,
      subject: now.chain_id,
      message: `Objective ${now.slo_id} ${WORDS[now.state]}: ${why}`,
      data: {
        slo_id: now.slo_id,
        measured: now.measured,
        target: now.target,
        unit: now.unit,
        from: before?.state ?? null,
      },
    });
  }
}

const WORDS: Readonly<Record<SloStatus['state'], string>> = {
  met: 'is met',
  violated: 'is violated',
  'no-data': 'has no data',
  'warming-up': 'is not judged yet',
  stale: 'is out of date',
};

/**
 * `12 Mbit/s, target 10 Mbit/s`; of a throughput that does not reach its target, what decided instead: `75 % of the 4 Mbit/s
 * offered was carried, target 10 Mbit/s`.
 */
export function reasonOf({ kind, measured, target, unit, offered, carried, cause }: SloStatus): string {
  const aim = `${AIMS[kind] ?? 'target'} ${quantity(target, unit)}`;
  if (kind === 'loss' && measured !== null)
    return `${quantity(measured, unit)} of the offered packets were lost, ${aim}`;
  const isReached = kind === 'throughput' && measured !== null && measured >= target;
  if (offered !== null && carried !== null && !isReached)
    return `${Math.round(100 * carried)} % of the ${quantity(offered, 'bps')} offered was carried, ${aim}`;
  const figures = `${measured === null ? 'nothing measured' : quantity(measured, unit)}, ${aim}`;
  return cause === undefined ? figures : `${cause} (${figures})`;
}

const AIMS: Readonly<Partial<Record<SloStatus['kind'], string>>> = {
  priority: 'at most',
  loss: 'at most',
  availability: 'at least',
};

const SCALES: Readonly<Record<SloStatus['unit'], readonly [from: number, name: string][]>> = {
  us: [
    [1000, 'ms'],
    [1, 'µs'],
  ],
  bps: [
    [1e6, 'Mbit/s'],
    [1e3, 'kbit/s'],
    [1, 'bit/s'],
  ],
  ratio: [[1, ': 1']],
  share: [[0.01, '%']],
};

function quantity(value: number, unit: SloStatus['unit']): string {
  const scales = SCALES[unit];
  const [from, name] = scales.find(([least]) => value >= least) ?? scales.at(-1)!;
  return `${Number((value / from).toPrecision(3))} ${name}`;
}

/** Unique id of a status. */
export function idOf({ chain_id, slo_id }: SloStatus): string {
  return `${chain_id} ${slo_id}`;
}
