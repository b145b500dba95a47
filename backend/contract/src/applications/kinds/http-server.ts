import { z } from 'zod';
import { port } from '../fields.js';
import { defineKind } from '../kind.js';

export const HttpServerConfig = z.strictObject({ port: port(80) });
export type HttpServerConfig = z.infer<typeof HttpServerConfig>;

export const HTTP_SERVER = defineKind({
  kind: 'http-server',
  title: 'HTTP server',
  description:
    'Answers every path with a page, /echo with the request body and /bytes/N with N bytes. Caches may keep pages below /kept/.',
  runs_on: ['host', 'server', 'gateway'],
  config: HttpServerConfig,
  metrics: ['requests', 'errors', 'bits_per_second', 'connections'],
  listens: ({ port: number }) => [{ protocol: 'tcp', port: number, pointer: '/config/port' }],
});
