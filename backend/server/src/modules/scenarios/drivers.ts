import type { SwitchNode } from '@orrery/contract';
import type { Api } from './api-caller.js';

export type Driver = SwitchNode['driver'];

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

/** Gives switches other drivers; those that are not named, or are not there any more, stay as they are. */
export async function setDrivers(api: Api, drivers: Readonly<Record<string, Driver>>): Promise<void> {
  const now = await api.call('getInfrastructure');
  const switches = now.switches.map((each) => ({ ...each, driver: drivers[each.id] ?? each.driver }));
  if (switches.some(({ driver }, i) => driver !== now.switches[i]!.driver))
    await api.call('putInfrastructure', { body: { ...now, switches } });
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
