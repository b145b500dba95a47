import { CloseButton, Select } from '@mantine/core';
import { SWITCH_TABLES, type SwitchEntryState } from '@orrery/contract';
import { useMemo } from 'react';
import { type ChainTitle, useChainTitle } from '../../shared/api/chains.js';
import { useSwitchEntries } from '../../shared/api/queries.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { measuredColumn } from '../../shared/table/quantity-column.js';
import { useLocalSettings } from '../../shared/table/table-settings.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { actionText, matchText } from './entry-text.js';
import { type PortText, portText, useNeighbours } from './ports.js';
import { kindText } from './rule-text.js';
import classes from './switches.module.css';

function entryColumns(titleOf: ChainTitle, port: PortText): readonly Column<SwitchEntryState>[] {
  const chainOf = ({ chain_id }: SwitchEntryState) => chain_id && titleOf(chain_id);
  const actionsOf = ({ actions }: SwitchEntryState) => actions.map((action) => actionText(action, port)).join(', ');
  return [
    { id: 'table', title: 'Table', value: ({ table }) => table },
    { id: 'priority', title: 'Priority', number: true, value: ({ priority }) => priority },
    { id: 'match', title: 'Match', className: classes.code, value: ({ match }) => matchText(match, port) },
    { id: 'actions', title: 'Actions', className: classes.code, value: actionsOf },
    { id: 'purpose', title: 'Purpose', value: kindText },
    { id: 'chain', title: 'Chain', value: chainOf },
    { id: 'rule', title: 'Rule', hidden: true, value: ({ rule_id }) => rule_id },
    measuredColumn({ id: 'packets', title: 'Packets', quantity: 'count', value: ({ packets }) => packets }),
    measuredColumn({ id: 'bytes', title: 'Bytes', quantity: 'bytes', value: ({ bytes }) => bytes }),
  ];
}

/** As the switch looks them up: table after table, the highest priority first. */
function inOrderOfLookup(a: SwitchEntryState, b: SwitchEntryState): number {
  return (
    SWITCH_TABLES.indexOf(a.table) - SWITCH_TABLES.indexOf(b.table) || b.priority - a.priority || a.index - b.index
  );
}

/** The entries of a switch in the order of its tables, or those of one rule, each with its counters. */
export function EntryTable({ switchId }: { readonly switchId: string }) {
  const [table, setTable] = useUrlParam('table');
  const [rule, setRule] = useUrlParam('rule');
  const query = useSwitchEntries(switchId, { table, rule_id: rule });
  const titleOf = useChainTitle();
  const settings = useLocalSettings();
  const neighbours = useNeighbours(switchId);
  const columns = useMemo(() => entryColumns(titleOf, portText(neighbours)), [titleOf, neighbours]);
  const entries = useMemo(() => [...(query.data ?? [])].sort(inOrderOfLookup), [query.data]);
  return (
    <>
      <div className={classes.filters}>
        <Select
          aria-label="Table"
          placeholder="All tables"
          clearable
          data={[...SWITCH_TABLES]}
          value={table || null}
          onChange={setTable}
        />
        {rule && (
          <span className={classes.chosen}>
            Rule {rule}
            <CloseButton size={20} aria-label="Show the entries of all rules" onClick={() => setRule(null)} />
          </span>
        )}
      </div>
      <DataTable
        label={`Entries of ${switchId}`}
        query={query}
        settings={settings}
        cards={620}
        columns={columns}
        rows={entries}
        rowKey={({ index }) => String(index)}
        empty={<EmptyState title={table || rule ? 'No entry matches' : 'Nothing is planned for this switch yet'} />}
      />
    </>
  );
}
