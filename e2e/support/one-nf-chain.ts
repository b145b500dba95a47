import type { Chain, Slo } from '@orrery/contract';
import { ensureRunning, runToEnd } from './applications.js';
import type { Api } from './orrery.js';

interface ChainOptions {
  readonly slos?: readonly Slo[];
  /** The first start of an image takes as long as its Docker needs to load it; until then the operation is failed for now. */
  readonly isImage?: boolean;
}

/** A chain of one NF, `fw`, from `client-3` to the web server, with the operations that tests need. */
export class OneNfChain {
  private constructor(
    private readonly api: Api,
    readonly chain_id: string,
    private readonly isImage: boolean,
  ) {}

  static async deploy(
    api: Api,
    name: string,
    nf: string,
    { slos = [], isImage = false }: ChainOptions = {},
  ): Promise<OneNfChain> {
    const traffic_class = {
      from: ['client-3'],
      match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }],
      rate_bps: 1_000_000,
    };
    const draft = {
      name,
      title: name,
      traffic_class,
      nodes: [
        { id: 'in', kind: 'ingress' },
        { id: 'fw', kind: 'nf', nf },
        { id: 'out', kind: 'egress' },
      ],
      edges: [
        { id: 'e1', from: 'in', to: 'fw' },
        { id: 'e2', from: 'fw', to: 'out' },
      ],
      slos,
    };
    const { id }: Chain = await api.ok('POST', '/chains', draft);
    const chain = new OneNfChain(api, id, isImage);
    await chain.over(await api.ok('POST', '/deployments', { chain_id: id }));
    return chain;
  }

  /** The only instance, as its agent reports it. */
  async instance() {
    const { items } = await this.api.ok('GET', `/nf-instances?chain_id=${this.chain_id}`);
    return items[0];
  }

  async packetsIn(instanceId: string): Promise<number> {
    return (await this.api.taken())[instanceId]?.packets ?? 0;
  }

  /** Sends `count` HTTP requests, each on its own connection; returns their results. */
  async request(count: number) {
    await ensureRunning(this.api, 'web-1-http', { kind: 'http-server', node: 'web-1', config: {} });
    const config = { to: 'web-1', count, rate_per_s: 50 };
    return runToEnd(this.api, 'requests', { kind: 'http-client', node: 'client-3', config });
  }

  /** Moves the NF to another implementation by deploying a plan; returns the plan. */
  async runOn(on: 'software' | 'container') {
    const implementations = [{ chain_id: this.chain_id, node_id: 'fw', on }];
    const plan = await this.api.ok('POST', '/plans', { implementations });
    await this.over(await this.api.ok('POST', '/deployments', { plan_id: plan.id }));
    return plan;
  }

  async remove(): Promise<void> {
    await this.over(await this.api.ok('DELETE', `/deployments/${this.chain_id}`));
    await this.api.ok('DELETE', `/chains/${this.chain_id}`);
  }

  private over({ id }: { id: string }) {
    const ended = async () => {
      const { state, error } = await this.api.ok('GET', `/operations/${id}`);
      const isFailed = this.isImage ? state === 'FAILED' : state.startsWith('FAILED');
      if (isFailed || state === 'ROLLED_BACK') throw new Error(`the operation is ${state}: ${JSON.stringify(error)}`);
      return state === 'COMPLETED' ? true : null;
    };
    return this.api.until('the end of the operation', ended, this.isImage ? 120_000 : undefined);
  }
}
