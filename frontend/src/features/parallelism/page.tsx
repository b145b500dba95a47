import { Button } from '@mantine/core';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { IconArrowsSplit2 } from '@tabler/icons-react';
import { Link } from 'react-router';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { ChainDetail } from './chain-detail.js';
import type { ChainRow } from './chain-rows.js';
import { CHAIN_COLUMNS } from './columns.js';
import { type KnownChain, useKnownChains } from './use-chains.js';

/** Which chain is shown while none is chosen: the first that runs in parallel, or else the first that could gain by it. */
function firstOf(rows: readonly ChainRow[]): ChainRow | undefined {
  return rows.find(({ execution }) => execution === 'parallel') ?? rows.find(({ canGain }) => canGain) ?? rows[0];
}

export function Component() {
  const [chosen, choose] = useUrlParam('chain');
  const { chains, deployments, known, selected } = useKnownChains(
    (rows) => rows.find(({ id }) => id === chosen) ?? firstOf(rows),
  );
  const settings = useTableAddress();
  useSeededSamples(known.length > 0 ? [samplePrefix('chain')] : []);
  return (
    <>
      <PageHeader description={<Summary known={known} />} />
      <PageBody>
        <Panel>
          <DataTable
            label="Chains"
            query={chains.data && !deployments.data ? deployments : chains}
            settings={settings}
            cards={760}
            columns={CHAIN_COLUMNS}
            rows={known}
            rowKey={({ row }) => row.id}
            selectedKey={selected?.row.id ?? null}
            onSelect={({ row }) => choose(row.id)}
            empty={
              <EmptyState
                icon={IconArrowsSplit2}
                title="No chains yet"
                action={
                  <Button component={Link} to="/chains">
                    Draw a chain
                  </Button>
                }
              >
                A chain with two NFs or more may run in parallel: NFs that do not depend on each other work on copies of
                a packet at the same time.
              </EmptyState>
            }
          />
        </Panel>
        {selected && <ChainDetail key={selected.row.id} chain={selected} />}
      </PageBody>
    </>
  );
}

function Summary({ known }: { readonly known: readonly KnownChain[] }) {
  const running = known.filter(({ row }) => row.execution !== null);
  if (running.length === 0)
    return known.length === 0
      ? 'Chains whose NFs work on copies of a packet at the same time: what it gains, what it costs, and why.'
      : 'No chain is deployed. What a draft would gain by running in parallel is predicted when it is selected.';
  const parallel = running.filter(({ row }) => row.execution === 'parallel').length;
  const could = running.filter(({ row }) => row.execution === 'sequential' && row.canGain).length;
  return (
    <LastKnown word=" Stale.">
      {`${parallel} of ${running.length} running ${running.length === 1 ? 'chain runs' : 'chains run'} in parallel.`}
      {could > 0 && ` ${could === 1 ? 'One' : could}${parallel > 0 ? ' more' : ''} would be quicker so.`}
    </LastKnown>
  );
}
