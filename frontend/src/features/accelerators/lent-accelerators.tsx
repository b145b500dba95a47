import { Button } from '@mantine/core';
import type { LendingGroup } from '@orrery/contract';
import { IconPlus } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useLendingGroups } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { Panel } from '../../shared/page/page-header.js';
import { QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import classes from './accelerators.module.css';
import { LendingTable } from './lending-table.js';
import { LendingTurns } from './lending-turns.js';
import { MemberTable } from './member-table.js';

const LendingForm = lazy(() => import('./lending-form.js'));

/** Accelerators that VNFs take turns at (SSM): groups, and who held what when. */
export function LentAccelerators() {
  const groups = useLendingGroups();
  const mayOperate = useMay('operator');
  const [selectedId, select] = useUrlParam('group');
  const [edited, setEdited] = useState<LendingGroup | 'new' | null>(null);
  const selected = groups.data?.find(({ id }) => id === selectedId) ?? groups.data?.[0];
  return (
    <div className={classes.lent}>
      <Panel
        title="Lent accelerators"
        actions={
          <Button
            leftSection={<IconPlus size={14} />}
            disabled={!mayOperate}
            title={mayOperate ? undefined : 'Needs the role operator'}
            onClick={() => setEdited('new')}
          >
            New lending group
          </Button>
        }
      >
        <QueryBoundary query={groups}>
          <LendingTable
            groups={groups.data ?? []}
            selectedId={selected?.id ?? null}
            onSelect={select}
            onEdit={setEdited}
          />
        </QueryBoundary>
      </Panel>
      {selected && <LendingTurns key={selected.id} group={selected} />}
      {selected && selected.members.length > 0 && (
        <Panel title={`VNFs of ${selected.title}`}>
          <MemberTable members={selected.members} />
        </Panel>
      )}
      <Suspense fallback={null}>
        {edited && <LendingForm group={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
      </Suspense>
    </div>
  );
}
