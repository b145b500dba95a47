import { NumberInput } from '@mantine/core';
import { KeepFlows } from '@orrery/contract';
import { boundsOf, type Entry, numberProblem } from '../format/number.js';
import classes from './splits.module.css';

/** What is typed for the limits of flows in progress; a text is no number yet. */
export type LimitEntries = Readonly<Record<keyof KeepFlows, Entry>>;

const BOUNDS = {
  idle_timeout_s: boundsOf(KeepFlows.shape.idle_timeout_s.unwrap(), 's'),
  capacity: boundsOf(KeepFlows.shape.capacity.unwrap(), 'flows'),
} as const;
const FIELDS = [
  ['idle_timeout_s', 'Until idle for, s'],
  ['capacity', 'Flows tracked at most'],
] as const;

/** Whether all entries can be limits. */
export function areLimits(entries: LimitEntries | null): entries is KeepFlows | null {
  return entries === null || FIELDS.every(([name]) => !numberProblem(BOUNDS[name], entries[name]));
}

interface KeepLimitsProps {
  readonly entries: LimitEntries;
  readonly onChange: (entries: LimitEntries) => void;
}

/** How long, and of how many flows, an instance keeps those in progress. What cannot be a limit stays with the reason. */
export function KeepLimits({ entries, onChange }: KeepLimitsProps) {
  return (
    <div className={classes.typed}>
      {FIELDS.map(([name, label]) => (
        <NumberInput
          key={name}
          label={label}
          value={entries[name]}
          clampBehavior="none"
          error={numberProblem(BOUNDS[name], entries[name])}
          onChange={(value) => onChange({ ...entries, [name]: value })}
        />
      ))}
    </div>
  );
}
