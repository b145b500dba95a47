import { createReadStream } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';

/** Docker's own error, verbatim. */
export class DockerRefusal extends Error {
  override name = 'DockerRefusal';
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** No answer in time, or no connection: whether Docker acted is unknown. */
export class DockerAway extends Error {
  override name = 'DockerAway';
}

interface DockerCall {
  /** What Docker is asked to do, in words: "start a container". */
  to: string;
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Sent unchanged. */
  file?: string;
  limit_ms?: number;
  /** Aborted: the answer is not wanted any more. */
  signal?: AbortSignal;
}

export const DEFAULT_LIMIT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 8 * 1024 * 1024;

/**
 * One call of the Docker Engine API on its own connection, so that none reuses a connection to an earlier Docker
 * process.
 */
export async function callDocker(socketPath: string, call: DockerCall): Promise<Buffer> {
  const signal = AbortSignal.timeout(call.limit_ms ?? DEFAULT_LIMIT_MS);
  return readAll(await open(socketPath, call, signal), call.to, signal);
}

/** The body as a stream that does not end. The limit applies to the time until it begins. */
export async function openStream(socketPath: string, call: DockerCall): Promise<IncomingMessage> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), call.limit_ms ?? DEFAULT_LIMIT_MS);
  try {
    return await open(socketPath, call, AbortSignal.any([late.signal, ...(call.signal ? [call.signal] : [])]));
  } finally {
    clearTimeout(timer);
  }
}

async function open(socketPath: string, call: DockerCall, signal: AbortSignal): Promise<IncomingMessage> {
  const response = await send(socketPath, call, signal);
  const status = response.statusCode ?? 0;
  if (status < 400) return response;
  const text = (await readAll(response, call.to, signal)).toString('utf8');
  throw new DockerRefusal(messageOf(text), status);
}

function send(socketPath: string, call: DockerCall, signal: AbortSignal): Promise<IncomingMessage> {
  const { to, method, path, body, file, headers: more } = call;
  return new Promise((resolve, reject) => {
    const away = (error: Error) => reject(awayFrom(error, to, signal));
    const type = file === undefined ? 'application/json' : 'application/x-tar';
    const headers = { ...(body !== undefined || file !== undefined ? { 'content-type': type } : {}), ...more };
    const sent = httpRequest({ socketPath, method, path, headers, signal, agent: false }, resolve);
    sent.on('error', away);
    if (file === undefined) sent.end(body === undefined ? undefined : JSON.stringify(body));
    // Closes the file and ends the request when either fails.
    else pipeline(createReadStream(file), sent).catch(away);
  });
}

function readAll(response: IncomingMessage, to: string, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = () => response.destroy(new Error('aborted'));
    signal.addEventListener('abort', stop, { once: true });
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ANSWER_LIMIT_BYTES)
        response.destroy(new Error(`the answer is longer than ${ANSWER_LIMIT_BYTES} bytes`));
    });
    response.on('end', () => resolve(Buffer.concat(chunks)));
    response.on('error', (error) => reject(awayFrom(error, to, signal)));
    response.on('close', () => signal.removeEventListener('abort', stop));
  });
}

function awayFrom({ message }: Error, to: string, signal: AbortSignal): DockerAway {
  const how = signal.aborted ? 'Docker did not answer in time' : `Docker does not answer: ${message}`;
  return new DockerAway(`${how} (it was to ${to})`);
}

function messageOf(text: string): string {
  try {
    return `Docker: ${(JSON.parse(text) as { message: string }).message.trim()}`;
  } catch {
    return `Docker: ${text.slice(0, 200)}`;
  }
}
