import type { Pipeline } from '@orrery/contract';
import type { Api } from './orrery.js';

/** A chain of one NF, `fw`, from `client-3` to the web server, with what a test asks of it. */
export class OneNfChain {
  private constructor(
    private readonly api: Api,
    readonly pipeline_id: string,
  ) {}

  static async deploy(api: Api, name: string, nf: string): Promise<OneNfChain> {
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
    };
    const { id }: Pipeline = await api.ok('POST', '/pipelines', draft);
    const chain = new OneNfChain(api, id);
    await chain.over(await api.ok('POST', '/deployments', { pipeline_id: id }));
    return chain;
  }

  /** The only instance, as its agent reports it. */
  async instance() {
    const { items } = await this.api.ok('GET', `/nf-instances?pipeline_id=${this.pipeline_id}`);
    return items[0];
  }

  async packetsIn(instanceId: string): Promise<number> {
    return (await this.api.taken())[instanceId]?.packets ?? 0;
  }

  /** `count` HTTP requests, each on a connection of its own; gives the finished job. */
  async request(count: number) {
    const http = { kind: 'http', from: 'client-3', to: 'web-1', count, rate_per_s: 50 };
    const { id } = await this.api.ok('POST', '/twin/traffic', http);
    return this.api.until('the end of the requests', async () => {
      const now = await this.api.ok('GET', `/twin/traffic/${id}`);
      return ['completed', 'failed'].includes(now.state) ? now : null;
    });
  }

  /** Moves the NF to another form by a plan that is then deployed; gives the plan. */
  async runOn(on: 'software' | 'container') {
    const implementations = [{ pipeline_id: this.pipeline_id, node_id: 'fw', on }];
    const plan = await this.api.ok('POST', '/plans', { implementations });
    await this.over(await this.api.ok('POST', '/deployments', { plan_id: plan.id }));
    return plan;
  }

  async remove(): Promise<void> {
    await this.over(await this.api.ok('DELETE', `/deployments/${this.pipeline_id}`));
    await this.api.ok('DELETE', `/pipelines/${this.pipeline_id}`);
  }

  private over({ id }: { id: string }) {
    return this.api.until('the end of the operation', async () => {
      const { state, error } = await this.api.ok('GET', `/operations/${id}`);
      if (state.startsWith('FAILED') || state === 'ROLLED_BACK')
        throw new Error(`the operation is ${state}: ${JSON.stringify(error)}`);
      return state === 'COMPLETED' ? true : null;
    });
  }
}
