import { ActionIcon, SegmentedControl, Tooltip } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { quantityText } from '../../../shared/format/quantity.js';
import { clockText } from '../../../shared/format/time.js';
import { EmulatedMark } from '../../../shared/ui/emulated-mark.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { useEditorContext } from '../editor/context.js';
import classes from './live-panel.module.css';
import { SloTable } from './slo-table.js';
import { TimeChart } from './time-chart.js';
import { type Table, tableAt, toCsv, useHistory } from './use-history.js';

/** What the deployed chain does now: rate and latency on one time axis, objectives beside them. */
export default function LivePanel() {
  const { pipeline, placed } = useEditorContext();
  const [view, setView] = useState('chart');
  const keys = useMemo(
    () => ['pps', 'latency_p50_us', 'latency_p99_us'].map((metric) => `pipeline/${pipeline.id}/${metric}`),
    [pipeline.id],
  );
  const table = useHistory(keys);
  if (pipeline.deployed_version === null) {
    return (
      <EmptyState title="The chain is not deployed">
        Its rate, latency and objectives are shown here once it is.
      </EmptyState>
    );
  }
  const emulated = [...placed.values()].flat().some((instance) => instance.origin === 'twin');
  const download = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([toCsv(table, keys)], { type: 'text/csv' }));
    link.download = `${pipeline.draft.name}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <div className={classes.panel}>
      <div className={classes.charts}>
        <div className={classes.head}>
          <strong>Last five minutes</strong>
          {emulated && <EmulatedMark />}
          <SegmentedControl
            className={classes.view}
            aria-label="Show as"
            value={view}
            onChange={setView}
            data={[
              { value: 'chart', label: 'Chart' },
              { value: 'table', label: 'Table' },
            ]}
          />
          <Tooltip label="Download as CSV">
            <ActionIcon aria-label="Download as CSV" onClick={download}>
              <IconDownload size={14} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </div>
        {view === 'chart' ? (
          <>
            <TimeChart
              table={table}
              group={pipeline.id}
              quantity="pps"
              label="Packets a second that leave the chain"
              series={[{ index: 0, title: 'Rate', color: 'series-1', fill: true }]}
            />
            <TimeChart
              table={table}
              group={pipeline.id}
              quantity="us"
              label="Latency from the first engine to the exit"
              series={[
                { index: 1, title: 'Latency p50', color: 'series-3' },
                { index: 2, title: 'Latency p99', color: 'series-2' },
              ]}
            />
          </>
        ) : (
          <ValueTable table={table} />
        )}
      </div>
      <SloTable />
    </div>
  );
}

/** One row a second, the newest first. */
function ValueTable({ table }: { readonly table: Table }) {
  const rows = tableAt(table, 1000).slice(0, 300);
  if (rows.length === 0) return <p className={classes.empty}>No samples yet.</p>;
  return (
    <div className={classes.tableFrame}>
      <table className="table" aria-label="Measured values">
        <thead>
          <tr>
            <th>Time</th>
            <th className="number">Rate</th>
            <th className="number">Latency p50</th>
            <th className="number">Latency p99</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([t, pps, p50, p99]) => (
            <tr key={t}>
              <td>{clockText(t)}</td>
              <td className="number">{quantityText('pps', pps)}</td>
              <td className="number">{quantityText('us', p50)}</td>
              <td className="number">{quantityText('us', p99)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
