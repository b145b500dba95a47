import type { DriverChange, Operation } from '@orrery/contract';

type Known = Pick<Operation, 'id' | 'state' | 'updated_ms' | 'by' | 'drivers'>;

/** An operation that changes the driver of one switch. */
export interface ChangeOfDriver extends DriverChange {
  readonly operation: Omit<Known, 'drivers'>;
}

const UNDER_WAY: readonly Operation['state'][] = ['PROCESSING', 'FAILED_TEMP', 'ROLLING_BACK'];
const CAME_ABOUT: readonly Operation['state'][] = ['COMPLETED', 'PARTIALLY_COMPLETED'];

/** The first change of the switch's driver that is under way, of operations that are listed newest first. */
export function changeUnderWay(operations: readonly Known[], id: string): ChangeOfDriver | null {
  return changesOf(operations.toReversed(), id).find(({ operation }) => UNDER_WAY.includes(operation.state)) ?? null;
}

/** The change that made the switch run its driver; null: none is known, or it was changed otherwise since. */
export function lastChange(operations: readonly Known[], id: string, driver: string): ChangeOfDriver | null {
  const last = changesOf(operations, id).find(({ operation }) => CAME_ABOUT.includes(operation.state));
  return last?.to === driver ? last : null;
}

function changesOf(operations: readonly Known[], id: string): ChangeOfDriver[] {
  return operations.flatMap((operation) =>
    operation.drivers.flatMap((change) => (change.switch === id ? [{ ...change, operation }] : [])),
  );
}
