import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { API_PREFIX, BODY_LIMIT_BYTES } from '@orrery/contract';
import type { FastifyInstance } from 'fastify';
import { appModule } from './app.module.js';
import { ensureAdminSecret } from './modules/sessions/admin-secret.js';
import { authenticate } from './platform/auth.js';
import { trustOf } from './platform/client-address.js';
import type { Config } from './platform/config.js';
import { IDLE_MS, limitConnections, limitStalls, REQUEST_MS } from './platform/connection-limits.js';
import {
  ROUTER_PARAM_LENGTH,
  refuseAddress,
  refuseConnection,
  requireShortParts,
  responseHeaders,
} from './platform/early-refusals.js';
import { type Log, NestLog } from './platform/log.js';
import { METRICS, type Metrics } from './platform/metrics.js';
import { sendConsole, servePages } from './platform/pages.js';
import { ProblemFilter } from './platform/problem.filter.js';
import { badHeader } from './platform/problem.js';
import { Store } from './platform/redis.js';
import { readBodies } from './platform/request-bodies.js';
import type { ApiRequest } from './platform/route.js';
import { claimRunDir } from './platform/run-dir.js';
import { SOCKETS, type Sockets } from './platform/sockets.js';
import { requireStateVersion } from './platform/state-version.js';
import { Undo } from './platform/undo.js';
import { SESSION_VERIFIER, type SessionVerifier } from './ports/session-verifier.js';

export interface RunningServer {
  readonly url: string;
  readonly store: Store;
  /** The admin secret if this was the first run. */
  readonly firstRunSecret: string | null;
  /** Stops everything that was started: connections, twin, Redis. */
  close(): Promise<void>;
}

/** Starts the whole server. Throws if it cannot start, leaving nothing running. */
export async function startServer(config: Config, log: Log): Promise<RunningServer> {
  await claimRunDir(config.runDir);
  await mkdir(config.stateDir, { recursive: true, mode: 0o700 });
  const undo = new Undo();
  try {
    const store = await Store.open(config, log);
    undo.later(() => store.close());
    await requireStateVersion(store, config.redisUrl ?? config.stateDir);
    const firstRunSecret = await ensureAdminSecret(store, config.stateDir);
    const app = await makeApp(config, log, store);
    undo.later(() => app.close());
    await app.init();
    const sockets = app.get<Sockets>(SOCKETS);
    const agentServer = await listenForAgents(config, sockets);
    undo.later(async () => {
      sockets.close();
      agentServer.close();
      agentServer.closeAllConnections();
      await rm(join(config.runDir, 'agents.sock'), { force: true });
    });
    await app.listen({ port: config.port, host: config.host });
    const { address, port, family } = app.getHttpServer().address() as AddressInfo;
    const url = `${config.tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
    return { url, store, firstRunSecret, close: () => undo.all() };
  } catch (error) {
    await undo.all().catch((failure: unknown) => log.error({ error: failure }, 'could not stop cleanly'));
    throw error;
  }
}

async function makeApp(config: Config, log: Log, store: Store): Promise<NestFastifyApplication> {
  const stallMs = config.timing.requestStallMs;
  const trust = trustOf(config.trustedProxies);
  // Node would refuse a request without Host by itself, without a body; `observeRequests` does.
  const http = { requireHostHeader: false, headersTimeout: stallMs, connectionsCheckingInterval: stallMs / 4 };
  const adapter = new FastifyAdapter({
    ...(config.tls ? { https: { ...config.tls, ...http, handshakeTimeout: stallMs } } : { http }),
    bodyLimit: BODY_LIMIT_BYTES,
    connectionTimeout: IDLE_MS,
    requestTimeout: REQUEST_MS,
    trustProxy: trust,
    forceCloseConnections: true,
    requestIdHeader: false,
    genReqId: (request: { headers: Record<string, unknown> }) => {
      const given = String(request.headers['x-request-id'] ?? '');
      return /^[A-Za-z0-9._-]{1,80}$/.test(given) ? given : randomUUID();
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: ROUTER_PARAM_LENGTH },
    frameworkErrors: refuseAddress,
    clientErrorHandler: refuseConnection,
  });
  const app = await NestFactory.create<NestFastifyApplication>(appModule({ config, log, store }), adapter, {
    logger: new NestLog(log),
    bodyParser: false,
    abortOnError: false,
  });
  const server = app.getHttpServer() as Server;
  // An expectation other than 100-continue may be ignored (RFC 9110 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  limitConnections(server, trust);
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  readBodies(fastify);
  observeRequests(fastify, app.get<Metrics>(METRICS), stallMs);
  authenticate(fastify, app.get<SessionVerifier>(SESSION_VERIFIER, { strict: false }));
  await servePages(fastify, config);
  app.setGlobalPrefix(API_PREFIX.slice(1), { exclude: ['healthz', 'metrics'] });
  app.useGlobalFilters(new ProblemFilter(log, store, (reply) => sendConsole(config, reply)));
  app.get<Sockets>(SOCKETS).attach(server, 'tcp');
  return app;
}

function observeRequests(fastify: FastifyInstance, metrics: Metrics, stallMs: number): void {
  fastify.addHook('onRequest', async (request, reply) => {
    limitStalls(request.raw, stallMs);
    reply.headers(responseHeaders(request));
    const { headers, httpVersion } = request.raw;
    if (headers.host === undefined && httpVersion !== '1.0') throw badHeader(400, 'Host', 'is missing', 'bad-header');
    requireShortParts(request);
  });
  fastify.addHook('onResponse', async (request, reply) => {
    const route = (request as ApiRequest).routeName ?? 'other';
    metrics.requests.observe({ route, status: reply.statusCode }, reply.elapsedTime / 1000);
  });
}

/** Agents of emulated servers run in other network namespaces and reach the server through a unix socket. */
async function listenForAgents(config: Config, sockets: Sockets): Promise<Server> {
  const path = join(config.runDir, 'agents.sock');
  await rm(path, { force: true });
  const server = createServer((_request, response) => response.writeHead(404).end());
  sockets.attach(server, 'unix');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  return server;
}
