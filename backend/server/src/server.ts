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
import type { Config } from './platform/config.js';
import { type Log, NestLog } from './platform/log.js';
import { METRICS, type Metrics } from './platform/metrics.js';
import { sendConsole, servePages } from './platform/pages.js';
import { ProblemFilter } from './platform/problem.filter.js';
import { Store } from './platform/redis.js';
import type { ApiRequest } from './platform/route.js';
import { claimRunDir } from './platform/run-dir.js';
import { SOCKETS, type Sockets } from './platform/sockets.js';
import { requireStateVersion } from './platform/state-version.js';
import { Undo } from './platform/undo.js';

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
  const adapter = new FastifyAdapter({
    ...(config.tls ? { https: config.tls } : {}),
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: true,
    requestIdHeader: false,
    genReqId: (request: { headers: Record<string, unknown> }) => {
      const given = String(request.headers['x-request-id'] ?? '');
      return /^[A-Za-z0-9._-]{1,80}$/.test(given) ? given : randomUUID();
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 },
  });
  const app = await NestFactory.create<NestFastifyApplication>(appModule({ config, log, store }), adapter, {
    logger: new NestLog(log),
    bodyParser: false,
    abortOnError: false,
  });
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  readBodies(fastify);
  observeRequests(fastify, app.get<Metrics>(METRICS));
  await servePages(fastify, config);
  app.setGlobalPrefix(API_PREFIX.slice(1), { exclude: ['healthz', 'metrics'] });
  app.useGlobalFilters(new ProblemFilter(log, (reply) => sendConsole(config, reply)));
  app.get<Sockets>(SOCKETS).attach(app.getHttpServer() as Server, 'tcp');
  return app;
}

/** JSON is parsed, octet streams are passed to their handler, everything else is refused with 415. */
function readBodies(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parse = fastify.getDefaultJsonParser('error', 'error');
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else parse(request, body as string, done);
  });
  fastify.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
}

function observeRequests(fastify: FastifyInstance, metrics: Metrics): void {
  fastify.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    if (request.url.startsWith('/api/v1/')) reply.header('cache-control', 'no-store');
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
