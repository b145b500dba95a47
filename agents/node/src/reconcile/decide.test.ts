import type { InstanceSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { compile } from '../drivers/engine/compile.js';
import { digestOf, processDigest } from '../drivers/instance-digest.js';
import type { HostedView } from '../drivers/nf-driver.js';
import { allEnds, ENGINE_TRAITS, instance, linearChain, nodeSpec, output } from '../testing/specs.js';
import { decide, type World } from './decide.js';
import type { Step } from './steps.js';

const idle = {
  status: 'stopped' as const,
  pid: null,
  ...ENGINE_TRAITS,
  applied: null,
  instances: new Map<string, string>(),
  declared: [],
  start_not_before_ms: 0,
  error: null,
};
const up = { ...idle, status: 'running' as const, pid: 7 };

function world(over: Partial<World>): World {
  return {
    spec: linearChain(3),
    engine: up,
    hosted: processes(),
    boards: { kind: 'board', nfs: [], instances: new Map(), observed: [], unclaimed: [] },
    failure: null,
    troubles: [],
    element: () => null,
    converged: 2,
    now_ms: 1000,
    ...over,
  };
}

const brief = (steps: Step[]) =>
  steps.map((step) => {
    if (step.kind === 'start-engine') return 'start-engine';
    const { deploy, configure, destruct, wiring } = step.change;
    return [
      step.driver,
      ...deploy.map(({ id }) => `+${id}`),
      ...configure.map(({ id }) => `~${id}`),
      ...destruct.map((id) => `-${id}`),
      ...(wiring ? ['wiring'] : []),
    ].join(' ');
  });

function processes(instances: ReadonlyMap<string, HostedView> = new Map()): World['hosted'] {
  return [{ kind: 'process', instances, digest: processDigest }];
}

const running = (spec = linearChain(3)) => ({
  ...up,
  applied: digestOf(compile(spec, ENGINE_TRAITS, allEnds(spec)).graph),
  instances: new Map(spec.instances.map((one) => [one.id, digestOf(one)])),
});

const legacy = (id: string, over: Partial<InstanceSpec> = {}) =>
  instance(id, { nf: 'legacy-forwarder', driver: 'process', ...over });

const runs = (...instances: InstanceSpec[]) =>
  processes(
    new Map(
      instances.map((one): [string, HostedView] => [
        one.id,
        { digest: processDigest(one), state: 'running', detail: null, ends: endsOf(one) },
      ]),
    ),
  );

const endsOf = (one: InstanceSpec) => allEnds(nodeSpec({ instances: [one] })).get(one.id)!;

describe('decide', () => {
  it('does nothing before anything is desired', () => {
    const { steps, observed } = decide(world({ spec: null, engine: idle }));
    expect(steps).toEqual([]);
    expect(observed).toMatchObject({ generation: 0, state: 'converged', engine: 'stopped', instances: [] });
  });

  it('starts the engine, then applies the graph, then has converged', () => {
    expect(brief(decide(world({ engine: idle })).steps)).toEqual(['start-engine']);
    expect(decide(world({ engine: { ...idle, status: 'starting', pid: 7 } })).steps).toEqual([]);
    const second = decide(world({}));
    expect(brief(second.steps)).toEqual(['engine wiring']);
    expect(second.observed).toMatchObject({ generation: 2, state: 'progressing' });
    expect(second.observed.instances.map(({ state }) => state)).toEqual(['pending', 'pending', 'pending']);
    const third = decide(world({ engine: running() }));
    expect(third.steps).toEqual([]);
    expect(third.observed).toMatchObject({ generation: 3, state: 'converged', engine_pid: 7, error: null });
    expect(third.observed.instances.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
  });

  it('applies again when only the generation has changed, and still reports running instances as running', () => {
    const { steps, observed } = decide(world({ spec: linearChain(4), engine: running() }));
    expect(brief(steps)).toEqual(['engine wiring']);
    expect(observed.instances.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
  });

  it('delays a restart for as long as the engine backs off', () => {
    const engine = { ...idle, status: 'failed' as const, error: 'engine ended: signal SIGKILL' };
    const { steps, observed, wait_ms } = decide(world({ engine: { ...engine, start_not_before_ms: 1400 } }));
    expect([steps, wait_ms]).toEqual([[], 400]);
    expect(observed).toMatchObject({ engine: 'failed', error: 'engine ended: signal SIGKILL' });
    expect(brief(decide(world({ engine })).steps)).toEqual(['start-engine']);
    expect(decide(world({ engine: { ...engine, pid: 7 } }))).toMatchObject({ steps: [], wait_ms: null });
  });

  it('deploys processes before the graph refers to them and destructs them after', () => {
    const [old, kept, fresh] = [legacy('p.old.0'), legacy('p.kept.0'), legacy('p.new.0')];
    const changed = { ...kept, config: { rate: 2 } };
    const spec = nodeSpec({ generation: 3, instances: [changed, fresh] });
    const first = decide(world({ spec, hosted: runs(old, kept) }));
    expect(brief(first.steps)).toEqual(['process +p.new.0 ~p.kept.0']);
    expect(brief(decide(world({ spec, hosted: runs(old, changed, fresh) })).steps)).toEqual(['engine wiring']);
    const second = decide(world({ spec, engine: running(spec), hosted: runs(old, changed, fresh) }));
    expect(brief(second.steps)).toEqual(['process -p.old.0']);
    expect(second.observed.instances).toContainEqual({ id: 'p.old.0', state: 'stopping', detail: null });
    const [one] = runs(old, changed, fresh);
    const stopping = { digest: '', state: 'stopping' as const, detail: 'busy', ends: null };
    const going = { ...one!, instances: new Map([...one!.instances, ['p.old.0', stopping] as const]) };
    const waiting = decide(world({ spec, engine: running(spec), hosted: [going] }));
    expect(waiting).toMatchObject({ steps: [], observed: { state: 'progressing' } });
    expect(waiting.observed.instances).toContainEqual({ id: 'p.old.0', state: 'stopping', detail: 'busy' });
    const third = decide(world({ spec, engine: running(spec), hosted: runs(changed, fresh) }));
    expect(third.observed.state).toBe('converged');
  });

  it('starts the engine before anything beside it', () => {
    const spec = nodeSpec({ instances: [legacy('p.a.0')] });
    expect(brief(decide(world({ spec, engine: idle })).steps)).toEqual(['start-engine', 'process +p.a.0']);
  });

  it('applies a data plane for all but the instance whose NF is unknown', () => {
    const [known, unknown] = [legacy('p.a.0'), legacy('p.b.0', { nf: 'teapot' })];
    const spec = nodeSpec({ generation: 3, instances: [known, unknown] });
    const [one] = runs(known);
    const refused = { digest: processDigest(unknown), state: 'failed' as const, detail: 'no process NF teapot here' };
    const view: HostedView = { ...refused, permanent: true, ends: null };
    const hosted = [{ ...one!, instances: new Map([...one!.instances, ['p.b.0', view] as const]) }];
    const [step] = decide(world({ spec, hosted })).steps;
    expect(step).toMatchObject({ driver: 'engine' });
    if (step?.kind !== 'realize') return;
    const engine = { ...up, applied: step.change.wiring!.digest, instances: step.change.wiring!.instances };
    const { observed } = decide(world({ spec, engine, hosted }));
    expect(observed).toMatchObject({ state: 'failed', error: 'no process NF teapot here' });
    expect(observed.instances.map(({ state }) => state)).toEqual(['running', 'failed']);
  });

  it('leaves the engine unchanged when the spec needs a module that it does not have', () => {
    const copies = [1, 2].map((hop) => ({ ...output('lin.e1', { kind: 'hop', hop }), writes: false }));
    const mirror = { kind: 'mirror' as const, id: 'lin.mirror', chain_id: 'lin', core: 0, nested: false, copies };
    const spec = { ...linearChain(4), modules: [mirror] };
    const { steps, observed } = decide(world({ spec, engine: running(), converged: 3 }));
    expect(steps).toEqual([]);
    expect(observed).toMatchObject({
      generation: 3,
      state: 'failed',
      error: '/modules/0/kind: the engine cannot run lin.mirror: it has no module mirror',
    });
    expect(observed.instances.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
  });

  it('leaves a process alone if only its wiring changed', () => {
    const before = legacy('p.a.0');
    const after = { ...before, outputs: [], core: 1 };
    const spec = nodeSpec({ instances: [after] });
    expect(brief(decide(world({ spec, hosted: runs(before) })).steps)).toEqual(['engine wiring']);
  });

  it('has not converged while a process is down', () => {
    const one = legacy('p.a.0');
    const spec = nodeSpec({ instances: [one] });
    const down = { digest: processDigest(one), state: 'failed' as const, detail: 'ended', ends: endsOf(one) };
    const hosted = processes(new Map([['p.a.0', down]]));
    const { observed, steps } = decide(world({ spec, engine: running(spec), hosted }));
    expect(steps).toEqual([]);
    expect(observed).toMatchObject({ state: 'progressing', instances: [{ state: 'failed', detail: 'ended' }] });
  });

  it('leaves an instance without interfaces out of the data plane until they are back', () => {
    const one = legacy('p.a.0');
    const spec = nodeSpec({ instances: [one] });
    const lost = { digest: processDigest(one), state: 'failed' as const, detail: 'ended', ends: null };
    const { steps } = decide(world({ spec, engine: running(spec), hosted: processes(new Map([['p.a.0', lost]])) }));
    const [step] = steps;
    expect(step).toMatchObject({ driver: 'engine' });
    if (step?.kind === 'realize') expect(step.change.wiring?.graph.ports.map(({ name }) => name)).toEqual(['nic0']);
    const without = { ...up, applied: digestOf(compile(spec, ENGINE_TRAITS).graph) };
    expect(brief(decide(world({ spec, engine: without, hosted: runs(one) })).steps)).toEqual(['engine wiring']);
  });

  it('permanently fails what its host will never accept', () => {
    const one = legacy('p.a.0');
    const spec = nodeSpec({ generation: 3, instances: [one] });
    const why = 'bad rule';
    const refused = { digest: processDigest(one), state: 'failed' as const, detail: why, permanent: true, ends: null };
    const engine = { ...running(spec), applied: digestOf(compile(spec, ENGINE_TRAITS).graph) };
    const { observed } = decide(world({ spec, engine, hosted: processes(new Map([['p.a.0', refused]])) }));
    expect(observed).toMatchObject({ generation: 2, state: 'failed', error: why });
  });

  it('backs off after a failure, names the instance, and retries when it is due or the spec is new', () => {
    const failure = { generation: 3, message: 'bad rule', instance_id: 'lin.fw.0', not_before_ms: 1500 };
    const resting = decide(world({ failure }));
    expect([resting.steps, resting.wait_ms]).toEqual([[], 500]);
    expect(resting.observed).toMatchObject({ generation: 2, state: 'failed', error: 'bad rule' });
    expect(resting.observed.instances[0]).toEqual({ id: 'lin.fw.0', state: 'failed', detail: 'bad rule' });
    expect(brief(decide(world({ failure, now_ms: 1500 })).steps)).toEqual(['engine wiring']);
    expect(brief(decide(world({ failure, spec: linearChain(4) })).steps)).toEqual(['engine wiring']);
  });

  it('refuses a spec without a valid graph as a whole', () => {
    const spec = nodeSpec({ generation: 9, instances: [legacy('p.a.0'), instance('p.b.0', { nf: 'teapot' })] });
    const { steps, observed, wait_ms } = decide(world({ spec, engine: idle }));
    expect([steps, wait_ms]).toEqual([[], null]);
    expect(observed).toMatchObject({ generation: 2, state: 'failed' });
    expect(observed.error).toContain('/instances/1/nf');
  });
});
