import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

export const SOCKETS = Symbol('Sockets');

export interface SocketRoute {
  readonly path: string;
  readonly maxMessageBytes: number;
  /** Whether the path is also served to agents on the unix socket. */
  readonly onUnixSocket: boolean;
  readonly handler: (socket: WebSocket) => void;
}

/** Sends WebSocket upgrades to the module that owns the path. */
export class Sockets {
  private readonly routes = new Map<string, { route: SocketRoute; server: WebSocketServer }>();

  register(route: SocketRoute): void {
    const server = new WebSocketServer({ noServer: true, maxPayload: route.maxMessageBytes, clientTracking: true });
    server.on('connection', route.handler);
    this.routes.set(route.path, { route, server });
  }

  attach(http: Server, kind: 'tcp' | 'unix'): void {
    http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const found = this.routes.get(request.url?.split('?')[0] ?? '');
      if (!found || (kind === 'unix' && !found.route.onUnixSocket)) {
        socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
        return;
      }
      socket.on('error', () => socket.destroy());
      found.server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => client.terminate());
        found.server.emit('connection', client, request);
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
