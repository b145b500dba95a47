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
  type TrafficStatus,
  type TwinCapabilities,
  type TwinState,
  type TwinStatus,
} from '@orrery/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type PageQuery, pageOf } from '../../platform/paging.js';
import { PROBES, type Probes } from '../../platform/probes.js';
import { conflict, ProblemError } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FABRIC } from '../../ports/fabric-driver.js';
import { TWIN } from '../../ports/twin-view.js';
import { readPcap } from './pcap-upload.js';
import { TwinKeeper } from './twin-keeper.js';

@Controller()
class TwinController {
  constructor(
    @Inject(TwinKeeper) private readonly twin: TwinKeeper,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  @Route('getTwin')
  status(): TwinStatus {
    return this.twin.status();
  }

  @Route('listTraffic')
  list(@Input() { query }: RouteInput<'listTraffic'>, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.collection<TrafficStatus>('/traffic', query, reply);
  }

  @Route('startTraffic')
  async start(
    @Input() { body }: RouteInput<'startTraffic'>,
    @Caller() caller: SessionInfo,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TrafficStatus> {
    const status = await this.client.json<TrafficStatus>('POST', '/traffic', body);
    this.tell('traffic.started', status.id, `${body.kind} traffic from ${body.from}`, caller);
    reply.header('location', `${API_PREFIX}/twin/traffic/${status.id}`);
    return status;
  }

  @Route('getTraffic')
  traffic(@Input() { params }: RouteInput<'getTraffic'>): Promise<TrafficStatus> {
    return this.client.json('GET', `/traffic/${encodeURIComponent(params.id)}`);
  }

  @Route('stopTraffic')
  async stop(@Input() { params }: RouteInput<'stopTraffic'>, @Caller() caller: SessionInfo): Promise<void> {
    await this.client.json('DELETE', `/traffic/${encodeURIComponent(params.id)}`);
    this.tell('traffic.stopped', params.id, 'Traffic was stopped', caller);
  }

  @Route('listFaults')
  async faults(@Input() { query }: RouteInput<'listFaults'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const { faults } = await this.client.json<TwinState>('GET', '/state');
    return pageOf(faults, query, ({ id }) => id, reply);
  }

  @Route('injectFault')
  async inject(@Input() { body }: RouteInput<'injectFault'>, @Caller() caller: SessionInfo): Promise<Fault> {
    const fault = await this.client.json<Fault>('POST', '/faults', body);
    this.tell('fault.injected', fault.target, `${fault.kind} at ${fault.target}`, caller, 'warning');
    return fault;
  }

  @Route('clearFault')
  async clear(@Input() { params }: RouteInput<'clearFault'>, @Caller() caller: SessionInfo): Promise<void> {
    await this.client.json('DELETE', `/faults/${encodeURIComponent(params.id)}`);
    this.tell('fault.cleared', params.id, 'The fault was mended', caller);
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
    this.tell('pcap.uploaded', info.id, `${info.name}: ${info.packets} packets`, caller);
    return info;
  }

  @Route('deletePcap')
  async deletePcap(@Input() { params }: RouteInput<'deletePcap'>, @Caller() caller: SessionInfo): Promise<void> {
    await this.client.json('DELETE', `/pcaps/${encodeURIComponent(params.id)}`);
    this.tell('pcap.deleted', params.id, 'The capture was deleted', caller);
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

  @Route('getCapture')
  captured(@Input() { params }: RouteInput<'getCapture'>): Promise<CaptureStatus> {
    return this.client.json('GET', `/captures/${encodeURIComponent(params.id)}`);
  }

  private get client() {
    const { enabled, daemon, detail } = this.twin.status();
    if (!enabled) throw conflict('The twin is off (ORRERY_TWIN=off).');
    if (daemon === 'off') throw conflict('There is no twin: the infrastructure has no emulated nodes.');
    if (daemon !== 'running') throw new ProblemError(502, `The twin is not there now: ${detail ?? daemon}`);
    return this.twin.client;
  }

  private async collection<T extends { id: string }>(path: string, query: PageQuery, reply: FastifyReply) {
    const { items } = this.twin.isRunning
      ? await this.twin.client.json<{ items: T[] }>('GET', path)
      : { items: [] as T[] };
    return pageOf(items, query, ({ id }) => id, reply);
  }

  private tell(type: string, subject: string, message: string, caller: SessionInfo, severity?: 'warning'): void {
    this.events.append({ type, subject, message, actor: caller.name, severity });
  }
}

@Injectable()
class TwinProbes implements OnModuleInit {
  constructor(
    @Inject(TwinKeeper) private readonly twin: TwinKeeper,
    @Inject(PROBES) private readonly probes: Probes,
  ) {}

  onModuleInit(): void {
    this.probes.onHealth(() => {
      const { enabled, daemon, detail, state } = this.twin.status();
      if (!enabled || daemon === 'off')
        return [{ name: 'twin', status: 'absent', detail: enabled ? 'no emulated nodes' : 'switched off' }];
      const well = daemon === 'running' && state?.phase !== 'failed';
      return [
        { name: 'twin', status: well ? 'ok' : 'degraded', detail: detail ?? state?.error ?? state?.phase ?? daemon },
      ];
    });
    this.probes.onCapabilities(async () => {
      const { enabled, daemon, detail } = this.twin.status();
      const own: Capability = {
        id: 'twin',
        title: 'Digital twin',
        where: 'server',
        available: enabled,
        detail: enabled ? (detail ?? `its daemon is ${daemon}`) : 'switched off (ORRERY_TWIN=off)',
        fallback: enabled ? null : 'planning, and servers with agents of their own',
      };
      if (!this.twin.isRunning) return [own];
      const told = await this.twin.client.json<TwinCapabilities>('GET', '/capabilities').catch(() => null);
      return [own, ...(told?.capabilities ?? [])];
    });
  }
}

@Global()
@Module({
  controllers: [TwinController],
  providers: [
    TwinKeeper,
    { provide: TWIN, useExisting: TwinKeeper },
    { provide: FABRIC, useExisting: TwinKeeper },
    TwinProbes,
  ],
  exports: [TWIN, FABRIC],
})
export class TwinModule {}
