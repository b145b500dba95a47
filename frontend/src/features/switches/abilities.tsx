import type { SwitchState } from '@orrery/contract';
import { countText } from '../../shared/format/number.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { Facts } from '../../shared/ui/detail-panel.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { useNeighbours } from './ports.js';
import classes from './switches.module.css';

type TableUse = NonNullable<SwitchState['planned']>['tables'][number];
type Port = NonNullable<SwitchState['observed']>['ports'][number];

const TABLE_COLUMNS: readonly Column<TableUse>[] = [
  { id: 'table', title: 'Table', value: ({ table }) => table },
  { id: 'entries', title: 'Entries planned', number: true, value: ({ entries }) => entries },
  {
    id: 'available',
    title: 'Size',
    number: true,
    value: ({ available }) => available,
    cell: ({ available }) => (available === null ? 'that of the switch' : countText(available)),
  },
];

const portColumns = (neighbours: ReadonlyMap<string, string>): readonly Column<Port>[] => [
  { id: 'port', title: 'Port', value: ({ name }) => name },
  { id: 'neighbour', title: 'Connected to', value: ({ name }) => neighbours.get(name) },
  { id: 'number', title: 'Number', number: true, value: ({ number }) => number },
  {
    id: 'state',
    title: 'State',
    value: ({ up }) => (up ? 'up' : 'down'),
    cell: ({ up, number }) => <StatusBadge state={number === null ? 'absent' : up ? 'up' : 'down'} />,
  },
];

const yesNo = (can: boolean) => (can ? 'yes' : 'no');
const listText = (items: readonly string[]) => (items.length > 0 ? items.join(', ') : 'none');

/** What the driver of a switch declares, the room in its tables, and its ports. */
export function Abilities({ state }: { readonly state: SwitchState }) {
  const { description, planned, observed } = state;
  const neighbours = useNeighbours(state.id);
  return (
    <div className={classes.abilities}>
      <section aria-label="Abilities">
        {description ? <AbilityFacts {...description.abilities} /> : <EmptyState title="Its agent never connected" />}
      </section>
      {planned && (
        <DataTable label="Tables" columns={TABLE_COLUMNS} rows={planned.tables} rowKey={({ table }) => table} />
      )}
      {observed && observed.ports.length > 0 && (
        <DataTable label="Ports" columns={portColumns(neighbours)} rows={observed.ports} rowKey={({ name }) => name} />
      )}
    </div>
  );
}

function AbilityFacts({
  match,
  groups,
  ipv6,
  meters,
  mirror,
  rewrite,
}: NonNullable<SwitchState['description']>['abilities']) {
  return (
    <Facts
      items={[
        ...Object.entries(match).map(
          ([field, { kind, negation }]) =>
            [`Match ${field}`, `${kind === 'mask' ? 'any mask' : kind}${negation ? ', negated' : ''}`] as const,
        ),
        ['Rewrite', listText(rewrite)],
        ['Select groups by', listText(groups.select)],
        ['Fast failover', yesNo(groups.fast_failover)],
        ['IPv6 forwarding', yesNo(ipv6)],
        ['Meters', yesNo(meters)],
        ['Mirror', yesNo(mirror)],
      ]}
    />
  );
}
