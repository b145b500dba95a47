import { SegmentedControl } from '@mantine/core';
import type { SloStatus } from '@orrery/contract';
import { IconTargetArrow } from '@tabler/icons-react';
import { Fragment, useCallback, useMemo } from 'react';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { useChains, useDeployments, useSloAlerts } from '../../shared/api/queries.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { useOnEmulatedBoard } from '../../shared/plan/emulated-boards.js';
import { useDefinitions } from '../../shared/plan/running-definitions.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { WithDetail } from '../../shared/ui/detail-panel.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { Alerts } from './alerts.js';
import { objectiveColumns } from './columns.js';
import { objectiveText, summaryText, worstFirst } from './objective.js';
import { ObjectiveDetail } from './objective-detail.js';

const keyOf = (slo: Pick<SloStatus, 'chain_id' | 'slo_id'>) => `${slo.chain_id}/${slo.slo_id}`;

export function Component() {
  const { query, rows } = useSloRows();
  const chains = useChains();
  const titleOf = useChainTitle();
  const [state, setState] = useUrlParam('state');
  const [selectedKey, select] = useUrlParam('slo');
  const definitionOf = useDefinitions();
  const onEmulatedBoard = useOnEmulatedBoard();
  const { data: deployments } = useDeployments();
  const stateOf = useCallback(
    (id: string) => deployments?.find(({ chain_id }) => chain_id === id)?.state,
    [deployments],
  );
  const columns = useMemo(
    () => objectiveColumns({ titleOf, definitionOf, onEmulatedBoard, stateOf }),
    [titleOf, definitionOf, onEmulatedBoard, stateOf],
  );
  const settings = useTableAddress();
  const shown = worstFirst(rows.filter((slo) => state === '' || slo.state === state));
  const running = useMemo(
    () => new Map(rows.map((slo) => [keyOf(slo), objectiveText(slo, definitionOf(slo.chain_id))])),
    [rows, definitionOf],
  );
  const selected = rows.find((slo) => keyOf(slo) === selectedKey);
  const unjudged = (chains.data ?? []).filter(
    ({ id, draft, deployed_version }) =>
      deployed_version !== null &&
      draft.class_slos.some((slo) => !rows.some(({ chain_id, slo_id }) => chain_id === id && slo_id === slo.id)),
  );
  const { data: alerts } = useSloAlerts();
  const open = new Set(alerts?.filter(({ state: is }) => is === 'open').map(keyOf));
  const burning = rows.filter((slo) => open.has(keyOf(slo))).length;

  return (
    <WithDetail
      detail={
        selected && (
          <ObjectiveDetail
            key={selectedKey}
            slo={selected}
            definition={definitionOf(selected.chain_id)}
            chainState={stateOf(selected.chain_id)}
            onClose={() => select(null)}
          />
        )
      }
    >
      <PageHeader
        description={
          rows.length === 0 ? (
            'The objectives of running chains: target, prediction of the plan and measurement.'
          ) : (
            <LastKnown word=" Stale.">{summaryText(rows, burning)}</LastKnown>
          )
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
            { value: 'warming-up', label: 'Warming up' },
            { value: 'no-data', label: 'No data' },
            { value: 'stale', label: 'Stale' },
          ]}
        />
      </PageHeader>
      <PageBody>
        <Alerts running={running} />
        <Panel>
          <DataTable
            label="Objectives"
            query={query}
            settings={settings}
            cards={620}
            columns={columns}
            rows={shown}
            rowKey={keyOf}
            selectedKey={selectedKey}
            onSelect={(slo) => select(keyOf(slo))}
            empty={
              <EmptyState
                icon={IconTargetArrow}
                title={state ? `No objective is “${state.replace('-', ' ')}”` : 'No running chain has an objective'}
              >
                {!state && (
                  <>
                    Add an objective to a <Link to="/chains">chain</Link> and deploy it.
                  </>
                )}
              </EmptyState>
            }
          />
        </Panel>
        {unjudged.length > 0 && (
          <p className="muted">
            Not judged: the objectives between classes of{' '}
            {unjudged.map((chain, index) => (
              <Fragment key={chain.id}>
                {index > 0 && ', '}
                <Link to={chainPath(chain.id)}>{chain.draft.title}</Link>
              </Fragment>
            ))}
            . They are not in the version that runs, or the chain has too many paths to tell its classes apart.
          </p>
        )}
      </PageBody>
    </WithDetail>
  );
}
