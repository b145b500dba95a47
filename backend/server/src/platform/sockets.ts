import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HELLO_MOST_BYTES } from '@orrery/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import { clientAddress, limitKey, UNIX_ADDRESS } from './client-address.js';
import { GuestList } from './guest-list.js';
import type { Metrics } from './metrics.js';

export const SOCKETS = Symbol('Sockets');

/** Connections that have not signed in: all, and those of one address. */
export const MAX_GUESTS = 256;
export const MAX_GUESTS_OF_ADDRESS = 32;
/** What a connection may send before it has signed in, in total. */
export const GUEST_BYTES = 2 * HELLO_MOST_BYTES;
/** A refused connection is given this much time and data to close by itself. */
const FAREWELL_MS = 1000;
const FAREWELL_BYTES = 64 * 1024;

/** A connection and its limits, which are narrow until it has signed in. */
export interface Visitor {
  /** Of the client. */
  readonly address: string;
  /** All that was read from the connection, also of messages that are not complete. */
  readonly receivedBytes: () => number;
  /** Signed in: the limits of guests end. */
  admit(): void;
  /** Closes the connection, for good after a second. What it still sends is not to be read. */
  dismiss(code: number, reason: string): void;
}

export interface SocketRoute {
  readonly path: string;
  readonly maxMessageBytes: number;
  /** Whether the path is also served to agents on the unix socket. */
  readonly onUnixSocket: boolean;
  /** Whether pages of this server may connect; pages of others never may. */
  readonly forPages: boolean;
  readonly handler: (socket: WebSocket, visitor: Visitor) => void;
}

export interface SocketSettings {
  /** Whether a hop is a proxy whose `X-Forwarded-*` headers count. */
  readonly trust: (address: string, hop: number) => boolean;
  readonly metrics: Pick<Metrics, 'guests' | 'guestsEvicted'>;
}

/** Sends WebSocket upgrades to the module that owns the path. */
export class Sockets {
  private readonly routes = new Map<string, { route: SocketRoute; server: WebSocketServer }>();
  private readonly guests = {
    tcp: new GuestList(MAX_GUESTS, MAX_GUESTS_OF_ADDRESS),
    // Only this user can connect, and every agent of a twin does at once.
    unix: new GuestList(MAX_GUESTS, MAX_GUESTS),
  };

  constructor(private readonly settings: SocketSettings) {}

  register(route: SocketRoute): void {
    const server = new WebSocketServer({ noServer: true, maxPayload: route.maxMessageBytes, clientTracking: true });
    this.routes.set(route.path, { route, server });
  }

  attach(http: Server, kind: 'tcp' | 'unix'): void {
    http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const found = this.routes.get(request.url?.split('?')[0] ?? '');
      if (!found || (kind === 'unix' && !found.route.onUnixSocket)) return answer(socket, 404);
      const { route, server } = found;
      if (request.headers.origin !== undefined && !(route.forPages && isOwnPage(request, this.settings.trust)))
        return answer(socket, 403);
      const address = kind === 'unix' ? UNIX_ADDRESS : limitKey(clientAddress(request, this.settings.trust));
      const { metrics } = this.settings;
      const count = () => metrics.guests.set(this.guests.tcp.size + this.guests.unix.size);
      const forget = this.guests[kind].enter(address, () => {
        metrics.guestsEvicted.inc();
        socket.destroy();
      });
      const leave = () => {
        forget();
        count();
      };
      count();
      socket.on('close', leave);
      const narrow = new ByteLimit(socket, GUEST_BYTES);
      let received = 0;
      socket.prependListener('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => client.terminate());
        route.handler(client, {
          address,
          receivedBytes: () => received,
          admit: () => {
            leave();
            narrow.lift();
          },
          dismiss: (code, reason) => {
            narrow.lift();
            new ByteLimit(socket, FAREWELL_BYTES);
            client.close(code, reason);
            setTimeout(() => client.terminate(), FAREWELL_MS).unref();
          },
        });
      });
    });
  }

  /** Tells every client that the server is stopping. */
  close(): void {
    for (const { server } of this.routes.values()) {
      for (const client of server.clients) {
        client.close(1001, 'server stops');
        setTimeout(() => client.terminate(), 500).unref();
      }
      server.close();
    }
  }
}

/** Ends a connection that sends more than `left` bytes. */
class ByteLimit {
  constructor(
    private readonly socket: Duplex,
    private left: number,
  ) {
    socket.prependListener('data', this.count);
  }

  lift(): void {
    this.socket.off('data', this.count);
  }

  private readonly count = (chunk: Buffer): void => {
    this.left -= chunk.length;
    if (this.left < 0) this.socket.destroy();
  };
}

/** Whether the page that opens the connection is one of this server: browsers state its origin (RFC 6455 10.2). */
function isOwnPage({ headers, socket }: IncomingMessage, trust: SocketSettings['trust']): boolean {
  const forwarded = trust(socket.remoteAddress ?? '', 0) ? headers['x-forwarded-host'] : undefined;
  const host = String(forwarded ?? headers.host ?? '')
    .split(',')[0]!
    .trim();
  if (!URL.canParse(headers.origin!)) return false;
  const origin = new URL(headers.origin!);
  const own = `${origin.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === origin.host;
}

function answer(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`, () =>
    socket.destroy(),
  );
}
