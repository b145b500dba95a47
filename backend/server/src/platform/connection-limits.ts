import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { limitKey } from './client-address.js';
import { refuseConnection } from './early-refusals.js';

/** TCP connections: all, and those of one address that is no trusted proxy. */
const MAX_CONNECTIONS = 8192;
const MAX_CONNECTIONS_OF_ADDRESS = 1024;
/** A connection on which nothing is sent or taken for this long ends; event streams send more often. */
export const IDLE_MS = 120_000;
/** A whole request, including a capture of 64 MB. */
export const REQUEST_MS = 300_000;
/** Least of a body that must arrive per stall period. */
const BODY_PROGRESS_BYTES = 16 * 1024;

/** Bounds the connections of `http`. */
export function limitConnections(http: Server, trust: (address: string, hop: number) => boolean): void {
  const open = new Map<string, number>();
  http.maxConnections = MAX_CONNECTIONS;
  http.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || trust(remoteAddress, 0)) return;
    const key = limitKey(remoteAddress);
    const count = (open.get(key) ?? 0) + 1;
    if (count > MAX_CONNECTIONS_OF_ADDRESS) return void socket.destroy();
    open.set(key, count);
    socket.once('close', () => {
      const left = open.get(key)! - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    });
  });
}

/** Answers 408 if the body of a request stalls. */
export function limitStalls(request: IncomingMessage, stallMs: number): void {
  const { socket } = request;
  if (request.complete || (request.headers['content-length'] ?? request.headers['transfer-encoding']) === undefined)
    return;
  let before = socket.bytesRead;
  const check = setInterval(() => {
    if (request.complete) return clearInterval(check);
    if (socket.bytesRead - before >= BODY_PROGRESS_BYTES) {
      before = socket.bytesRead;
      return;
    }
    clearInterval(check);
    refuseConnection(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  }, stallMs).unref();
  const end = () => clearInterval(check);
  request.once('end', end);
  request.once('close', end);
}
