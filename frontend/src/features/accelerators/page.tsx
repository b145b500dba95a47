import { Button } from '@mantine/core';
import type { ReconfigurationPolicy } from '@orrery/contract';
import { IconPlus } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { nfKey } from '../../shared/api/chains.js';
import {
  useAccelerators,
  useBoardModules,
  useNfDescriptors,
  useNfInstances,
  useReconfigurationPolicies,
  useReconfigurations,
} from '../../shared/api/queries.js';
import { byServerClock, serverNow } from '../../shared/api/server-clock.js';
import { useMay } from '../../shared/api/session.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { PageTabs } from '../../shared/page/page-tabs.js';
import { WithDetail } from '../../shared/ui/detail-panel.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { notifyError } from '../../shared/ui/notify.js';
import { QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { Boards } from './board-panel.js';
import { useLaneEvents } from './lane-events.js';
import { foldLanes } from './lanes.js';
import { LentAccelerators } from './lent-accelerators.js';
import { ModuleTable } from './module-table.js';
import type { MoveStart } from './move-draft.js';
import { boardNfs } from './nfs.js';
import { PolicyTable } from './policy-table.js';
import { ReconfigurationTable } from './reconfiguration-table.js';
import { SelectedReconfiguration } from './selected-reconfiguration.js';
import { LONGEST_S, Timeline } from './timeline.js';

const MoveDialog = lazy(() => import('./move-dialog.js'));
const PolicyForm = lazy(() => import('./policy-form.js'));

const TABS = ['boards', 'lent', 'reconfigurations', 'policies', 'modules'] as const;
type Tab = (typeof TABS)[number];

export function Component() {
  const accelerators = useAccelerators();
  const reconfigurations = useReconfigurations();
  const policies = useReconfigurationPolicies();
  const modules = useBoardModules();
  const { data: instances } = useNfInstances();
  const { data: descriptors } = useNfDescriptors();
  const { events, error: logError } = useLaneEvents();
  const mayOperate = useMay('operator');
  const [tabParam, setTab] = useUrlParam('view');
  const [selectedId, select] = useUrlParam('reconfiguration');
  const [move, setMove] = useState<MoveStart | null>(null);
  // Other pages link here to move an NF to a slot.
  const [programmed, setProgrammed] = useUrlParam('program');
  const [edited, setEdited] = useState<ReconfigurationPolicy | 'new' | null>(null);
  const tab: Tab = TABS.find((each) => each === tabParam) ?? 'boards';

  const boards = accelerators.data;
  const nfs = useMemo(
    () => boardNfs(instances ?? [], descriptors ?? [], boards ?? []),
    [instances, descriptors, boards],
  );
  const known = boards !== undefined && instances !== undefined && descriptors !== undefined;
  useEffect(() => {
    if (!programmed || !known || !mayOperate) return;
    if (nfs.some((nf) => nfKey(nf) === programmed)) setMove({ to: 'board', slot: null, nf: programmed });
    else
      notifyError(
        'No slot can be programmed',
        new Error('The chosen NF is in no deployed chain, or boards cannot run it.'),
      );
    setProgrammed(null);
  }, [programmed, setProgrammed, known, mayOperate, nfs]);
  const readAt = accelerators.dataUpdatedAt;
  const lanes = useMemo(
    () => foldLanes(boards ?? [], byServerClock(readAt), events, serverNow() - LONGEST_S * 1000),
    [boards, readAt, events],
  );
  const moved = reconfigurations.data?.items ?? [];
  const running = moved.filter(({ state }) => state === 'running').length;
  const active = boards?.flatMap(({ slots }) => slots).filter(({ state }) => state === 'active').length ?? 0;
  const all = boards?.flatMap(({ slots }) => slots).length ?? 0;

  const views: Record<Tab, { title: string; view: ReactNode }> = {
    boards: { title: 'Boards', view: <Boards boards={boards ?? []} nfs={nfs} onMove={setMove} /> },
    lent: { title: 'Lent accelerators', view: <LentAccelerators /> },
    reconfigurations: {
      title: running > 0 ? `Reconfigurations (${running} running)` : 'Reconfigurations',
      view: (
        <Panel>
          <QueryBoundary query={reconfigurations}>
            <ReconfigurationTable items={moved} selectedId={selectedId} onSelect={select} />
          </QueryBoundary>
        </Panel>
      ),
    },
    policies: {
      title: 'Policies',
      view: (
        <Panel title="Policies" actions={<NewPolicy mayOperate={mayOperate} onClick={() => setEdited('new')} />}>
          <QueryBoundary query={policies}>
            <PolicyTable policies={policies.data ?? []} onEdit={setEdited} />
          </QueryBoundary>
        </Panel>
      ),
    },
    modules: {
      title: 'Modules',
      view: (
        <Panel>
          <QueryBoundary query={modules}>
            <ModuleTable modules={modules.data ?? []} descriptors={descriptors ?? []} />
          </QueryBoundary>
        </Panel>
      ),
    },
  };
  return (
    <WithDetail
      detail={selectedId && <SelectedReconfiguration key={selectedId} id={selectedId} onClose={() => select(null)} />}
    >
      <PageHeader
        description={
          all === 0 ? (
            'FPGA boards, what their slots run, and what moves NFs to and from them.'
          ) : (
            <LastKnown word=" Stale.">
              {`${active} of ${all} board slots ${active === 1 ? 'is' : 'are'} active${running > 0 ? `, ${running} reconfiguration${running === 1 ? '' : 's'} running` : ''}.`}
            </LastKnown>
          )
        }
      />
      <PageBody>
        <QueryBoundary query={accelerators} rows={10}>
          {boards && boards.length > 0 && (
            <Timeline
              boards={boards}
              nfs={known ? nfs : null}
              instances={instances ?? []}
              lanes={lanes}
              policies={policies.data ?? []}
              reconfigurations={moved}
              emulated={instances?.some(({ origin }) => origin === 'twin') ?? false}
            />
          )}
          {logError !== null && (
            <FormTrouble
              error={new Error('The history of the slots could not be read: lanes start when this page was opened.')}
              shown={[]}
            />
          )}
          <PageTabs
            label="Parts of the page"
            tabs={views}
            shown={tab}
            onShow={(next) => setTab(next === 'boards' ? null : next)}
          />
        </QueryBoundary>
      </PageBody>
      <Suspense fallback={null}>
        {move && (
          <MoveDialog
            start={move}
            boards={boards ?? []}
            nfs={nfs}
            onClose={() => setMove(null)}
            onStarted={(id) => {
              setMove(null);
              select(id);
            }}
          />
        )}
        {edited && (
          <PolicyForm
            policy={edited === 'new' ? null : edited}
            boards={boards ?? []}
            nfs={nfs}
            onClose={() => setEdited(null)}
          />
        )}
      </Suspense>
    </WithDetail>
  );
}

function NewPolicy({ mayOperate, onClick }: { readonly mayOperate: boolean; readonly onClick: () => void }) {
  return (
    <Button
      leftSection={<IconPlus size={14} />}
      disabled={!mayOperate}
      title={mayOperate ? undefined : 'Needs the role operator'}
      onClick={onClick}
    >
      New policy
    </Button>
  );
}
