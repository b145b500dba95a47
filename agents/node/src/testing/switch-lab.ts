import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SwitchDriver } from '../drivers/switch-driver.js';
import { switchOvs } from '../drivers/switch-ovs/switch-ovs.js';
import { OvsLab, ovsMissing } from './ovs-lab.js';
import { bmv2Missing, P4Lab, p4Missing } from './p4-lab.js';
import type { Sent } from './switch-oracle.js';

/** A switch of its own in a network namespace, with cables whose other ends are `<port>-far`. */
export interface SwitchLab {
  readonly driver: SwitchDriver;
  /** Another agent's driver for the same switch. */
  make(): SwitchDriver;
  run(program: string, ...args: string[]): string;
  readonly namespace: string;
}

export interface SwitchLabKind {
  readonly kind: string;
  /** Why it cannot run here; null if it can. */
  readonly missing: string | null;
  /** Shares flows out by the hash of the engines. */
  readonly knowsFlowHash: boolean;
  setUp(ports: readonly string[]): Promise<SwitchLab>;
}

export const SWITCH_LABS: readonly SwitchLabKind[] = [
  {
    kind: 'ovs',
    missing: ovsMissing(),
    knowsFlowHash: false,
    async setUp(ports) {
      const lab = new OvsLab();
      await lab.setUp(ports);
      const make = () => switchOvs.make({ bridge: lab.bridge, run_dir: lab.run_dir, ports: {} });
      return { driver: make(), make, run: (...args) => lab.run(...args), namespace: lab.namespace };
    },
  },
  p4Kind('p4', p4Missing()),
  p4Kind('bmv2', bmv2Missing()),
];

function p4Kind(kind: 'p4' | 'bmv2', missing: string | null): SwitchLabKind {
  return {
    kind,
    missing,
    knowsFlowHash: true,
    async setUp(ports) {
      const lab = new P4Lab(kind);
      await lab.setUp(ports);
      const make = () => lab.make();
      return { driver: make(), make, run: (...args) => lab.run(...args), namespace: lab.namespace };
    },
  };
}

const run = promisify(execFile);
const EXCHANGE = join(import.meta.dirname, 'exchange.py');

let exchanges = 0;

/**
 * Sends frames into ports and returns what comes out, while the driver works on. `ends`: frames that come out for sure, from each
 * port to every port.
 */
export async function exchange(
  lab: Pick<SwitchLab, 'namespace'>,
  ports: readonly string[],
  frames: readonly Sent[],
  ends: readonly Sent[],
): Promise<Sent[]> {
  exchanges += 1;
  const text = (all: readonly Sent[]) => all.map(({ port, frame }) => [port, frame.toString('hex')]);
  // A slow switch may still have those of the exchange before.
  const own = ends.map(({ port, frame }) => ({ port, frame: Buffer.concat([frame, numbered(exchanges)]) }));
  const answer = run('ip', ['netns', 'exec', lab.namespace, '/usr/bin/python3', EXCHANGE, ...ports], {
    timeout: 60_000,
    maxBuffer: 64 << 20,
  });
  answer.child.stdin!.end(JSON.stringify({ frames: text(frames), ends: text(own) }));
  const { stdout } = await answer;
  const came = (JSON.parse(stdout) as [string, string][]).map(([port, frame]) => ({
    port,
    frame: Buffer.from(frame, 'hex'),
  }));
  return came.filter(({ frame }) => !ends.some((end) => frame.subarray(0, end.frame.length).equals(end.frame)));
}

function numbered(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
