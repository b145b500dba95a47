import { Inject, Injectable } from '@nestjs/common';
import { type ChainNotKept, type Operation, PlanRequest } from '@orrery/contract';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { newId } from '../../platform/ids.js';
import { conflict, notFound, ProblemError } from '../../platform/problem.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { isOver } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { isDone } from './accounts.js';
import { Keepers } from './keepers.js';
import { HealingRecords } from './records.js';
import { Retries } from './retries.js';

const BY = 'healing';
/** Chains of one plan, as many as a request may name. */
const MOST_CHAINS = 64;

/** What is asked for next; the id was stored before. */
interface Attempt {
  readonly id: string;
  readonly chains: readonly ChainNotKept[];
}

interface Limited {
  /** For how long the limit of changes holds one back, in ms; 0: it does not. */
  readonly heldBack: () => number;
  readonly made: () => void;
}

/** Deploys chains that are not kept again, the most important first, or gives them up; not those of other loops. */
@Injectable()
export class Redeployment {
  private readonly retries = new Retries();
  /** For what it was last tried, and how many of the chains were tried for it. */
  private tried = { of: '', chains: 0 };

  constructor(
    @Inject(HealingRecords) private readonly records: HealingRecords,
    @Inject(Keepers) private readonly keepers: Keepers,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
  ) {}

  /** Something changed on which it depends whether there is room. */
  tryAnew(): void {
    this.tried = { of: '', chains: 0 };
    this.retries.clear('');
  }

  /**
   * Operations that are over are forgotten, and chains whose packets they have let through. Once plans are accounted for, a
   * chain that is still not kept was left out again.
   */
  async settle(nowMs: number, isAccounted: boolean): Promise<void> {
    await this.askAgain();
    for (const { chain_id, operation_id, given_up_by } of this.records.notKept()) {
      if (operation_id === null || given_up_by === null) continue;
      const operation = this.deployer.operation(operation_id);
      if (operation && isDone(operation)) await this.forgetGivenUp(chain_id, given_up_by);
    }
    for (const id of new Set(this.records.notKept().flatMap(({ operation_id }) => operation_id ?? []))) {
      const operation = this.deployer.operation(id);
      if (!operation || !isOver(operation) || (isDone(operation) && !isAccounted)) continue;
      await this.forget(id);
      this.retries.later('', nowMs);
    }
  }

  /** When to look again, in ms. */
  async act({ decide, step }: LoopRun, nowMs: number, { heldBack, made }: Limited): Promise<number[]> {
    const waitMs = this.retries.waitMs('', nowMs);
    if (waitMs > 0) return [waitMs];
    const attempt = await step(this.next());
    if (attempt === null) return [];
    if (attempt === 'more') return [1];
    const heldMs = heldBack();
    if (heldMs > 0) return [heldMs];
    const ids = new Set(attempt.chains.map(({ chain_id }) => chain_id));
    await this.records.commit((draft) => {
      for (const id of ids) draft.changeChain(id, (now) => now && { ...now, operation_id: attempt.id });
    });
    const refusal = await step(this.ask(attempt));
    const what = refusal === null ? 'Deploy again' : 'Deploy again: not possible';
    const inputs = { chains: ids.size, waiting: this.waiting().length - ids.size };
    decide({ subject: [...ids].join(', '), what, why: refusal ?? 'there is room for it again', inputs });
    if (refusal === null) {
      this.retries.clear('');
      made();
      return [];
    }
    await this.forget(attempt.id);
    return [this.retries.later('', nowMs)];
  }

  /** Null: there is nothing to ask for; `more`: not in those that were looked at. */
  private async next(): Promise<Attempt | 'more' | null> {
    const waiting = this.waiting();
    const [asked] = waiting.flatMap(({ operation_id }) => operation_id ?? []);
    if (asked !== undefined) {
      // Asked for before a kill, or under way.
      if (this.deployer.operation(asked)) return null;
      return { id: asked, chains: waiting.filter(({ operation_id }) => operation_id === asked) };
    }
    const plan = this.view.comingPlan;
    const { revision } = this.infrastructure.current;
    const out = this.records.out().flatMap(({ id, lost, maintenance }) => (lost || maintenance ? [id] : []));
    const of = JSON.stringify([plan?.id, revision, out, waiting.map(({ chain_id }) => chain_id)]);
    if (of !== this.tried.of) this.tried = { of, chains: 0 };
    const chains = waiting.slice(this.tried.chains, this.tried.chains + MOST_CHAINS);
    if (chains.length === 0) return null;
    const request = PlanRequest.parse(requestFor(chains));
    const found = await this.plans.tryOut(request, plan, this.view.comingDrivers).catch(refused);
    const fit = new Set(found?.feasible ? found.chains.map(({ chain_id }) => chain_id) : []);
    const again = chains.filter(({ chain_id }) => fit.has(chain_id));
    if (again.length > 0) return { id: newId('op'), chains: again };
    this.tried = { of, chains: this.tried.chains + chains.length };
    return this.tried.chains < waiting.length ? 'more' : null;
  }

  private waiting(): ChainNotKept[] {
    return inOrder(
      this.records.notKept().filter(({ chain_id, given_up_by }) => given_up_by === null && !this.keepers.of(chain_id)),
    );
  }

  /** Null: accepted. Otherwise why not. */
  private async ask({ id, chains }: Attempt): Promise<string | null> {
    try {
      await this.deployer.change(requestFor(chains), { id, kind: 'reconfigure', by: BY });
      return null;
    } catch (error) {
      if (error instanceof ProblemError && error.status < 500) return error.message;
      throw error;
    }
  }

  private forget(operation: string): Promise<void> {
    return this.records.commit((draft) => {
      for (const { chain_id } of this.records.notKept())
        draft.changeChain(chain_id, (now) =>
          now?.operation_id === operation ? { ...now, operation_id: null, given_up_by: null } : now,
        );
    });
  }

  /**
   * By hand, and only where no other chain is taken down for it. Throws 404, 409 where another loop deploys it, and 422
   * with what it lacks.
   */
  deploy(id: string, by: string): Promise<Operation> {
    return this.records.alone(async () => {
      const chain = this.find(id);
      if (this.keepers.of(id)) throw conflict('Its service pool deploys it again itself, as soon as there is room.');
      const known = chain.operation_id === null ? undefined : this.deployer.operation(chain.operation_id);
      if (known && !isOver(known)) {
        if (chain.given_up_by !== null) throw conflict(`It is being given up by ${known.id}.`);
        return known;
      }
      const operation = newId('op');
      await this.records.commit((draft) => {
        draft.changeChain(id, (now) => now && { ...now, operation_id: operation, given_up_by: null });
      });
      const { chains } = requestFor([chain]);
      return this.deployer.change({ chains }, { id: operation, kind: 'deploy', by }).catch(async (error: unknown) => {
        if (error instanceof ProblemError && error.status < 500) await this.forget(operation);
        throw error;
      });
    });
  }

  /**
   * It is listed until its packets are no longer dropped. Throws 404, and 409 where they cannot be let through, or an operation
   * under way is about it.
   */
  giveUp(id: string, by: string): Promise<void> {
    return this.records.alone(async () => {
      const { operation_id, given_up_by } = this.find(id);
      const known = operation_id === null ? undefined : this.deployer.operation(operation_id);
      if (known && !isOver(known))
        throw conflict(`It is being ${given_up_by === null ? 'deployed' : 'given up'} by ${known.id}.`);
      const isDropped = this.view.comingPlan?.guarded?.some(({ chain_id }) => chain_id === id) ?? false;
      if (!isDropped && this.view.isGuarded(id))
        throw conflict('An operation under way is about it, and may not come about: wait for it, or cancel it.');
      // First: where this is refused, its packets are still dropped.
      await this.keepers.of(id)?.giveUp(id, by);
      if (!isDropped) return this.forgetGivenUp(id, by);
      const operation = newId('op');
      await this.records.commit((draft) => {
        draft.changeChain(id, (now) => now && { ...now, operation_id: operation, given_up_by: by });
      });
      await this.letThrough(id, operation, by);
    });
  }

  /** Asks for what was given up before a kill. */
  private async askAgain(): Promise<void> {
    const isUnasked = ({ given_up_by, operation_id }: ChainNotKept) =>
      given_up_by !== null && operation_id !== null && !this.deployer.operation(operation_id);
    if (!this.records.notKept().some(isUnasked)) return;
    await this.records.alone(async () => {
      for (const { chain_id, operation_id, given_up_by } of this.records.notKept().filter(isUnasked))
        await this.letThrough(chain_id, operation_id!, given_up_by!).catch(refused);
    });
  }

  /** Where that is refused, it is not given up. */
  private async letThrough(id: string, operation: string, by: string): Promise<void> {
    try {
      await this.deployer.change({ remove: [id] }, { id: operation, kind: 'undeploy', by });
    } catch (error) {
      if (error instanceof ProblemError && error.status < 500) await this.forget(operation);
      throw error;
    }
  }

  private forgetGivenUp(id: string, by: string): Promise<void> {
    return this.records.commit((draft) => {
      if (!this.records.notKept().some(({ chain_id }) => chain_id === id)) return;
      draft.changeChain(id, () => undefined);
      draft.tell({ type: 'healing.given-up', subject: id, message: 'It is not deployed again', actor: by, data: {} });
    });
  }

  private find(id: string): ChainNotKept {
    const chain = this.records.notKept().find(({ chain_id }) => chain_id === id);
    if (!chain) throw notFound('chain that is not kept', id);
    return chain;
  }
}

/** The most important first, of equal ones that which is first in the list. */
export function inOrder(chains: readonly ChainNotKept[]): ChainNotKept[] {
  return chains.toSorted((a, b) => b.priority - a.priority);
}

function requestFor(chains: readonly ChainNotKept[]): PlanChange {
  const asked = chains.map(
    ({ priority: _p, because: _b, constraint: _c, since_ms: _s, operation_id: _o, given_up_by: _g, ...chain }) => chain,
  );
  return { chains: asked, when_short: 'leave-out' };
}

function refused(error: unknown): null {
  if (error instanceof ProblemError && error.status < 500) return null;
  throw error;
}
