import { createServer } from 'node:http';
import { AgentMessage, type ServerMessage } from '@orrery/contract';
import { onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { until } from './scratch.js';

type Kind = AgentMessage['type'];
type Of<K extends Kind> = Extract<AgentMessage, { type: K }>;

/** The server's end of the agent protocol, as far as tests need it. Every message is validated against the contract. */
export class TestServer {
  readonly received: AgentMessage[] = [];
  readonly sockets = new Set<WebSocket>();
  /** Answer to a hello; null: none. */
  onHello: (hello: Of<'hello' | 'switch-hello'>) => ServerMessage | null = () => welcome();
  private readonly http = createServer();
  private readonly ws = new WebSocketServer({ server: this.http, path: '/api/v1/agent' });
  private at: number | string = 0;

  constructor() {
    this.ws.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('message', (data) => {
        const message = AgentMessage.parse(JSON.parse(data.toString()));
        this.received.push(message);
        const isHello = message.type === 'hello' || message.type === 'switch-hello';
        const answer = isHello ? this.onHello(message) : null;
        if (answer) socket.send(JSON.stringify(answer));
      });
    });
    onTestFinished(() => this.close());
  }

  /** Listens where it did before, on a free port, or on a unix socket. */
  async listen(at: number | string = this.at): Promise<void> {
    await new Promise<void>((resolve) => this.http.listen(at, () => resolve()));
    const address = this.http.address();
    this.at = typeof address === 'object' && address ? address.port : at;
  }

  get url(): string {
    return typeof this.at === 'string' ? `ws+unix:${this.at}:/api/v1/agent` : `ws://127.0.0.1:${this.at}/api/v1/agent`;
  }

  send(message: ServerMessage | string): void {
    for (const socket of this.sockets) socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Closes every connection and stops listening. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    if (this.http.listening) await new Promise<void>((resolve) => this.http.close(() => resolve()));
  }

  all<K extends Kind>(kind: K): Of<K>[] {
    return this.received.filter((message): message is Of<K> => message.type === kind);
  }

  async next<K extends Kind>(
    kind: K,
    fits: (message: Of<K>) => boolean = () => true,
    limit_ms = 10_000,
  ): Promise<Of<K>> {
    return until(`a matching ${kind} message`, () => this.all(kind).find(fits), limit_ms);
  }
}

export const welcome = (): ServerMessage => ({
  type: 'welcome',
  node: 'n1',
  server_version: '0',
});
