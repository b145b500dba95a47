import { PacketTraces, type TraceRequest } from '@orrery/contract';
import { z } from 'zod';
import { ControlClient } from '../control-client.js';
import type { P4Port } from '../p4runtime/p4-port.js';
import type { PacketTracer } from '../switch-driver.js';

const PEER = 'the switch';
const LIMIT_MS = 3000;

const Description = z.object({
  ports: z.array(
    z.object({ number: z.int(), interface: z.string(), state: z.enum(['absent', 'down', 'up']).catch('absent') }),
  ),
});
const Stats = z.object({ p4runtime: z.object({ digest_drops: z.int().min(0) }) });

/** Ports, traces and figures of the built-in switch, by its control socket. */
export class SwitchControl implements PacketTracer {
  private readonly names: ReadonlyMap<number, string>;

  constructor(
    private readonly socket: string,
    private readonly byName: ReadonlyMap<string, P4Port>,
  ) {
    this.names = new Map([...byName].map(([name, { number }]) => [number, name]));
  }

  /** Those that it has now, by number. */
  async ports(): Promise<ReadonlyMap<number, { readonly interface: string; readonly up: boolean }>> {
    const { ports } = Description.parse(await this.ask('describe', {}));
    return new Map(ports.map(({ number, interface: at, state }) => [number, { interface: at, up: state === 'up' }]));
  }

  async arm({ count, port }: TraceRequest): Promise<void> {
    const number = port === undefined ? undefined : this.byName.get(port)?.number;
    if (port !== undefined && number === undefined) throw new Error(`/port: the switch has no port ${port}`);
    await this.ask('trace', { count, ...(number === undefined ? {} : { port: number }) });
  }

  async read(after: number): Promise<PacketTraces> {
    const answer = (await this.ask('traces', { after })) as { traces?: unknown };
    return PacketTraces.parse({ ...answer, traces: named(answer.traces, this.names) });
  }

  /** Messages of digests that it could not tell, since it began. */
  async untold(): Promise<number> {
    const { p4runtime } = Stats.parse(await this.ask('stats', {}));
    return p4runtime.digest_drops;
  }

  private async ask(method: string, params: object): Promise<object> {
    const client = await ControlClient.connect(this.socket, PEER, () => undefined).catch((error: Error) => {
      throw new Error(`${PEER} cannot be reached (${error.message})`);
    });
    try {
      return await client.request(method, params, LIMIT_MS);
    } finally {
      client.close();
    }
  }
}

/** The same with names of ports, wherever there is a number of one. */
function named(content: unknown, names: ReadonlyMap<number, string>): unknown {
  if (Array.isArray(content)) return content.map((one) => named(one, names));
  if (typeof content !== 'object' || content === null) return content;
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => [
      key,
      key === 'port' && typeof value === 'number' ? (names.get(value) ?? String(value)) : named(value, names),
    ]),
  );
}
