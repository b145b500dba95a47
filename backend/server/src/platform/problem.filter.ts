import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { API_PREFIX, ROUTES } from '@orrery/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LostReply } from '../ports/node-fleet.js';
import type { Log } from './log.js';
import { PROBLEM_TYPE, ProblemError, problemBody, unavailable } from './problem.js';
import { isStoreAway, type Store } from './redis.js';

/** Maximum bytes of a refused body that are read and discarded. */
const DISCARD_BYTES = 64 * 1024 * 1024;
const DISCARD_MS = 2000;
/** The same for a client without a session. */
const STRANGER_BYTES = 64 * 1024;

const ADDRESSES = Object.values(ROUTES).map((route) => ({
  method: route.method,
  pattern: new RegExp(`^${API_PREFIX}${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Answers every failure with problem details; console URLs get the start page. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly log: Log,
    private readonly store: Pick<Store, 'whyAway'>,
    private readonly consolePage: (reply: FastifyReply) => boolean,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    if (reply.sent || reply.raw.headersSent) {
      this.log.warn({ request_id: request.id, error: String(error) }, 'failed after the answer began');
      return;
    }
    const problem = isStoreAway(error)
      ? unavailable(`${this.store.whyAway(error)}; try again.`)
      : toProblem(error, request);
    if (problem.status === 404 && wantsPage(request) && this.consolePage(reply)) return;
    if (problem.status === 500) this.log.error({ request_id: request.id, url: request.url, error }, 'request failed');
    const path = request.url.split('?')[0]!;
    const unread = !request.raw.complete;
    const answer = () =>
      void reply
        .status(problem.status)
        .headers(problem.headers)
        .headers(unread ? { connection: 'close' } : {})
        .header('content-type', PROBLEM_TYPE)
        .send(JSON.stringify(problemBody(problem, path, request.id)));
    if (!unread) answer();
    else if (problem.status === 401) answerFirst(request, answer);
    else void restDiscarded(request, DISCARD_BYTES).then(answer);
  }
}

/** Answers before the body arrives, and closes the connection once a little of it was discarded. */
function answerFirst(request: FastifyRequest, answer: () => void): void {
  const { socket } = request.raw;
  const discarded = restDiscarded(request, STRANGER_BYTES);
  // Node calls it when the answer is written, and would reset the connection while the client still writes.
  socket.destroySoon = () => {
    socket.end();
    void discarded.then(() => socket.destroy());
  };
  answer();
}

/**
 * Reads and discards a refused body, up to a limit of bytes and time: closing the connection while the client still writes
 * would lose the response (RFC 9112 9.6).
 */
function restDiscarded({ raw }: FastifyRequest, most: number): Promise<void> {
  return new Promise((resolve) => {
    if (raw.complete || raw.destroyed) return resolve();
    let bytes = 0;
    const done = () => {
      clearTimeout(timer);
      raw.removeAllListeners('data');
      resolve();
    };
    const timer = setTimeout(done, DISCARD_MS);
    raw.once('end', done);
    raw.once('close', done);
    raw.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > most) done();
    });
    raw.resume();
  });
}

function toProblem(error: unknown, request: FastifyRequest): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof LostReply) return new ProblemError(502, error.message);
  const path = request.url.split('?')[0]!;
  if (error instanceof HttpException) {
    const status = error.getStatus();
    if (status !== 404) return new ProblemError(status, error.message);
    const allowed = ADDRESSES.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    if (allowed.length > 0 && !allowed.includes(request.method as 'GET'))
      return new ProblemError(405, `${request.method} is not allowed here.`, [], { allow: allowed.join(', ') });
    return new ProblemError(404, `There is nothing at ${path}.`);
  }
  const { statusCode, code, message } = error as { statusCode?: number; code?: string; message: string };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ProblemError(413, `The body is larger than ${(request.routeOptions.bodyLimit / 1024).toFixed(0)} kB.`);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ProblemError(415, `The media type ${request.headers['content-type']} is not supported.`);
  if (statusCode && statusCode >= 400 && statusCode < 500) return new ProblemError(statusCode, message);
  if (error instanceof SyntaxError) return new ProblemError(400, `The body is not JSON: ${message}`);
  return new ProblemError(500, 'Internal error; see the server log under the request id.');
}

function wantsPage(request: FastifyRequest): boolean {
  return (
    (request.method === 'GET' || request.method === 'HEAD') &&
    !request.url.startsWith('/api/') &&
    (request.headers.accept ?? '*/*').split(',').some((type) => /text\/html|\*\/\*/.test(type)) &&
    !/\.[a-z0-9]+$/.test(request.url.split('?')[0]!)
  );
}
