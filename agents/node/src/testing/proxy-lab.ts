import type { InstanceSpec, NodeSpec, Observed } from '@orrery/contract';
import { isInstalled } from '../drivers/legacy/namespace-commands.js';
import { EXTERNAL, HttpLab, ORIGIN } from './http-lab.js';
import { labMissing, NODE_MAC } from './lab.js';
import { until } from './scratch.js';
import { instance, nodeSpec, output } from './specs.js';

/** Why tests with a proxy cannot run here; null if they can. */
export function proxyMissing(): string | null {
  const lacking = ['squid', 'squidclient', 'nft', 'ethtool'].filter((program) => !isInstalled(program));
  return labMissing() ?? (lacking.length > 0 ? `needs ${lacking.join(', ')}` : null);
}

export const PROXY = 'web.proxy.0';

const CONFIG = {
  external_addresses: [EXTERNAL],
  port: 80,
  memory_mb: 16,
  object_kb: 512,
  resolver: ORIGIN,
  forwarded_for: 'on',
};

/** Client -> proxy -> origin; answers of origins come back to the proxy, whose answers leave as replies. */
export function proxyChain(
  generation: number,
  config: Record<string, unknown> = {},
  driver: InstanceSpec['driver'] = 'process',
): NodeSpec {
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    instances: [
      instance(PROXY, {
        nf: 'http-proxy',
        driver,
        config: { ...CONFIG, ...config },
        outputs: [output('web.e1', { kind: 'exit', exit_id: 'web.exit' })],
        return_to: { kind: 'exit', exit_id: 'web.return' },
      }),
    ],
    hops: [
      { hop: 1, instance_id: PROXY, direction: 'forward' },
      { hop: 2, instance_id: PROXY, direction: 'return' },
    ],
    exits: [
      { exit_id: 'web.exit', chain_id: 'web', direction: 'forward' },
      { exit_id: 'web.return', chain_id: 'web', direction: 'return' },
    ],
  });
}

export class ProxyLab extends HttpLab {
  async desire(spec: NodeSpec): Promise<Observed> {
    this.server.send({ type: 'desired', spec });
    return this.observes(spec.generation);
  }

  observes(generation: number): Promise<Observed> {
    const latest = () => {
      const observed = this.server.all('observed').at(-1)?.observed;
      return observed?.state === 'converged' && observed.generation === generation ? observed : null;
    };
    return until(`converged ${generation}`, latest, 30_000).catch((error) => this.explain(error));
  }

  /** Resolves when the client gets a page again. */
  answers(): Promise<unknown> {
    const one = () =>
      this.get('/again').then(
        ({ status }) => status === 200,
        () => false,
      );
    return until('pages come', one, 30_000).catch((error) => this.explain(error));
  }

  async figures(): Promise<Record<string, number>> {
    return (await this.instanceState(PROXY)).report as Record<string, number>;
  }

  async pid(): Promise<number> {
    return (await this.instanceState(PROXY)).pid as number;
  }

  /** Events of the proxy's end. */
  ends(): string[] {
    return this.server.all('event').flatMap((it) => (it.event === 'instance.ended' ? [JSON.stringify(it)] : []));
  }

  private explain(error: Error): never {
    throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
  }
}
