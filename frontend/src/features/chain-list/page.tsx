import { Button } from '@mantine/core';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { IconHierarchy2, IconPlus } from '@tabler/icons-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { useChains } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { worstFirst } from '../../shared/chain/worst-first.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { useCommands } from '../../shared/ui/commands.js';
import { ConfirmDialog, type Question } from '../../shared/ui/confirm-dialog.js';
import { EmptyState } from '../../shared/ui/states.js';
import { chainColumns } from './columns.js';

const NewChain = lazy(() => import('./new-chain.js'));

export function Component() {
  const chains = useChains();
  const mayDesign = useMay('designer');
  const [creating, setCreating] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  useSeededSamples([samplePrefix('chain')]);
  useCommands(
    mayDesign
      ? [{ id: 'chains.new', title: 'New chain', group: 'Chains', keys: 'n', run: () => setCreating(true) }]
      : [],
  );
  const all = chains.data ?? [];
  const settings = useTableAddress();
  const columns = useMemo(() => chainColumns(setQuestion), []);
  const newButton = (
    <Button
      leftSection={<IconPlus size={14} aria-hidden />}
      disabled={!mayDesign}
      title={mayDesign ? undefined : 'Drawing chains needs the role designer.'}
      onClick={() => setCreating(true)}
    >
      New chain
    </Button>
  );
  return (
    <>
      <PageHeader
        description="Service chains: which traffic passes which network functions, in which order."
        actions={newButton}
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Chains"
            query={chains}
            settings={settings}
            cards={620}
            columns={columns}
            rows={worstFirst(all, ({ deployment_state }) => deployment_state)}
            rowKey={({ id }) => id}
            dataOf={({ draft }) => ({ 'data-chain': draft.name })}
            empty={
              <EmptyState icon={IconHierarchy2} title="No chains yet" action={newButton}>
                Start from a template and see it run in the twin a few seconds later, or draw your own.
              </EmptyState>
            }
          />
        </Panel>
      </PageBody>
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
      {creating && (
        <Suspense fallback={null}>
          <NewChain others={all.map(({ draft }) => draft)} onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </>
  );
}
