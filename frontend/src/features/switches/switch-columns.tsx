import type { SwitchState } from '@orrery/contract';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import {
  AROUND_LOST,
  DRIVER_TITLES,
  hasReached,
  installedText,
  isReportCurrent,
  switchHealth,
  usedShare,
} from '../../shared/switches/switch-text.js';
import type { Column } from '../../shared/table/column.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './switches.module.css';

export const SWITCH_COLUMNS: readonly Column<SwitchState>[] = [
  { id: 'switch', title: 'Switch', value: ({ id }) => id },
  {
    id: 'state',
    title: 'State',
    value: (each) => switchHealth(each).text,
    cell: (each) => {
      const { status, text } = switchHealth(each);
      return (
        <>
          <StatusBadge state={text} status={status} />
          {each.lost && <span className={classes.small}>{AROUND_LOST}</span>}
          {each.changing && <span className={classes.small}>{each.changing}</span>}
          {each.observed?.error && <span className={classes.small}>{each.observed.error}</span>}
        </>
      );
    },
  },
  {
    id: 'driver',
    title: 'Driver',
    value: ({ description }) => driverText(description?.driver),
    cell: ({ description }) => (
      <>
        {driverText(description?.driver) ?? '–'}
        {description?.software && <span className={classes.small}>{description.software}</span>}
      </>
    ),
  },
  {
    id: 'installed',
    title: 'Entries installed',
    hint: 'Entries that the switch holds, of those that are planned',
    number: true,
    value: ({ observed }) => observed?.entries,
    cell: (each) => (
      <span
        data-differs={(each.observed && each.observed.entries !== each.planned?.entries) || undefined}
        className={classes.installed}
      >
        <LastKnown word="" isOld={!isReportCurrent(each) && each.observed !== null}>
          {installedText(each)}
        </LastKnown>
      </span>
    ),
  },
  {
    id: 'used',
    title: 'Table used',
    hint: 'Planned entries as a part of all that the switch has room for',
    number: true,
    value: usedShare,
    cell: (each) => quantityText('share', usedShare(each)),
  },
  {
    id: 'repairs',
    title: 'Repairs',
    hint: 'How often the agent restored entries that something else had changed',
    number: true,
    value: ({ observed }) => observed?.repairs,
    cell: ({ observed }) => <LastKnown word="">{countText(observed?.repairs)}</LastKnown>,
  },
  {
    id: 'desired',
    title: 'Desired state',
    hidden: true,
    value: (each) => (hasReached(each) ? 'reached' : 'not reached yet'),
  },
  {
    id: 'origin',
    title: 'Origin',
    value: ({ origin }) => (origin === 'twin' ? 'emulated' : 'real'),
    cell: ({ origin }) => (origin === 'twin' ? <EmulatedMark /> : 'real equipment'),
  },
];

/** An agent may have a driver that this console does not know. */
function driverText(driver: string | undefined): string | undefined {
  return driver === undefined ? undefined : ((DRIVER_TITLES as Record<string, string>)[driver] ?? driver);
}
