import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Config } from './config.js';

const CONSOLE_POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "connect-src 'self' ws: wss:",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
const YEAR_S = 31_536_000;

const DOCS_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Orrery API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/api/docs/assets/swagger-ui.css"></head>
<body><div id="reference"></div>
<script src="/api/docs/assets/swagger-ui-bundle.js"></script><script src="/api/docs/start.js"></script></body></html>`;
const DOCS_START = `SwaggerUIBundle({ url: '/api/v1/openapi.json', dom_id: '#reference', deepLinking: true });`;

/** Serves the console, the API reference and the two interface descriptions. */
export async function servePages(fastify: FastifyInstance, config: Config): Promise<void> {
  const contract = dirname(fileURLToPath(import.meta.resolve('@orrery/contract')));
  for (const name of ['openapi.json', 'asyncapi.json', 'schema.json']) {
    const file = join(contract, '../generated', name);
    fastify.get(`/api/v1/${name}`, (_request, reply) => reply.type('application/json').send(readFileSync(file)));
  }

  const docs = (reply: FastifyReply) => reply.header('content-security-policy', CONSOLE_POLICY);
  fastify.get('/api/docs', (_request, reply) => docs(reply).type('text/html').send(DOCS_PAGE));
  fastify.get('/api/docs/start.js', (_request, reply) => docs(reply).type('text/javascript').send(DOCS_START));
  const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  await fastify.register(fastifyStatic, {
    root: swagger,
    prefix: '/api/docs/assets/',
    allowedPath: (path) => /^\/swagger-ui(-bundle)?\.(css|js)$/.test(path),
    decorateReply: false,
    maxAge: 3_600_000,
  });

  if (!existsSync(config.consoleDir)) return;
  await fastify.register(fastifyStatic, {
    root: config.consoleDir,
    wildcard: true,
    index: 'index.html',
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      // The build puts a content hash into the file names below assets/.
      const lasting = path.includes('/assets/');
      reply.header('cache-control', lasting ? `public, max-age=${YEAR_S}, immutable` : 'no-cache');
      reply.header('content-security-policy', CONSOLE_POLICY);
    },
  });
}

/** Sends the console's start page, which does client-side routing. False if the console is not built. */
export function sendConsole(config: Config, reply: FastifyReply): boolean {
  if (!existsSync(join(config.consoleDir, 'index.html'))) {
    const path = reply.request.url.split('?')[0];
    if (path !== '/') return false;
    void reply.status(200).type('text/plain').send('The console is not built. The API reference is at /api/docs.\n');
    return true;
  }
  void reply.status(200).sendFile('index.html');
  return true;
}
