import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Controller, Global, Inject, Injectable, Module, type OnModuleInit, Req, Res } from '@nestjs/common';
import {
  API_PREFIX,
  type Capability,
  type CaptureStatus,
  type Fault,
  type PcapInfo,
  type RouteInput,
  type SessionInfo,
  type TwinCapabilities,
  type TwinState,
  type TwinStatus,
} from '@orrery/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type Config } from '../../platform/config.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { type PageQuery, pageOf } from '../../platform/paging.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { conflict, ProblemError } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { TWIN_APPLICATIONS } from '../../ports/twin-applications.js';
import { TWIN } from '../../ports/twin-view.js';
import { ExternalTwin } from './external-twin.js';
import { InfrastructureCheck } from './infrastructure-check.js';
import { readPcap } from './pcap-upload.js';
import { SpecSender } from './spec-sender.js';
import { TwinApplicationsLink } from './twin-applications-link.js';
import { TwinDemand } from './twin-demand.js';
import { TWIN_HOST } from './twin-host.js';
import { TwinKeeper } from './twin-keeper.js';
import { TwinProcess } from './twin-process.js';
import { TwinReports } from './twin-reports.js';
import { TwindClient } from './twind-client.js';

/** For reads while twind is silent: a busy one answers, a hung one does not. */
const SILENT_READ_LIMIT_MS = 3000;

@Controller()
class TwinController {
  constructor(
    @Inject(TwinKeeper) private readonly twin: TwinKeeper,
    @Inject(TwindClient) private readonly twind: TwindClient,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  @Route('getTwin')
  status(): TwinStatus {
    return this.twin.status();
  }

  @Route('listFaults')
  async faults(@Input() { query }: RouteInput<'listFaults'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { faults } = await this.read<TwinState>('/state');
    return pageOf(faults, query, ({ id }) => id, reply);
  }

  @Route('injectFault')
  async inject(@Input() { body }: RouteInput<'injectFault'>, @Caller() caller: SessionInfo): Promise<Fault> {
    const fault = await this.client.json<Fault>('POST', '/faults', body);
    this.events.append({
      type: 'fault.injected',
      subject: fault.target,
      message: `${fault.kind} at ${fault.target}`,
      actor: caller.name,
      data: { fault_id: fault.id, kind: fault.kind, target: fault.target, slot: fault.slot },
    });
    return fault;
  }

  @Route('clearFault')
  async clear(@Input() { params }: RouteInput<'clearFault'>, @Caller() caller: SessionInfo): Promise<void> {
    await this.client.json('DELETE', `/faults/${encodeURIComponent(params.id)}`);
    this.events.append({
      type: 'fault.cleared',
      subject: params.id,
      message: 'The fault was cleared',
      actor: caller.name,
      data: { fault_id: params.id },
    });
  }

  @Route('listPcaps')
  pcaps(@Input() { query }: RouteInput<'listPcaps'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.collection<PcapInfo>('/pcaps', query, reply);
  }

  @Route('uploadPcap')
  async upload(
    @Input() { query }: RouteInput<'uploadPcap'>,
    @Req() request: FastifyRequest,
    @Caller() caller: SessionInfo,
  ): Promise<PcapInfo> {
    if (!(request.body instanceof Readable))
      throw new ProblemError(415, 'Send the capture as application/octet-stream.');
    const declared = request.headers['content-length'];
    const capture = await readPcap(request.body, declared === undefined ? undefined : Number(declared));
    const info = await this.client.upload<PcapInfo>(`/pcaps?name=${encodeURIComponent(query.name)}`, capture);
    this.events.append({
      type: 'pcap.uploaded',
      subject: info.id,
      message: `${info.name}: ${info.packets} packets`,
      actor: caller.name,
      data: { packets: info.packets },
    });
    return info;
  }

  @Route('deletePcap')
  async deletePcap(@Input() { params }: RouteInput<'deletePcap'>, @Caller() caller: SessionInfo): Promise<void> {
    await this.client.json('DELETE', `/pcaps/${encodeURIComponent(params.id)}`);
    this.events.append({
      type: 'pcap.deleted',
      subject: params.id,
      message: 'The capture was deleted',
      actor: caller.name,
      data: {},
    });
  }

  @Route('startCapture')
  async capture(
    @Input() { body }: RouteInput<'startCapture'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CaptureStatus> {
    const status = await this.client.json<CaptureStatus>('POST', '/captures', body);
    reply.header('location', `${API_PREFIX}/twin/captures/${status.id}`);
    return status;
  }

  @Route('stopCapture')
  stopCapture(@Input() { params }: RouteInput<'stopCapture'>): Promise<CaptureStatus> {
    return this.client.json('POST', `/captures/${encodeURIComponent(params.id)}/stop`);
  }

  @Route('getCapture')
  captured(@Input() { params }: RouteInput<'getCapture'>): Promise<CaptureStatus> {
    return this.read(`/captures/${encodeURIComponent(params.id)}`);
  }

  private get client() {
    const { enabled, daemon, detail } = this.twin.status();
    if (!enabled) throw conflict('The twin is off (ORRERY_TWIN=off).');
    if (daemon === 'off') throw conflict('There is no twin: the infrastructure has no emulated nodes.');
    if (!this.twin.isRunning) throw unavailableTwin(detail ?? daemon);
    return this.twind;
  }

  /** Reads are repeated by consoles: those of a hung twin must not pile up. */
  private async read<T>(path: string): Promise<T> {
    const { client } = this;
    const { daemon, detail } = this.twin.status();
    if (daemon === 'running') return client.json<T>('GET', path);
    const limit = AbortSignal.timeout(SILENT_READ_LIMIT_MS);
    return client.json<T>('GET', path, undefined, limit).catch((error: unknown) => {
      throw limit.aborted ? unavailableTwin(detail ?? daemon) : error;
    });
  }

  private async collection<T extends { id: string }>(path: string, query: PageQuery, reply: FastifyReply) {
    const { items } = this.twin.isRunning ? await this.read<{ items: T[] }>(path) : { items: [] as T[] };
    return pageOf(items, query, ({ id }) => id, reply);
  }
}

function unavailableTwin(why: string): ProblemError {
  return new ProblemError(502, `The twin is not available: ${why}`);
}

@Injectable()
class TwinProbes implements OnModuleInit {
  constructor(
    @Inject(TwinKeeper) private readonly twin: TwinKeeper,
    @Inject(TwindClient) private readonly twind: TwindClient,
    @Inject(PROBES) private readonly probes: Probes,
  ) {}

  onModuleInit(): void {
    this.probes.onHealth(() => {
      const { enabled, daemon, detail, state } = this.twin.status();
      if (!enabled || daemon === 'off')
        return [{ name: 'twin', status: 'absent', detail: enabled ? 'no emulated nodes' : 'disabled' }];
      const phase = daemon === 'running' ? (state?.phase ?? 'starting') : daemon;
      return [{ name: 'twin', status: phase === 'up' ? 'ok' : 'degraded', detail: detail ?? state?.error ?? phase }];
    });
    this.probes.onCapabilities(async () => {
      const { enabled, daemon, detail } = this.twin.status();
      const own: Capability = {
        id: 'twin',
        title: 'Digital twin',
        where: 'server',
        available: enabled,
        detail: enabled ? (detail ?? `its daemon is ${daemon}`) : 'disabled (ORRERY_TWIN=off)',
        fallback: enabled ? null : 'planning, and live servers with agents',
      };
      if (daemon !== 'running') return [own];
      const told = await this.twind.json<TwinCapabilities>('GET', '/capabilities').catch(() => null);
      return [own, ...(told?.capabilities ?? [])];
    });
  }
}

const socketOf = (runDir: string) => join(runDir, 'twind.sock');

@Global()
@Module({
  controllers: [TwinController],
  providers: [
    {
      provide: TwindClient,
      inject: [CONFIG],
      useFactory: ({ runDir }: Config) => new TwindClient(socketOf(runDir)),
    },
    {
      provide: TWIN_HOST,
      inject: [CONFIG, METRICS],
      useFactory: ({ runDir, stateDir, twin: { launcher } }: Config, { twinRestarts }: Metrics) =>
        launcher === null
          ? new ExternalTwin(socketOf(runDir))
          : new TwinProcess({
              launcher,
              runDir,
              stateDir: join(stateDir, 'twin'),
              onRestart: () => twinRestarts.inc(),
            }),
    },
    TwinDemand,
    SpecSender,
    TwinReports,
    TwinKeeper,
    { provide: TWIN, useExisting: TwinKeeper },
    InfrastructureCheck,
    TwinProbes,
    TwinApplicationsLink,
    { provide: TWIN_APPLICATIONS, useExisting: TwinApplicationsLink },
  ],
  exports: [TWIN, TWIN_APPLICATIONS],
})
export class TwinModule {}
