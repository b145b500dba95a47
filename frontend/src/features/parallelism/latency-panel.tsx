import type { Execution } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import type { ReactNode } from 'react';
import { useNfInstances } from '../../shared/api/queries.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { errorText } from '../../shared/format/prediction.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { type BarRow, BarTable } from '../../shared/plan/bar-table.js';
import { REAL_BOARD, useOnEmulatedBoard } from '../../shared/plan/emulated-boards.js';
import type { PredictedLatency } from '../../shared/plan/predicted-latency.js';
import { otherExecution } from './chain-rows.js';
import { EXECUTION_WORDS } from './columns.js';
import { gainText, MeasuredGain, predictedGain } from './gain.js';
import type { MeasuredLatency } from './measured-latency.js';
import { useMeasuredNow } from './measured-now.js';
import classes from './parallelism.module.css';
import type { KnownChain } from './use-chains.js';

/** Latency in sequence and in parallel, predicted and measured, on one scale. */
export function LatencyPanel({ chain }: { readonly chain: KnownChain }) {
  const { row } = chain;
  const { data: instances } = useNfInstances();
  const isEmulated = instances?.some(({ chain_id, origin }) => chain_id === row.id && origin === 'twin') ?? false;
  const onEmulatedBoard = useOnEmulatedBoard()(row.id);
  const rows = [...predictedRows(chain), ...useMeasuredRows(chain)];
  if (rows.length === 0) return null;
  const gain = predictedGain(chain);
  return (
    <Panel
      title="Latency"
      actions={
        <span className={`${classes.gains} tabular`}>
          <span>Gain predicted {gain === null ? '–' : gainText(gain)}</span>
          <span>
            <MeasuredGain chain={chain} inline />
          </span>
        </span>
      }
    >
      <BarTable label={`Latency of ${row.title}`} head="Execution" rows={rows} />
      {onEmulatedBoard && <p className={classes.note}>Predictions are {REAL_BOARD}.</p>}
      {row.deployment && (
        <div className={classes.chartPad}>
          <TimeSeriesChart
            title="Measured latency"
            quantity="us"
            silence="No packets"
            windowS={300}
            height={140}
            emulated={isEmulated}
            series={[
              { key: sampleKey('chain', row.id, 'latency_p99_us'), label: 'p99' },
              { key: sampleKey('chain', row.id, 'latency_p50_us'), label: 'p50' },
            ]}
          />
        </div>
      )}
    </Panel>
  );
}

function predictedRows({ row, in: of }: KnownChain): BarRow[] {
  return (['sequential', 'parallel'] as const).flatMap((execution): BarRow[] => {
    const { predicted } = of[execution];
    if (predicted === null || predicted.p50_us === null) return [];
    return [
      barOf(
        `predicted ${execution}`,
        `Predicted ${EXECUTION_WORDS[execution]}, median`,
        predicted.p50_us,
        `99th percentile ${quantityText('us', predicted.p99_us)}`,
        row.execution === execution,
      ),
    ];
  });
}

/** What is measured now, and what was before the last change of execution. */
function useMeasuredRows({ row, in: of, measuredBefore, changed_ms }: KnownChain): BarRow[] {
  const now = useMeasuredNow(row.id, changed_ms);
  const { execution } = row;
  if (execution === null) return [];
  const other = otherExecution(execution);
  return [
    ...measuredRow('in the last half minute', execution, now, of[execution].predicted),
    ...measuredRow('in the minute before the change', other, measuredBefore, of[other].predicted),
  ];
}

function measuredRow(
  when: string,
  execution: Execution,
  measured: MeasuredLatency | null,
  predicted: PredictedLatency | null,
): BarRow[] {
  if (!measured) return [];
  const error = predicted?.p50_us ? measured.p50_us / predicted.p50_us - 1 : null;
  const p99 = `99th percentile ${quantityText('us', measured.p99_us)}`;
  return [
    barOf(
      `measured ${when}`,
      `Measured ${EXECUTION_WORDS[execution]} ${when}, median`,
      measured.p50_us,
      error === null
        ? p99
        : `${p99}; ${errorText(error)}${errorText(error) === 'as predicted' ? '' : ' than predicted'}`,
      false,
    ),
  ];
}

function barOf(id: string, name: string, us: number, note: ReactNode, chosen: boolean): BarRow {
  return {
    id,
    chosen,
    label: (
      <>
        <div>{name}</div>
        <div className="muted">{note}</div>
      </>
    ),
    parts: [{ name: 'Latency', value: us, text: quantityText('us', us) }],
  };
}
