import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InstanceSpec, LegacyProgram, type NodeSpec, type Observed } from '@orrery/contract';
import { stemOf, vethLinks } from '../drivers/veth-names.js';
import { Lab, NODE_MAC } from './lab.js';
import { until } from './scratch.js';
import { instance, nodeSpec, output } from './specs.js';

export const NF = 'leg.nf.0';
/** Where packets leave the node: to a hop elsewhere, so that their tag can be seen. */
const NEXT_HOP = 7;
const METADATA = 5;
export const STAMP = '06:00:00:00:12:34';

export function chain(generation: number, nf: Partial<InstanceSpec>): NodeSpec {
  const outputs = [output('leg.e1', { kind: 'hop', hop: NEXT_HOP })];
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    instances: [instance(NF, { driver: 'process', outputs, ...nf })],
    hops: [{ hop: 1, instance_id: NF, direction: 'forward' }],
  });
}

export const ofUser = (generation: number, program: object) =>
  chain(generation, { nf: 'mine', program: LegacyProgram.parse({ preserves: [], ...program }) });

/** Script that says that it `waits`, and writes files of 1 MiB, once in each folder that has `go`. */
export const filledOnceAsked = (files: number): string =>
  [
    'touch {{dir}}/waits; until test -e {{dir}}/go; do sleep 0.1; done',
    `for i in $(seq ${files}); do dd if=/dev/zero of={{dir}}/f$i bs=1M count=1; done`,
  ].join('\n');

/** A node with one legacy NF. */
export class LegacyLab extends Lab {
  static async start(spec: NodeSpec, ...flags: string[]): Promise<{ lab: LegacyLab; agent: ChildProcess }> {
    const lab = new LegacyLab();
    await lab.setUp();
    const agent = lab.startAgent(...flags);
    await lab.server.next('hello');
    lab.server.send({ type: 'desired', spec });
    return { lab, agent };
  }

  async desire(spec: NodeSpec): Promise<void> {
    this.server.send({ type: 'desired', spec });
    await this.converges(spec.generation);
  }

  converges(generation: number): Promise<Observed> {
    return this.observes(`converged ${generation}`, (it) => it.state === 'converged' && it.generation === generation);
  }

  async observes(what: string, fits: (observed: Observed) => boolean): Promise<Observed> {
    const latest = () => {
      const observed = this.server.all('observed').at(-1)?.observed;
      return observed && fits(observed) ? observed : null;
    };
    return until(what, latest, 30_000).catch((error) => this.explain(error));
  }

  /** Packets of these ports that come out behind the NF, sent one by one with metadata and ingress time. */
  pass(dport: number, count = 1, seconds = 3) {
    return this.exchange({ hop: 1, count, expect: count, dport, metadata: METADATA, 'src-mac': STAMP, seconds });
  }

  crosses(dport = 80): Promise<unknown> {
    const one = async () => (await this.pass(dport, 1, 0.5)).length === 1;
    return until('a packet crosses', one, 30_000).catch((error) => this.explain(error));
  }

  async pid(): Promise<number> {
    return (await this.instanceState(NF)).pid as number;
  }

  holder(): number {
    return JSON.parse(readFileSync(join(this.run_dir, 'nf', stemOf(NF), 'holder.pid'), 'utf8')).pid;
  }

  /** Whether the engine can send to the NF. */
  isOpen(): boolean {
    const { near } = vethLinks(NF);
    return execFileSync('ip', ['-n', this.node, 'link', 'show', 'dev', near.engine]).toString().includes('state UP');
  }

  private explain(error: Error): never {
    throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
  }
}
