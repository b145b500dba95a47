import { get } from 'node:http';
import { HttpServerConfig } from '@orrery/contract';
import { PACKAGE_ROOT } from '../../../package-root.js';
import type { ServerApplication } from '../application-kind.js';

const PROGRAM = `${PACKAGE_ROOT}dist/http-server.mjs`;
const ANSWER_LIMIT_MS = 1000;

export const HTTP_SERVER: ServerApplication<HttpServerConfig> = {
  kind: 'http-server',
  config: HttpServerConfig,
  ends: false,
  command: ({ port }) => [process.execPath, PROGRAM, `${port}`],
  responds: ({ port }) => answers(port),
  metrics: (output) => {
    const line = output.trimEnd().split('\n').at(-1) ?? '';
    return line.startsWith('{') && line.endsWith('}') ? JSON.parse(line) : null;
  },
  idle: null,
};

/** Asks the server for its health; it does not count this as a request. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ port, path: '/health', timeout: ANSWER_LIMIT_MS, agent: false }, (reply) => {
      reply.resume();
      resolve(reply.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}
