import type { SwitchNode } from '@orrery/contract';
import { expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { type Api, ChangedMeanwhile } from './api-caller.js';
import { changeDrivers, type Driver, type Waiting } from './drivers.js';

const LEAF = RACK.switches[0]!.id;
const running = { state: 'PROCESSING', set_aside: null };
const aside = { state: 'FAILED_TEMP', set_aside: 'its agent is away' };

/** An API whose operations that change drivers come about at the third look; others deploy `meanwhile` plans are made. */
function apiWith({ meanwhile = 0, before = [] as object[], feasible = true, ends = 'COMPLETED' } = {}) {
  const drivers = new Map<string, Driver>(RACK.switches.map(({ id, driver }) => [id, driver]));
  const calls: string[] = [];
  const others = [...before];
  let stale = meanwhile;
  let looks = 0;
  let asked: { switch: string; driver: Driver }[] = [];
  const switches = (): SwitchNode[] => RACK.switches.map((each) => ({ ...each, driver: drivers.get(each.id)! }));
  const answers: Record<string, (body: never) => unknown> = {
    listOperations: () => ({ items: others.splice(0, 1) }),
    getInfrastructure: () => ({ ...RACK, switches: switches() }),
    listSwitches: () => ({ items: RACK.switches.map(({ id }) => ({ id, connected: true })) }),
    createPlan: (body: { switch_drivers: typeof asked }) => {
      asked = body.switch_drivers;
      return { id: 'plan-1', feasible, problems: [], conflicts: [{ constraint: 'switch-table', where: LEAF }] };
    },
    createDeployment: () => {
      if (stale-- > 0) throw new ChangedMeanwhile('Something else was deployed meanwhile: plan again.');
      return { id: 'op-1' };
    },
    getOperation: () => {
      if (++looks < 3) return { state: 'PROCESSING' };
      if (ends === 'COMPLETED') for (const choice of asked) drivers.set(choice.switch, choice.driver);
      return { state: ends, error: { detail: 'leaf-1 does not run p4 within 30 s' } };
    },
  };
  const call = async (name: string, { body }: { body?: never } = {}) => {
    calls.push(name);
    return answers[name]!(body as never);
  };
  return { api: { call } as unknown as Api, drivers, calls };
}

const waiting: Waiting = async (what, holds) => {
  for (let tries = 0; !(await holds()); tries++) if (tries > 9) throw new Error(`did not happen: ${what}`);
};

it('plans a change of drivers once nothing is under way, and waits until it is carried out', async () => {
  const { api, drivers, calls } = apiWith({ before: [running, running, aside] });
  await changeDrivers(api, { [LEAF]: 'p4', gone: 'p4' }, waiting);
  expect(drivers.get(LEAF)).toBe('p4');
  expect(calls.indexOf('createPlan')).toBeGreaterThan(calls.lastIndexOf('listOperations'));
  expect(calls.filter((name) => name === 'listOperations')).toHaveLength(3);
  expect(calls).not.toContain('putInfrastructure');
});

it('plans nothing where the switches have their drivers', async () => {
  const { api, calls } = apiWith();
  await changeDrivers(api, { [LEAF]: RACK.switches[0]!.driver }, waiting);
  expect(calls).not.toContain('createPlan');
});

it('plans again where something else was deployed meanwhile, but not for ever', async () => {
  const { api, drivers } = apiWith({ meanwhile: 2 });
  await changeDrivers(api, { [LEAF]: 'p4' }, waiting);
  expect(drivers.get(LEAF)).toBe('p4');
  const busy = apiWith({ meanwhile: 100 });
  await expect(changeDrivers(busy.api, { [LEAF]: 'p4' }, waiting)).rejects.toThrow('Something else was deployed');
});

it('tells why drivers cannot be changed, or were given back', async () => {
  const full = apiWith({ feasible: false });
  await expect(changeDrivers(full.api, { [LEAF]: 'p4' }, waiting)).rejects.toThrow(`${LEAF}: switch-table`);
  const doomed = apiWith({ ends: 'ROLLED_BACK' });
  await expect(changeDrivers(doomed.api, { [LEAF]: 'p4' }, waiting)).rejects.toThrow('does not run p4 within 30 s');
});
