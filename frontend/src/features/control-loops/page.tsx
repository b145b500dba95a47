import { IconRepeat } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useLoops } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useSubjectTitle } from '../../shared/api/subject-title.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { useNow } from '../../shared/stream/clock.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { EmptyState } from '../../shared/ui/states.js';
import { loopColumns } from './columns.js';
import { UpkeepPolicyButton } from './upkeep-policy.js';

export function Component() {
  const query = useLoops();
  const settings = useTableAddress();
  const now = useNow();
  const mayPause = useMay('operator');
  const titleOf = useSubjectTitle();
  const columns = useMemo(() => loopColumns(now, mayPause, titleOf), [now, mayPause, titleOf]);
  return (
    <>
      <PageHeader
        description="What the server decides automatically, why, and when it checks again."
        actions={<UpkeepPolicyButton readOnly={!mayPause} />}
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Control loops"
            query={query}
            settings={settings}
            cards={620}
            columns={columns}
            rows={query.data ?? []}
            rowKey={({ id }) => id}
            empty={<EmptyState icon={IconRepeat} title="The server runs no control loops" />}
          />
        </Panel>
      </PageBody>
    </>
  );
}
