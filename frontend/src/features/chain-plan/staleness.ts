import type { Deployment, Plan } from '@orrery/contract';
import { RUN_WORDS, runOptionsOf } from '../../shared/chain/run-options.js';

interface Situation {
  readonly plan: Plan;
  /** The chain that is planned. */
  readonly chainId: string;
  /** Of the draft: as planned, and as stored now. */
  readonly revisions: { readonly planned: number; readonly now: number };
  /** Of the infrastructure now; undefined: not known (yet). */
  readonly infrastructure: number | undefined;
  /** Undefined: not known (yet). */
  readonly deployments: readonly Deployment[] | undefined;
  /** The plan by which the chain runs now; undefined: it does not run, or it is not known (yet). */
  readonly inForce: Pick<Plan, 'id' | 'chains'> | undefined;
  /** The plan on which `plan` builds; undefined: none, or not known (yet). */
  readonly base: Pick<Plan, 'chains'> | undefined;
}

/** Why the plan is out of date, as a sentence; null: it is not. */
export function stalenessOf(of: Situation): string | null {
  const { plan, chainId, revisions, infrastructure, deployments } = of;
  if (revisions.now > revisions.planned) return 'The draft was changed since.';
  if (infrastructure !== undefined && infrastructure > plan.infrastructure_revision)
    return 'The infrastructure was changed since.';
  if (!deployments || isBasedOn(of, deployments)) return null;
  const own = ownChange(of, deployments);
  if (own) return own;
  const others = deployments.filter(({ chain_id, state }) => chain_id !== chainId && state !== 'undeploying');
  const planned = plan.chains.filter(({ chain_id }) => chain_id !== chainId);
  // What runs was planned as a draft, version 0, by whoever deployed a draft and published it with that.
  const isSame =
    others.length === planned.length &&
    planned.every(({ chain_id, version }) =>
      others.some((other) => other.chain_id === chain_id && (version === 0 || other.version === version)),
    );
  return isSame ? 'What runs was planned anew since.' : 'Other chains were deployed or taken down since.';
}

/** Whether what runs, or is being deployed, is this plan or the one that it builds on. */
function isBasedOn({ plan, base }: Situation, deployments: readonly Deployment[]): boolean {
  const there = deployments.filter(({ state }) => state !== 'failed');
  // The plan in effect then has no chains, or there has never been one.
  if (there.length === 0) return base === undefined || base.chains.length === 0;
  const changing = there.filter(({ state }) => state === 'deploying' || state === 'undeploying');
  // While a change is under way, chains that it leaves alone still have the plan before.
  return (changing.length > 0 ? changing : there).some(
    ({ plan_id }) => plan_id === plan.base_plan || plan_id === plan.id,
  );
}

/** How the chain itself runs otherwise than when it was planned. */
function ownChange({ chainId, inForce, base }: Situation, deployments: readonly Deployment[]): string | null {
  const now = deployments.find(({ chain_id }) => chain_id === chainId);
  const before = base?.chains.find(({ chain_id }) => chain_id === chainId);
  if (!now || now.state === 'failed') return before ? 'The chain was taken down since.' : null;
  if (now.state === 'undeploying') return 'The chain is being taken down.';
  const running = inForce?.chains.find(({ chain_id }) => chain_id === chainId);
  if (!inForce || !running) return null;
  const { execution, schedule } = runOptionsOf(inForce, chainId);
  const how = `${RUN_WORDS.execution[execution]?.runs}, ${RUN_WORDS.schedule[schedule]?.runs}`;
  const was = base && before ? runOptionsOf(base, chainId) : null;
  const isSame =
    was?.execution === execution &&
    was.schedule === schedule &&
    before?.version === running.version &&
    JSON.stringify(before.splits ?? []) === JSON.stringify(running.splits ?? []);
  if (isSame) return null;
  const runs = now.state === 'deploying' ? 'will run' : 'runs';
  return `The chain was deployed otherwise since: it ${runs} ${how}.`;
}
