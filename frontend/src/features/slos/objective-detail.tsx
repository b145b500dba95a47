import type { ChainDefinition, Deployment, SloStatus } from '@orrery/contract';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { ChainState } from '../../shared/chain/chain-state.js';
import { causeText } from '../../shared/chain/class-objective-text.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { countText } from '../../shared/format/number.js';
import { carriedText, predictionText } from '../../shared/format/prediction.js';
import { quantityOfUnit, quantityText } from '../../shared/format/quantity.js';
import { REAL_BOARD, useOnEmulatedBoard } from '../../shared/plan/emulated-boards.js';
import { DetailPanel, Facts } from '../../shared/ui/detail-panel.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { MeasuredText } from '../../shared/ui/rate-text.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { ChainHops } from './chain-hops.js';
import { ErrorText } from './error-text.js';
import { HistoryCharts } from './history-charts.js';
import { objectiveSeries, objectiveText, targetNote } from './objective.js';
import { ObjectiveAlerts, ObjectiveBudget } from './objective-budget.js';
import classes from './slos.module.css';

interface ObjectiveDetailProps {
  readonly slo: SloStatus;
  readonly definition: ChainDefinition | undefined;
  readonly chainState: Deployment['state'] | undefined;
  readonly onClose: () => void;
}

export function ObjectiveDetail({ slo, definition, chainState, onClose }: ObjectiveDetailProps) {
  const titleOf = useChainTitle();
  const isOnEmulatedBoard = useOnEmulatedBoard()(slo.chain_id);
  const predicted = predictionText(slo);
  const series = objectiveSeries(slo, definition);
  return (
    <DetailPanel label={`Objective ${slo.slo_id}`} title={`${titleOf(slo.chain_id)}: ${slo.slo_id}`} onClose={onClose}>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={slo.state} />],
          [
            'Chain',
            <Link key="chain" to={chainPath(slo.chain_id)}>
              {titleOf(slo.chain_id)}
            </Link>,
          ],
          ...(chainState
            ? [
                [
                  'State of the chain',
                  <div key="of" className={classes.chainState}>
                    <ChainState chainId={slo.chain_id} state={chainState} />
                  </div>,
                ] as const,
              ]
            : []),
          [objectiveText(slo, definition), quantityText(quantityOfUnit(slo.unit), slo.target)],
          [
            slo.kind === 'throughput' ? 'Can carry' : 'Predicted',
            isOnEmulatedBoard ? `${predicted} ${REAL_BOARD}` : predicted,
          ],
          [
            'Measured',
            <MeasuredText
              key="measured"
              quantity={quantityOfUnit(slo.unit)}
              value={slo.measured}
              stale={slo.state === 'stale'}
              inText
            />,
          ],
          ...(slo.kind === 'throughput' || slo.kind === 'loss' || slo.kind === 'availability'
            ? [['Carried', carriedText(slo) ?? 'nothing is offered, or it is not counted'] as const]
            : [['Against prediction', <ErrorText key="error" slo={slo} />] as const]),
          ...(slo.cause === undefined ? [] : [['Because', causeText(slo.cause, definition)] as const]),
          ['Window', `${slo.window_s} s, ${countText(slo.packets)} packets`],
          ['Measured in', slo.origin === 'twin' ? <EmulatedMark key="origin" /> : 'real equipment'],
        ]}
      />
      {series.length > 0 && (
        <TimeSeriesChart
          title={slo.kind === 'latency' ? 'Latency' : 'Throughput'}
          quantity={quantityOfUnit(slo.unit)}
          series={series}
          threshold={slo.target}
          silence="No packets"
          windowS={300}
          height={180}
          emulated={slo.origin === 'twin'}
          note={targetNote(slo, definition)}
        />
      )}
      <ObjectiveBudget budget={slo.budget} />
      {slo.budget && <HistoryCharts slo={slo} />}
      {definition && <ChainHops chainId={slo.chain_id} chainName={definition.name} />}
      <ObjectiveAlerts chain_id={slo.chain_id} slo_id={slo.slo_id} />
    </DetailPanel>
  );
}
