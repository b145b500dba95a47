import { Inject, Injectable } from '@nestjs/common';
import type { ChainDefinition, Plan, SloStatus } from '@orrery/contract';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { NOT_KEPT_CHAINS, type NotKeptChains } from '../../ports/not-kept-chains.js';
import { aimOf, WINDOW_S, windowOf } from './evaluate.js';
import { aimOfClass } from './evaluate-classes.js';

/** Objectives of chains that were left out: they are missed until the chain runs again, is given up or deleted. */
@Injectable()
export class LeftOutObjectives {
  /** Of chains that run, and of those that did and were left out. */
  private readonly definitions = new Map<string, ChainDefinition>();

  constructor(
    @Inject(NOT_KEPT_CHAINS) private readonly notKept: NotKeptChains,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  definitionOf(chainId: string): ChainDefinition | undefined {
    return this.definitions.get(chainId);
  }

  /** Learns what runs, and reads what was left out before the server was started; what cannot be read, next time. */
  async follow(plan: Plan | null): Promise<void> {
    const running = plan?.chains ?? [];
    const left = this.notKept.leftOut();
    for (const { chain_id, definition } of running) this.definitions.set(chain_id, definition);
    const known = new Set([...running, ...left].map(({ chain_id }) => chain_id));
    for (const id of this.definitions.keys()) if (!known.has(id)) this.definitions.delete(id);
    for (const { chain_id, version } of left) {
      if (version === null || this.definitions.has(chain_id)) continue;
      const found = await this.chains.version(chain_id, version).catch(() => null);
      if (found) this.definitions.set(chain_id, found.definition);
    }
  }

  /** Of the chains that the plan does not run. */
  statuses(plan: Plan | null, nowMs: number): SloStatus[] {
    const running = new Set(plan?.chains.map(({ chain_id }) => chain_id));
    return this.notKept.leftOut().flatMap(({ chain_id, because }) => {
      const definition = running.has(chain_id) ? undefined : this.definitions.get(chain_id);
      if (!definition) return [];
      const common = {
        chain_id,
        state: 'violated' as const,
        ...{ measured: null, predicted: null, band: null, error: null, budget: null, offered: null, carried: null },
        cause: `the chain was taken down for want of room: ${because.replace(/\.$/, '')}`,
        packets: 0,
        origin: this.originOf(definition),
        t_ms: nowMs,
      };
      return [
        ...definition.slos.map((slo) => ({
          ...common,
          ...{ slo_id: slo.id, kind: slo.kind, ...aimOf(slo), window_s: windowOf(slo) },
        })),
        ...definition.class_slos.map((slo) => ({
          ...common,
          ...{ slo_id: slo.id, ...aimOfClass(slo), window_s: WINDOW_S },
        })),
      ];
    });
  }

  private originOf({ traffic_class: { from } }: ChainDefinition): SloStatus['origin'] {
    return this.infrastructure.current.infrastructure.hosts.find(({ id }) => from.includes(id))?.origin ?? 'twin';
  }
}
