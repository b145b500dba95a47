import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEM_TYPE, ProblemError, problemBody } from './problem.js';

/** Longest part of a path, in characters as sent. */
const MAX_PART_LENGTH = 400;
/** For Fastify's router: no limit, because it would look for another route instead of refusing. */
export const ROUTER_PARAM_LENGTH = 65_536;

/** Throws 414. */
export function requireShortParts({ url }: Pick<FastifyRequest, 'url'>): void {
  const parts = url.split('?', 1)[0]!.split('/');
  if (parts.some(({ length }) => length > MAX_PART_LENGTH))
    throw new ProblemError(414, `A part of the path is longer than ${MAX_PART_LENGTH} characters.`);
}

/** Answers a request whose address Fastify's router cannot read. No hook has seen it. */
export function refuseAddress(_error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const problem = new ProblemError(400, 'The path is not a valid URL.');
  void reply
    .status(problem.status)
    .headers(responseHeaders(request))
    .header('content-type', PROBLEM_TYPE)
    .send(JSON.stringify(problemBody(problem, undefined, request.id)));
}

/** Answers what Node's HTTP parser rejects, and closes the connection: what follows cannot be told apart. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status, message } = parserProblem(error);
  const id = randomUUID();
  const body = JSON.stringify(problemBody(new ProblemError(status, message), undefined, id));
  const headers = {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'x-request-id': id,
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'), () => socket.destroy());
}

function parserProblem({ code, message }: Error & { code?: string }): { status: number; message: string } {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, message: 'The headers are larger than 16 kB.' };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, message: 'The request did not arrive in time.' };
  return { status: 400, message: `This is not an HTTP request: ${message}` };
}

/** Headers of every response. */
export function responseHeaders({ id, url }: Pick<FastifyRequest, 'id' | 'url'>): Record<string, string> {
  return {
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...(url.startsWith('/api/v1/') ? { 'cache-control': 'no-store' } : {}),
  };
}
