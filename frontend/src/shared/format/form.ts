import type { NfDescriptor, NfInstance } from '@orrery/contract';

type Implementation = NfDescriptor['implementations'][number];
export type Driver = NfInstance['driver'];
/** Requested implementation of an NF. */
export type Form = Implementation['kind'];

export const FORM_NAMES: Readonly<Record<Form, string>> = {
  software: 'Software',
  container: 'Container',
  board: 'Board',
};

const DRIVER_WORDS: Readonly<Record<Driver, string>> = {
  engine: 'engine software',
  process: 'a separate process',
  container: 'a container',
  board: 'a board',
  switch: 'a switch',
};

/** What runs an instance: `engine software`, `a container` */
export function driverText(driver: Driver): string {
  return DRIVER_WORDS[driver];
}

export function formOfDriver(driver: Driver): Form {
  return driver === 'container' || driver === 'board' ? driver : 'software';
}

/** Whether the latency of the NF is measured: only the engine takes timestamps before and after an NF. */
export function measuresLatency(driver: Driver): boolean {
  return driver === 'engine';
}

type Placed = Pick<NfInstance, 'driver' | 'slot' | 'server' | 'core'>;

/** Within its server: `core 2`, `container` or `board-1 slot 0`; `switch` */
export function spotText({ driver, slot, core }: Pick<Placed, 'driver' | 'slot' | 'core'>): string {
  if (driver === 'switch') return 'switch';
  if (slot) return `${slot.board} slot ${slot.slot}`;
  return driver === 'container' ? 'container' : `core ${core}`;
}

/** `engine software on server-1, core 2`, `a container on server-1`, `board-1 slot 0 of server-1`, `leaf-1, switch` */
export function runsOnText({ driver, slot, server, core }: Placed): string {
  if (driver === 'switch') return `${server}, switch`;
  if (slot) return `${slot.board} slot ${slot.slot} of ${server}`;
  return `${driverText(driver)} on ${server}${driver === 'container' ? '' : `, core ${core}`}`;
}

const ORDER: readonly Form[] = ['software', 'container', 'board'];

/** The implementations that an NF can have, simplest first. */
export function formsOf(implementations: readonly Implementation[]): Form[] {
  return ORDER.filter((form) => implementations.some(({ kind }) => kind === form));
}

/** `software (engine), container, board` */
export function formsText(implementations: readonly Implementation[]): string {
  const texts = formsOf(implementations).map((form) => {
    const drivers = implementations.filter(({ kind }) => kind === form).map(({ driver }) => driver);
    return form === 'software' ? `software (${[...new Set(drivers)].join(', ')})` : form;
  });
  return texts.join(', ');
}
