import {
  Controller,
  Global,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
  Req,
  Res,
} from '@nestjs/common';
import { API_PREFIX, type RouteInput, type SessionInfo, StreamId } from '@orrery/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bearerToken } from '../../platform/auth.js';
import { CONFIG, type Config } from '../../platform/config.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { Places } from '../../platform/places.js';
import { badHeader, ProblemError } from '../../platform/problem.js';
import { Caller, Input, Route } from '../../platform/route.js';
import { SOCKETS, type Sockets } from '../../platform/sockets.js';
import { EVENT_SOURCE, type EventSource } from '../../ports/event-log.js';
import { SESSION_VERIFIER, type SessionVerifier } from '../../ports/session-verifier.js';
import { SLO_BOARD, type SloBoard, TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { EventResponse } from './event-response.js';
import { StreamClient } from './stream-client.js';

const FLUSH_MS = 200;
/** Consoles and readers of the event stream together. */
const MAX_CLIENTS = 500;
const MAX_CLIENTS_OF_SESSION = 100;
const RETRY_AFTER_S = '5';
const MAX_MESSAGE_BYTES = 256 * 1024;

/** Sends events and samples to consoles. */
@Injectable()
class StreamGateway implements OnModuleInit, OnApplicationShutdown {
  private readonly clients = new Set<StreamClient>();
  private flush: NodeJS.Timeout | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(SOCKETS) private readonly sockets: Sockets,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(SESSION_VERIFIER) private readonly sessions: SessionVerifier,
    @Inject(EVENT_SOURCE) private readonly source: EventSource,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(SLO_BOARD) private readonly slos: SloBoard,
    @Inject(Places) private readonly places: Places,
  ) {}

  onModuleInit(): void {
    this.sockets.register({
      path: `${API_PREFIX}/stream`,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      onUnixSocket: false,
      forPages: true,
      handler: (socket, visitor) => {
        new StreamClient(socket, visitor, {
          sessions: this.sessions,
          source: this.source,
          version: this.config.version,
          place: (token) => this.places.take(token),
          ready: (client) => {
            this.clients.add(client);
            this.metrics.streamClients.set(this.clients.size);
            client.mailbox.putSlos(this.slos.all());
          },
          closed: (client) => {
            this.clients.delete(client);
            this.metrics.streamClients.set(this.clients.size);
          },
          cut: () => this.metrics.streamCut.inc(),
        });
      },
    });
    this.telemetry.onSamples((samples, links) => {
      for (const { mailbox } of this.clients) mailbox.put(samples, links);
    });
    this.slos.onChange((statuses) => {
      for (const { mailbox } of this.clients) mailbox.putSlos(statuses);
    });
    this.flush = setInterval(() => {
      for (const client of this.clients) client.flush();
    }, FLUSH_MS);
  }

  onApplicationShutdown(): void {
    if (this.flush) clearInterval(this.flush);
  }
}

@Controller()
class EventStreamController {
  constructor(
    @Inject(EVENT_SOURCE) private readonly source: EventSource,
    @Inject(SESSION_VERIFIER) private readonly sessions: SessionVerifier,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(Places) private readonly places: Places,
  ) {}

  @Route('streamEvents')
  stream(
    @Input() { query }: RouteInput<'streamEvents'>,
    @Caller() caller: SessionInfo,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): void {
    const resume = request.headers['last-event-id'];
    if (resume !== undefined && !StreamId.safeParse(resume).success)
      throw badHeader(400, 'Last-Event-ID', 'is not the id of an event', 'bad-header');
    // It disconnected during the session look-up: there will be no `close` event to release the place.
    if (reply.raw.destroyed) return void reply.hijack();
    const token = bearerToken(request.headers.authorization)!;
    const leave = this.places.take(token);
    if (!leave) throw new ProblemError(503, 'Too many clients read events.', [], { 'retry-after': RETRY_AFTER_S });
    this.metrics.eventStreamClients.inc();
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    const response = new EventResponse(raw, {
      source: this.source,
      from: String(resume ?? query.after ?? this.source.latest),
      type: query.type,
    });
    const unwatch = this.sessions.watch(token, caller, () => response.finish());
    raw.on('close', () => {
      unwatch();
      this.metrics.eventStreamClients.dec();
      leave();
    });
  }
}

@Global()
@Module({
  controllers: [EventStreamController],
  providers: [StreamGateway, { provide: Places, useFactory: () => new Places(MAX_CLIENTS, MAX_CLIENTS_OF_SESSION) }],
})
export class StreamModule {}
