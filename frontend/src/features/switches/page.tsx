import { IconSwitch2 } from '@tabler/icons-react';
import { useSwitches } from '../../shared/api/queries.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { switchHealth } from '../../shared/switches/switch-text.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useSetUrlParams, useUrlParam } from '../../shared/ui/url-state.js';
import { P4Programs } from './p4/programs.js';
import { SWITCH_COLUMNS } from './switch-columns.js';
import { SwitchView } from './switch-view.js';

export function Component() {
  const query = useSwitches();
  const settings = useTableAddress();
  const [chosen] = useUrlParam('switch');
  const setParams = useSetUrlParams();
  const switches = query.data ?? [];
  const selected = switches.find(({ id }) => id === chosen) ?? switches[0];
  const troubled = switches.filter((each) => switchHealth(each).status === 'failed').length;
  return (
    <>
      <PageHeader
        description={
          troubled > 0 ? (
            <LastKnown word=" Stale.">
              {`${troubled} of ${switches.length} switches ${troubled === 1 ? 'needs' : 'need'} attention.`}
            </LastKnown>
          ) : (
            'Planned and installed table entries, and what each rule carries.'
          )
        }
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Switches"
            query={query}
            settings={settings}
            cards={620}
            columns={SWITCH_COLUMNS}
            rows={switches}
            rowKey={({ id }) => id}
            selectedKey={selected?.id}
            onSelect={({ id }) => setParams({ switch: id, rule: null })}
            empty={
              <EmptyState icon={IconSwitch2} title="No switches">
                The infrastructure has none yet.
              </EmptyState>
            }
          />
        </Panel>
        {selected && <SwitchView key={selected.id} state={selected} />}
        <P4Programs />
      </PageBody>
    </>
  );
}
