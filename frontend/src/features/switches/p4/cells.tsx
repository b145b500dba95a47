import { NumberInput, Select, Switch } from '@mantine/core';
import type { P4Content } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { callFull } from '../../../shared/api/client.js';
import type { Column } from '../../../shared/table/column.js';
import { DataTable } from '../../../shared/table/data-table.js';
import { EmptyState } from '../../../shared/ui/states.js';
import classes from './p4.module.css';

const POLL_MS = 2000;
/** Of one request. */
const MOST_CELLS = 256;

type Cell = { index: number; packets?: number; bytes?: number; value?: string };

const COLUMNS: readonly Column<Cell>[] = [
  { id: 'index', title: 'Index', number: true, value: ({ index }) => index },
  { id: 'packets', title: 'Packets', number: true, value: ({ packets }) => packets ?? null },
  { id: 'bytes', title: 'Bytes', number: true, value: ({ bytes }) => bytes ?? null },
  { id: 'value', title: 'Value', className: classes.code, value: ({ value }) => value ?? null },
];

const isUsed = ({ packets = 0, value = '0x0' }: Cell) => packets > 0 || value !== '0x0';

/** Cells of counters and registers, a part at a time. */
export function Cells({ switchId, arrays }: { readonly switchId: string; readonly arrays: P4Content['arrays'] }) {
  const [name, setName] = useState(arrays[0]!.name);
  const [from, setFrom] = useState<number | string>(0);
  const [used, setUsed] = useState(true);
  const array = arrays.find((one) => one.name === name) ?? arrays[0]!;
  const start = typeof from === 'number' ? from : 0;
  const query = useQuery({
    queryKey: ['p4-entries', switchId, 'cells', array.kind, array.name, start],
    refetchInterval: POLL_MS,
    retry: false,
    queryFn: async ({ signal }) => {
      const asked = { kind: array.kind, name: array.name, from: start, count: MOST_CELLS };
      return (await callFull('readP4Cells', { params: { id: switchId }, query: asked }, { signal })).data.cells;
    },
  });
  return (
    <section className={classes.table} aria-label="Counters and registers">
      <h3 className={classes.title}>Counters and registers</h3>
      <div className={classes.cells}>
        <Select
          label="Array"
          size="xs"
          allowDeselect={false}
          data={arrays.map(({ name: value, kind, size }) => ({ value, label: `${value} (${kind}, ${size} cells)` }))}
          value={array.name}
          onChange={(value) => value && setName(value)}
        />
        <NumberInput
          label="From index"
          size="xs"
          w={110}
          min={0}
          max={Math.max(0, array.size - 1)}
          step={MOST_CELLS}
          value={from}
          onChange={setFrom}
        />
        <Switch
          label="Only those that are not zero"
          checked={used}
          onChange={({ currentTarget }) => setUsed(currentTarget.checked)}
        />
      </div>
      <DataTable
        label={`Cells of ${array.name}`}
        query={query}
        columns={COLUMNS}
        rows={(query.data ?? []).filter((cell) => !used || isUsed(cell))}
        rowKey={({ index }) => String(index)}
        empty={<EmptyState title={used ? 'Every cell here is zero' : 'No cell'} />}
      />
    </section>
  );
}
