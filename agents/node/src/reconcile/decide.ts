import type { InstanceSpec, NodeSpec, Observed } from '@orrery/contract';
import { CompileError, compile } from '../drivers/engine/compile.js';
import type { EngineView } from '../drivers/engine/engine-driver.js';
import { digestOf, processDigest } from '../drivers/instance-digest.js';
import type { RuntimeInstance, Wiring } from '../drivers/nf-driver.js';
import { type BoardWorld, boardEnds, boardSteps, checkBoards, refusedOnBoard } from './boards.js';
import { type Failure, noChange, type Step } from './steps.js';

export interface World {
  spec: NodeSpec | null;
  engine: EngineView;
  processes: ReadonlyMap<string, RuntimeInstance>;
  process_nfs: readonly string[];
  boards: BoardWorld;
  failure: Failure | null;
  /** Newest generation that was reached, reported until a newer one is. */
  converged: number;
  now_ms: number;
}

export interface Decision {
  /** What to do now, in order; after it the world is looked at again. */
  steps: Step[];
  observed: Observed;
  /** When to look again although nothing was heard; null: no need. */
  wait_ms: number | null;
}

/**
 * What separates the node from its desired state, and the next steps toward it. Processes are deployed before the data
 * plane refers to their interfaces and destructed after it no longer does. So are instances on boards, whose loads are
 * not waited for: the data plane takes them in when they are there.
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
  const steps = [...deploySteps(spec, world.processes), ...board.before, ...started.steps];
  if (engine.status === 'running' && engine.applied !== wiring.digest)
    steps.push({
      kind: 'realize',
      driver: 'engine',
      change: { ...noChange, wiring },
      reason: engine.applied === null ? 'the engine has no graph' : 'desired state changed',
    });
  if (engine.status === 'running' && engine.applied === wiring.digest)
    steps.push(...destructSteps(spec, world.processes), ...board.after);
  const ready = steps.length === 0 && engine.status === 'running' && allRun(spec, world);
  if (ready) return { steps, observed: report(world, null, spec.generation, 'converged'), wait_ms: null };
  const why =
    engine.status === 'failed' ? { message: engine.error ?? 'the engine failed', instance_id: null } : failure;
  const refused = why ? null : refusedOnBoard(spec, world.boards);
  const state = failure?.generation === spec.generation || refused ? 'failed' : 'progressing';
  return { steps, observed: report(world, why ?? refused, null, state), wait_ms: started.wait_ms };
}

function wire(spec: NodeSpec, { engine, process_nfs, boards }: World): Wiring {
  spec.instances.forEach(({ driver, nf, id }, i) => {
    if (driver === 'process' && !process_nfs.includes(nf))
      throw new CompileError(`/instances/${i}/nf`, `no process NF ${nf} here; there are ${process_nfs.join(', ')}`, id);
  });
  checkBoards(spec, boards);
  const { graph, probes } = compile(spec, engine, boardEnds(spec, boards));
  const instances = new Map(spec.instances.map((instance) => [instance.id, digestOf(instance)]));
  return { graph, probes, instances, digest: digestOf(graph) };
}

function startSteps({ engine, now_ms }: World): { steps: Step[]; wait_ms: number | null } {
  if (engine.status === 'running' || engine.status === 'starting') return { steps: [], wait_ms: null };
  // An engine that lost its control socket is being ended; its end is heard.
  if (engine.pid !== null) return { steps: [], wait_ms: null };
  if (engine.start_not_before_ms > now_ms) return { steps: [], wait_ms: engine.start_not_before_ms - now_ms };
  return {
    steps: [{ kind: 'start-engine', reason: engine.error ?? 'desired state needs a data plane' }],
    wait_ms: null,
  };
}

function deploySteps(spec: NodeSpec, processes: World['processes']): Step[] {
  const wanted = spec.instances.filter(({ driver }) => driver === 'process');
  const deploy = wanted.filter(({ id }) => !processes.has(id));
  const configure = wanted.filter((instance) => {
    const found = processes.get(instance.id);
    return found !== undefined && found.digest !== processDigest(instance);
  });
  if (deploy.length + configure.length === 0) return [];
  const reason = [...deploy, ...configure].map(({ id }) => id).join(', ');
  return [{ kind: 'realize', driver: 'process', change: { ...noChange, deploy, configure }, reason }];
}

function destructSteps(spec: NodeSpec, processes: World['processes']): Step[] {
  const wanted = new Set(spec.instances.filter(({ driver }) => driver === 'process').map(({ id }) => id));
  const destruct = [...processes.keys()].filter((id) => !wanted.has(id));
  if (destruct.length === 0) return [];
  const change = { ...noChange, destruct };
  return [{ kind: 'realize', driver: 'process', change, reason: 'no longer desired' }];
}

function allRun(spec: NodeSpec, { processes, boards }: World): boolean {
  return spec.instances.every(({ id, driver }) => {
    if (driver === 'process') return processes.get(id)?.state === 'running';
    const onBoard = boards.instances.get(id);
    return driver === 'engine' || (onBoard?.state === 'running' && onBoard.ends !== null);
  });
}

function report(
  world: World,
  failure: Pick<Failure, 'message' | 'instance_id'> | null,
  generation: number | null,
  state: Observed['state'],
): Observed {
  const { spec, engine, processes, boards } = world;
  const instances: Observed['instances'] = (spec?.instances ?? []).map((instance) => ({
    id: instance.id,
    ...instanceState(instance, world, failure),
  }));
  const wanted = new Set(instances.map(({ id }) => id));
  for (const id of [...processes.keys(), ...boards.instances.keys()])
    if (!wanted.has(id)) instances.push({ id, state: 'stopping', detail: null });
  return {
    generation: generation ?? world.converged,
    state,
    engine: engine.status,
    engine_pid: engine.pid,
    instances,
    boards: [...boards.observed],
    error: failure?.message ?? null,
  };
}

function instanceState(
  { id, driver }: InstanceSpec,
  { engine, processes, boards }: World,
  failure: Pick<Failure, 'message' | 'instance_id'> | null,
): Pick<Observed['instances'][number], 'state' | 'detail'> {
  if (failure?.instance_id === id) return { state: 'failed', detail: failure.message };
  if (engine.status === 'failed') return { state: 'failed', detail: engine.error };
  const hosted = driver === 'process' ? processes.get(id) : boards.instances.get(id);
  if (driver !== 'engine' && hosted?.state !== 'running')
    return { state: hosted?.state ?? 'pending', detail: hosted?.detail ?? null };
  if (engine.status === 'running' && engine.instances.has(id)) return { state: 'running', detail: null };
  return { state: engine.status === 'starting' ? 'starting' : 'pending', detail: hosted?.detail ?? null };
}
