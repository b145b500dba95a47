import {
  Controller,
  Global,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
  Res,
} from '@nestjs/common';
import type { RouteInput, SloStatus } from '@orrery/contract';
import type { FastifyReply } from 'fastify';
import { CONFIG, type Config } from '../../platform/config.js';
import { pageOf } from '../../platform/paging.js';
import { Input, Route } from '../../platform/route.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { SLO_BOARD, type SloBoard, TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { evaluateSlo, WINDOW_S } from './evaluate.js';

@Injectable()
class SlosService implements SloBoard, OnModuleInit, OnApplicationShutdown {
  private statuses: readonly SloStatus[] = [];
  private readonly listeners: ((statuses: readonly SloStatus[]) => void)[] = [];
  private timer: NodeJS.Timeout | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => this.evaluate(Date.now()), this.config.timing.sloPeriodMs);
  }

  onApplicationShutdown(): void {
    if (this.timer) clearInterval(this.timer);
  }

  all(): readonly SloStatus[] {
    return this.statuses;
  }

  onChange(listener: (statuses: readonly SloStatus[]) => void): void {
    this.listeners.push(listener);
  }

  private evaluate(nowMs: number): void {
    const before = new Map(this.statuses.map((status) => [idOf(status), status]));
    this.statuses = this.current(nowMs);
    for (const status of this.statuses) this.tellChange(before.get(idOf(status)), status);
    if (this.statuses.length > 0 || before.size > 0) for (const listener of this.listeners) listener(this.statuses);
  }

  private current(nowMs: number): SloStatus[] {
    const { plan } = this.view;
    if (!plan) return [];
    const exits = [...this.view.exits().values()];
    return plan.pipelines.flatMap(({ pipeline_id: pipelineId, definition }) => {
      if (!this.view.deployment(pipelineId)) return [];
      const servers = exits
        .filter((exit) => exit.pipeline_id === pipelineId && exit.direction === 'forward')
        .flatMap((exit) => exit.servers);
      const window = this.telemetry.window(pipelineId, WINDOW_S);
      return definition.slos.map((slo) =>
        evaluateSlo(slo, {
          pipelineId,
          window,
          prediction: plan.slos.find((each) => each.pipeline_id === pipelineId && each.slo_id === slo.id),
          stale: servers.some((server) => !this.fleet.isConnected(server)),
          origin: servers[0] ? this.fleet.originOf(servers[0]) : 'twin',
          nowMs,
        }),
      );
    });
  }

  private tellChange(before: SloStatus | undefined, now: SloStatus): void {
    if (before?.state === now.state || (!before && now.state === 'no-data')) return;
    const measured = now.measured === null ? 'nothing measured' : quantity(now.measured, now.unit);
    this.events.append({
      type: `slo.${now.state}`,
      severity: now.state === 'violated' ? 'warning' : 'info',
      subject: now.pipeline_id,
      message: `Objective ${now.slo_id} ${WORDS[now.state]}: ${measured}, target ${quantity(now.target, now.unit)}`,
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
  stale: 'is out of date',
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
};

function quantity(value: number, unit: SloStatus['unit']): string {
  const scales = SCALES[unit];
  const [from, name] = scales.find(([least]) => value >= least) ?? scales.at(-1)!;
  return `${Number((value / from).toPrecision(3))} ${name}`;
}

function idOf({ pipeline_id, slo_id }: SloStatus): string {
  return `${pipeline_id} ${slo_id}`;
}

@Controller()
class SlosController {
  constructor(@Inject(SLO_BOARD) private readonly board: SloBoard) {}

  @Route('listSlos')
  list(@Input() { query }: RouteInput<'listSlos'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const chosen = this.board
      .all()
      .filter(
        (status) =>
          (!query.pipeline_id || status.pipeline_id === query.pipeline_id) &&
          (!query.state || status.state === query.state),
      );
    return pageOf(chosen, query, idOf, reply);
  }
}

@Global()
@Module({
  controllers: [SlosController],
  providers: [SlosService, { provide: SLO_BOARD, useExisting: SlosService }],
  exports: [SLO_BOARD],
})
export class SlosModule {}
