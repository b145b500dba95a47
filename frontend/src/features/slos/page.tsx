import { SegmentedControl } from '@mantine/core';
import type { SloStatus } from '@orrery/contract';
import { IconTargetArrow } from '@tabler/icons-react';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { usePipelines } from '../../shared/api/queries.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { quantityOfUnit, quantityText } from '../../shared/format/quantity.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import { DetailPanel, Facts, WithDetail } from '../../shared/ui/detail-panel.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { PageBody, PageHeader, Panel } from '../../shared/ui/page-header.js';
import { RateText } from '../../shared/ui/rate-text.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { errorText, objectiveSeries, objectiveText, predictionError } from './objective.js';
import classes from './slos.module.css';
import { TargetBar } from './target-bar.js';

const keyOf = (slo: SloStatus) => `${slo.pipeline_id}/${slo.slo_id}`;

function ErrorText({ slo }: { readonly slo: SloStatus }) {
  const error = predictionError(slo);
  return (
    <span className={error === null ? 'muted' : undefined} title="Measured against predicted">
      {error === null ? '–' : errorText(error)}
    </span>
  );
}

export function Component() {
  const { query, rows } = useSloRows();
  const pipelines = usePipelines();
  const titleOf = useChainTitle();
  const [state, setState] = useUrlParam('state');
  const [selectedKey, select] = useUrlParam('slo');
  const definitionOf = (id: string) => pipelines.data?.find((pipeline) => pipeline.id === id)?.draft;
  const shown = rows.filter((slo) => state === '' || slo.state === state);
  const selected = rows.find((slo) => keyOf(slo) === selectedKey);
  const violated = rows.filter((slo) => slo.state === 'violated').length;

  return (
    <WithDetail
      detail={
        selected && (
          <DetailPanel
            key={selectedKey}
            label={`Objective ${selected.slo_id}`}
            title={`${titleOf(selected.pipeline_id)}: ${selected.slo_id}`}
            onClose={() => select(null)}
          >
            <Facts
              items={[
                ['State', <StatusBadge key="state" state={selected.state} />],
                [
                  'Chain',
                  <Link key="chain" to={chainPath(selected.pipeline_id)}>
                    {titleOf(selected.pipeline_id)}
                  </Link>,
                ],
                [
                  objectiveText(selected, definitionOf(selected.pipeline_id)),
                  quantityText(quantityOfUnit(selected.unit), selected.target),
                ],
                ['Predicted', quantityText(quantityOfUnit(selected.unit), selected.predicted)],
                ['Measured', quantityText(quantityOfUnit(selected.unit), selected.measured)],
                ['Error', <ErrorText key="error" slo={selected} />],
                ['Window', `${selected.window_s} s, ${selected.packets.toLocaleString()} packets`],
                ['Measured in', selected.origin === 'twin' ? <EmulatedMark key="origin" /> : 'real equipment'],
              ]}
            />
            <TimeSeriesChart
              title={selected.kind === 'latency' ? 'Latency' : 'Throughput'}
              quantity={quantityOfUnit(selected.unit)}
              series={objectiveSeries(selected)}
              threshold={selected.target}
              windowS={300}
              height={180}
              emulated={selected.origin === 'twin'}
              note="The dashed red line is the target."
            />
          </DetailPanel>
        )
      }
    >
      <PageHeader
        title="SLOs"
        description={
          rows.length === 0
            ? 'What running chains promise, what the plan predicted and what is measured.'
            : violated === 0
              ? `No objective of ${rows.length} is violated.`
              : `${violated} of ${rows.length} objectives ${violated === 1 ? 'is' : 'are'} violated.`
        }
      >
        <SegmentedControl
          aria-label="State"
          value={state}
          onChange={setState}
          data={[
            { value: '', label: 'All' },
            { value: 'violated', label: 'Violated' },
            { value: 'met', label: 'Met' },
            { value: 'no-data', label: 'No data' },
            { value: 'stale', label: 'Stale' },
          ]}
        />
      </PageHeader>
      <PageBody>
        <Panel flush>
          <QueryBoundary query={query}>
            {shown.length === 0 ? (
              <EmptyState
                icon={IconTargetArrow}
                title={state ? `No objective is “${state.replace('-', ' ')}”` : 'No running chain has an objective'}
              >
                {!state && (
                  <>
                    Add a latency or throughput objective to a <Link to="/chains">chain</Link> and deploy it.
                  </>
                )}
              </EmptyState>
            ) : (
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">Chain</th>
                    <th scope="col">Objective</th>
                    <th scope="col">State</th>
                    <th scope="col" className="number">
                      Target
                    </th>
                    <th scope="col" className="number">
                      Predicted
                    </th>
                    <th scope="col" className="number">
                      Measured
                    </th>
                    <th scope="col">Against target</th>
                    <th scope="col" className="number">
                      Error
                    </th>
                    <th scope="col" className="number">
                      Window
                    </th>
                    <th scope="col">Origin</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((slo) => {
                    const quantity = quantityOfUnit(slo.unit);
                    return (
                      <tr key={keyOf(slo)} data-clickable="true" data-selected={keyOf(slo) === selectedKey}>
                        <td className={classes.chain}>
                          <button type="button" className="row-link" onClick={() => select(keyOf(slo))}>
                            {titleOf(slo.pipeline_id)}
                          </button>
                        </td>
                        <td className={classes.objective}>{objectiveText(slo, definitionOf(slo.pipeline_id))}</td>
                        <td>
                          <StatusBadge state={slo.state} />
                        </td>
                        <td className="number">
                          <RateText quantity={quantity} value={slo.target} />
                        </td>
                        <td className="number">
                          <RateText quantity={quantity} value={slo.predicted} />
                        </td>
                        <td className="number">
                          <RateText quantity={quantity} value={slo.measured} stale={slo.state === 'stale'} />
                        </td>
                        <td>
                          <TargetBar slo={slo} />
                        </td>
                        <td className="number">
                          <ErrorText slo={slo} />
                        </td>
                        <td className="number">
                          {slo.window_s} s <span className="muted">{quantityText('count', slo.packets)} packets</span>
                        </td>
                        <td>{slo.origin === 'twin' ? <EmulatedMark /> : 'live'}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            )}
          </QueryBoundary>
        </Panel>
      </PageBody>
    </WithDetail>
  );
}
