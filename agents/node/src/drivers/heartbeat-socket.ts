import { HEARTBEAT_SUFFIX } from '@orrery/contract';
import { ControlClient } from './control-client.js';

/** A stopped process answers when it runs again; whoever waits decides how long. */
const LIMIT_MS = 600_000;

/** The heartbeat socket of an engine, a container NF or a board: answers while its control socket is busy. */
export class HeartbeatSocket {
  private client: ControlClient | null = null;
  private closed = false;
  private readonly path: string;

  constructor(controlPath: string) {
    this.path = `${controlPath}${HEARTBEAT_SUFFIX}`;
  }

  /** Resolves with a sign of life; rejects if there is no connection. */
  readonly beat = async (): Promise<void> => {
    if (this.closed) throw new Error('closed');
    const client = this.client ?? (await this.connect());
    await client.request('heartbeat', {}, LIMIT_MS);
  };

  close(): void {
    this.closed = true;
    this.client?.close();
    this.client = null;
  }

  private async connect(): Promise<ControlClient> {
    const client = await ControlClient.connect(this.path, 'its heartbeat socket', () => {
      this.client = null;
    });
    if (this.closed) client.close();
    else this.client = client;
    return client;
  }
}
