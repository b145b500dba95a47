import type { Deployment, EventDraft, Operation } from '@orrery/contract';
import type { Accepted, Desired, DesiredChange, DesiredStore, InForce } from './desired-store.js';
import { completed, OPERATION_NOUN, setAside, withoutEffect } from './operation-steps.js';
import { afterOperation, deploymentOf } from './versions.js';

type State = Pick<DesiredStore, 'desired' | 'coming' | 'plan' | 'planInForce' | 'deployments' | 'deployment'>;

/** The operation's versions come into force. */
export function completion(state: State, { plan }: Accepted, before: Operation, nowMs: number): DesiredChange {
  const operation = completed(before, nowMs);
  const in_force = { plan_id: plan.id, chains: afterOperation(state.desired.in_force.chains, operation) };
  const titles = new Map(
    [...(state.planInForce?.chains ?? []), ...plan.chains].map((each) => [each.chain_id, each.definition.title]),
  );
  const { entries, events } = deploymentsAt(state, in_force, operation, titles, nowMs);
  const common = {
    subject: operation.id,
    actor: operation.by,
    data: { chain_id: operation.subject, plan_id: operation.plan_id },
  };
  const took = `${OPERATION_NOUN[operation.kind]} took ${nowMs - operation.started_ms} ms`;
  const event: EventDraft = operation.error
    ? { ...common, type: 'operation.partially-completed', message: `${took}; ${operation.error.detail}` }
    : { ...common, type: 'operation.completed', message: took };
  return {
    desired: { ...state.desired, in_force, drivers: [] },
    operations: [operation],
    over: [operation],
    deployments: entries,
    events: [...events, event],
  };
}

/** Deployments once `in_force` is; those of operations under way keep their state. */
function deploymentsAt(
  state: State,
  in_force: InForce,
  operation: Operation,
  titles: ReadonlyMap<string, string>,
  nowMs: number,
) {
  const entries = new Map<string, Deployment | null>();
  const events: EventDraft[] = [];
  const plan_id = in_force.plan_id!;
  const others = state.coming.flatMap((each) => (each.operation.id === operation.id ? [] : each.operation));
  for (const deployment of state.deployments()) {
    const id = deployment.chain_id;
    const next = deploymentOf(id, in_force, others, nowMs);
    if (!next) {
      entries.set(id, null);
      events.push({
        type: 'deployment.removed',
        subject: id,
        message: `${titles.get(id) ?? id} was taken down`,
        actor: operation.by,
        data: { plan_id },
      });
    } else if (next.state === 'running' && (deployment.state === 'deploying' || deployment.state === 'undeploying')) {
      entries.set(id, next);
      events.push({
        type: 'deployment.running',
        subject: id,
        message: `Version ${next.version} runs`,
        actor: operation.by,
        data: { version: next.version, plan_id },
      });
    } else if (next.state === 'running') entries.set(id, { ...deployment, plan_id });
  }
  return { entries, events };
}

/** What the operation was asked for is so already: it changes nothing. */
export function doneAlready(state: State, before: Operation, nowMs: number): DesiredChange {
  const operation = { ...completed(before, nowMs), chains: [] };
  const event: EventDraft = {
    type: 'operation.completed',
    subject: operation.id,
    message: 'Nothing was left to do',
    actor: operation.by,
    data: { chain_id: operation.subject, plan_id: operation.plan_id },
  };
  return {
    operations: [operation],
    over: [operation],
    deployments: restored(state, before, nowMs),
    events: [event],
  };
}

/** Deployments of the chains that the operation, which begins, changes; those of later operations stay. */
export function claimed(state: State, operation: Operation, nowMs: number): Map<string, Deployment | null> {
  const coming = new Set(state.coming.map(({ operation: { id } }) => id));
  return new Map(
    operation.chains.flatMap(({ chain_id }) => {
      const now = state.deployment(chain_id);
      if (now && coming.has(now.operation_id)) return [];
      return [[chain_id, deploymentOf(chain_id, state.desired.in_force, [operation], nowMs)] as const];
    }),
  );
}

/** The desired state at rest, without the operation that was being taken back. */
function atRest(desired: Desired): Desired {
  return {
    ...desired,
    operation_id: null,
    retreat: null,
    phase: 'settled',
    waiting_for: [],
    drivers: [],
    plan_id: desired.in_force.plan_id,
  };
}

/** The operation ends without effect: nothing of it is in the desired state. */
export function ending(
  state: State,
  before: Operation,
  how: { readonly state: 'ROLLED_BACK' | 'FAILED'; readonly why: string; readonly by?: string },
  nowMs: number,
): DesiredChange {
  const operation = withoutEffect(before, how.state, how.why, nowMs);
  const event: EventDraft = {
    type: how.state === 'FAILED' ? 'operation.failed' : 'operation.rolled-back',
    subject: operation.id,
    message: how.why,
    ...(how.by === undefined ? {} : { actor: how.by }),
    data: { chain_id: operation.subject },
  };
  return {
    ...restOf(state, operation),
    operations: [operation],
    over: [operation],
    deployments: restored(state, operation, nowMs),
    events: [event],
  };
}

/** The operation waits for nodes, outside the desired state. */
export function settingAside(
  state: State,
  before: Operation,
  { why, waiting_for }: { readonly why: string; readonly waiting_for: readonly string[] },
  nowMs: number,
): DesiredChange {
  const operation = setAside(before, why, waiting_for, nowMs);
  const event: EventDraft = {
    type: 'operation.set-aside',
    subject: operation.id,
    message: `Set aside until ${waiting_for.join(', ')} is back: ${why}`,
    data: { chain_id: operation.subject, waiting_for: [...waiting_for] },
  };
  return {
    ...restOf(state, operation),
    operations: [operation],
    deployments: restored(state, operation, nowMs),
    events: [event],
  };
}

function restOf(state: State, { id }: Operation): Pick<DesiredChange, 'desired' | 'plan'> {
  return state.desired.operation_id === id ? { desired: atRest(state.desired), plan: state.planInForce } : {};
}

/** Deployments of the operation's chains as they are without it. */
function restored(state: State, { id, chains }: Operation, nowMs: number): Map<string, Deployment | null> {
  const others = state.coming.flatMap(({ operation }) => (operation.id === id ? [] : operation));
  return new Map(
    chains.flatMap(({ chain_id }) => {
      const now = state.deployment(chain_id);
      if (now?.operation_id !== id) return [];
      return [[chain_id, deploymentOf(chain_id, state.desired.in_force, others, nowMs)] as const];
    }),
  );
}
