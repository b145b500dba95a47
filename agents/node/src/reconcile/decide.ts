import { type InstanceSpec, isAtSwitch, type NodeSpec, type Observed, type ObservedElement } from '@orrery/contract';
import { compile } from '../drivers/engine/compile.js';
import { CompileError } from '../drivers/engine/compile-error.js';
import type { EngineView } from '../drivers/engine/engine-driver.js';
import { digestOf } from '../drivers/instance-digest.js';
import type { HostedView, Wiring } from '../drivers/nf-driver.js';
import { type BoardWorld, boardSteps, checkBoards } from './boards.js';
import {
  deploySteps,
  destructSteps,
  endsOf,
  type HostedWorld,
  type HostWorld,
  leavingOf,
  refusedByHost,
} from './hosted.js';
import { type Failure, noChange, type Step } from './steps.js';

/** Limits of the contract (`Observed`). */
const MAX_TROUBLES = 32;
const MAX_TROUBLE_CHARS = 300;

export interface World {
  spec: NodeSpec | null;
  engine: EngineView;
  /** Drivers outside the engine, except boards. */
  hosted: readonly HostedWorld[];
  boards: BoardWorld;
  failure: Failure | null;
  troubles: readonly string[];
  /** What is told of an instance that can be switched; null: it cannot be. */
  element(instance: InstanceSpec): ObservedElement | null;
  /** Newest generation reached, reported until a newer one is. */
  converged: number;
  now_ms: number;
}

export interface Decision {
  /** What to do now, in order; the world is observed again afterwards. */
  steps: Step[];
  observed: Observed;
  /** When to decide again even if nothing is reported; null: no need. */
  wait_ms: number | null;
}

/**
 * The difference between the node and its desired state, as the next steps. Instances outside the engine are deployed
 * before the data plane refers to their interfaces, and destructed once it no longer does. An instance without
 * interfaces, such as one whose slot is loading or whose container is being recreated, is left out of the data plane
 * until they exist.
 */
export function decide(world: World): Decision {
  const { spec, engine, failure, now_ms } = world;
  if (!spec) return { steps: [], observed: report(world, null, 0, 'converged'), wait_ms: null };
  const blocked = failure && failure.generation === spec.generation && failure.not_before_ms > now_ms ? failure : null;
  if (blocked) {
    return { steps: [], observed: report(world, blocked, null, 'failed'), wait_ms: blocked.not_before_ms - now_ms };
  }
  let wiring: Wiring;
  try {
    wiring = wire(spec, world);
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    const why = { message: `${error.pointer}: ${error.message}`, instance_id: error.instanceId };
    return { steps: [], observed: report(world, why, null, 'failed'), wait_ms: null };
  }
  const started = startSteps(world);
  const board = boardSteps(spec, world.boards);
  const deployed = world.hosted.flatMap((host) => deploySteps(spec, host));
  const steps = [...started.steps, ...deployed, ...board.before];
  // The interfaces of deployed instances are known once they exist.
  if (deployed.length === 0 && engine.status === 'running' && engine.applied !== wiring.digest)
    steps.push({
      kind: 'realize',
      driver: 'engine',
      change: { ...noChange, wiring },
      reason: engine.applied === null ? 'the engine has no graph' : 'desired state changed',
    });
  if (engine.status === 'running' && engine.applied === wiring.digest)
    steps.push(...world.hosted.flatMap((host) => destructSteps(spec, host)), ...board.after);
  const ready = steps.length === 0 && engine.status === 'running' && allRun(spec, world) && noneLeaves(spec, world);
  if (ready) return { steps, observed: report(world, null, spec.generation, 'converged'), wait_ms: null };
  const why = isDown(engine) ? { message: engine.error ?? 'the engine failed', instance_id: null } : failure;
  const refused = why ? null : refusedByHost(spec, hostsOf(world));
  const state = failure?.generation === spec.generation || refused ? 'failed' : 'progressing';
  return { steps, observed: report(world, why ?? refused, null, state), wait_ms: started.wait_ms };
}

/** It failed or does not answer: no packet gets through. */
const isDown = ({ status }: EngineView) => status === 'failed' || status === 'unresponsive';

const hostsOf = ({ hosted, boards }: World): HostWorld[] => [...hosted, boards];

function wire(spec: NodeSpec, world: World): Wiring {
  checkBoards(spec, world.boards);
  const { graph, probes } = compile(engineSpec(spec), world.engine, endsOf(spec, hostsOf(world)));
  const instances = new Map(spec.instances.map((instance) => [instance.id, digestOf(instance)]));
  return { graph, probes, instances, digest: digestOf(graph) };
}

/** What the engine has to do with: instances in slots at switches are reached without it. */
function engineSpec(spec: NodeSpec): NodeSpec {
  const away = new Set(spec.instances.flatMap((instance) => (isAtSwitch(instance) ? [instance.id] : [])));
  if (away.size === 0) return spec;
  return {
    ...spec,
    instances: spec.instances.filter(({ id }) => !away.has(id)),
    hops: spec.hops.filter(({ instance_id }) => !away.has(instance_id)),
  };
}

function startSteps({ engine, now_ms }: World): { steps: Step[]; wait_ms: number | null } {
  if (engine.status === 'running' || engine.status === 'starting') return { steps: [], wait_ms: null };
  // It is being stopped or does not answer; its end will be reported.
  if (engine.pid !== null) return { steps: [], wait_ms: null };
  if (engine.start_not_before_ms > now_ms) return { steps: [], wait_ms: engine.start_not_before_ms - now_ms };
  return {
    steps: [{ kind: 'start-engine', reason: engine.error ?? 'desired state needs a data plane' }],
    wait_ms: null,
  };
}

function allRun(spec: NodeSpec, world: World): boolean {
  return spec.instances.every((instance) => {
    if (instance.driver === 'engine') return true;
    const found = hostedOf(instance, world);
    return found?.state === 'running' && (found.ends !== null || isAtSwitch(instance));
  });
}

const noneLeaves = (spec: NodeSpec, world: World): boolean =>
  hostsOf(world).every((host) => leavingOf(spec, host).length === 0);

function hostedOf({ id, driver }: InstanceSpec, world: World): HostedView | undefined {
  return hostsOf(world)
    .find(({ kind }) => kind === driver)
    ?.instances.get(id);
}

function report(
  world: World,
  failure: Pick<Failure, 'message' | 'instance_id'> | null,
  generation: number | null,
  state: Observed['state'],
): Observed {
  const { spec, engine, boards } = world;
  const instances: Observed['instances'] = (spec?.instances ?? []).map((instance) => {
    const seen = instanceState(instance, world, failure);
    const element = seen.state === 'running' ? world.element(instance) : null;
    return { id: instance.id, ...seen, ...(element ? { element } : {}) };
  });
  const wanted = new Set(instances.map(({ id }) => id));
  for (const [id, { detail }] of hostsOf(world).flatMap((host) => [...host.instances]))
    if (!wanted.has(id)) instances.push({ id, state: 'stopping', detail });
  return {
    generation: generation ?? world.converged,
    state,
    engine: engine.status,
    engine_pid: engine.pid,
    instances,
    boards: [...boards.observed],
    error: failure?.message ?? null,
    troubles: world.troubles.slice(0, MAX_TROUBLES).map((text) => text.slice(0, MAX_TROUBLE_CHARS)),
  };
}

function instanceState(
  instance: InstanceSpec,
  world: World,
  failure: Pick<Failure, 'message' | 'instance_id'> | null,
): Pick<Observed['instances'][number], 'state' | 'detail'> {
  const { engine } = world;
  const { id, driver } = instance;
  if (failure?.instance_id === id) return { state: 'failed', detail: failure.message };
  if (isDown(engine) && !isAtSwitch(instance)) return { state: 'failed', detail: engine.error };
  const hosted = hostedOf(instance, world);
  if (driver !== 'engine' && hosted?.state !== 'running')
    return { state: hosted?.state ?? 'pending', detail: hosted?.detail ?? null };
  if (isAtSwitch(instance)) return { state: 'running', detail: null };
  if (engine.status === 'running' && engine.instances.has(id)) return { state: 'running', detail: null };
  return { state: engine.status === 'starting' ? 'starting' : 'pending', detail: hosted?.detail ?? null };
}
