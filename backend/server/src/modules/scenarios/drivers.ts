import type { SwitchNode } from '@orrery/contract';
import { isOver } from '../../ports/operation-log.js';
import { type Api, ChangedMeanwhile, MOST_ATTEMPTS } from './api-caller.js';
import { isCarriedOut, requireFeasible } from './carried-out.js';

export type Driver = SwitchNode['driver'];

/** Of a change of drivers, or its way back, on a busy machine. */
const CHANGE_S = 180;
/** A driver that the machine may lack, by the capability that tells so. */
const CAPABILITIES: Partial<Record<Driver, string>> = { p4: 'p4-switch', bmv2: 'bmv2' };

/** Why switches of the twin cannot have the driver; null: they can. */
export async function whyNot(api: Api, driver: Driver): Promise<string | null> {
  const wanted = CAPABILITIES[driver];
  if (!wanted) return null;
  const { items } = await api.call('listCapabilities', { query: { limit: 1000 } });
  const found = items.find(({ id }) => id === wanted);
  return found?.available ? null : (found?.detail ?? `the twin has no switches of the driver ${driver}`);
}

/** Of the switches of the twin, by switch. */
export async function driversNow(api: Api): Promise<Record<string, Driver>> {
  const { switches } = await api.call('getInfrastructure');
  return Object.fromEntries(switches.flatMap(({ id, origin, driver }) => (origin === 'twin' ? [[id, driver]] : [])));
}

/** Polls until it holds; rejects in time. */
export type Waiting = (what: string, holds: () => Promise<boolean>) => Promise<unknown>;

type Until = (what: string, seconds: number, probe: () => Promise<true | null>) => Promise<unknown>;

/** In a step of a scenario. */
export const patiently =
  ({ until }: { readonly until: Until }): Waiting =>
  (what, holds) =>
    until(what, CHANGE_S, async () => ((await holds()) ? true : null));

/**
 * Gives switches of the twin other drivers by a plan, as users do; resolves when it is carried out. Those that are not named, or
 * are not there any more, stay as they are.
 */
export async function changeDrivers(
  api: Api,
  drivers: Readonly<Record<string, Driver>>,
  waiting: Waiting,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await waiting('the end of every operation', () => isNothingUnderWay(api));
    const now = await driversNow(api);
    const differs = (id: string) => now[id] !== undefined && now[id] !== drivers[id];
    const choices = Object.entries(drivers).flatMap(([id, driver]) => (differs(id) ? [{ switch: id, driver }] : []));
    if (choices.length === 0) return;
    const known = () => areConnected(api, choices);
    await waiting(`the agents of ${choices.map((choice) => choice.switch).join(', ')}`, known);
    const plan = await api.call('createPlan', { body: { switch_drivers: choices } });
    requireFeasible(plan);
    try {
      const { id } = await api.call('createDeployment', { body: { plan_id: plan.id } });
      await waiting('the change of the drivers', () => isCarriedOut(api, id));
      return;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

/** In the topology alone, while the twin is off: no operation can change what does not run. */
export async function nameDrivers(api: Api, drivers: Readonly<Record<string, Driver>>): Promise<void> {
  await api.changeInfrastructure((now) => ({
    ...now,
    switches: now.switches.map((each) => ({ ...each, driver: drivers[each.id] ?? each.driver })),
  }));
}

/** Operations that are set aside wait for something else and hold up nothing. */
async function isNothingUnderWay(api: Api): Promise<boolean> {
  const { items } = await api.call('listOperations', { query: { limit: 1000 } });
  return items.every((operation) => isOver(operation) || operation.set_aside !== null);
}

async function areConnected(api: Api, choices: readonly { readonly switch: string }[]): Promise<boolean> {
  const { items } = await api.call('listSwitches', { query: { limit: 1000 } });
  return choices.every((choice) => items.some(({ id, connected }) => id === choice.switch && connected));
}

/** Whether every switch runs the driver that it is to have, and holds what is planned. */
export async function areSettled(api: Api, drivers: Readonly<Record<string, Driver>>): Promise<boolean> {
  const { items } = await api.call('listSwitches', { query: { limit: 1000 } });
  return items
    .filter(({ id }) => id in drivers)
    .every(
      ({ id, connected, description, planned, observed }) =>
        connected &&
        description?.driver === drivers[id] &&
        observed?.state === 'converged' &&
        observed.generation === planned?.generation &&
        observed.entries === planned.entries,
    );
}
