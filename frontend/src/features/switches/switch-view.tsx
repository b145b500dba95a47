import type { SwitchState } from '@orrery/contract';
import type { ReactNode } from 'react';
import { Panel } from '../../shared/page/page-header.js';
import { PageTabs } from '../../shared/page/page-tabs.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { useSetUrlParams, useUrlParam } from '../../shared/ui/url-state.js';
import { Abilities } from './abilities.js';
import { EntryTable } from './entry-table.js';
import { ProgramView } from './p4/program-view.js';
import { PacketTraces } from './packet-traces.js';
import { RuleTable } from './rule-table.js';

/** One switch: rules and entries with their counters, and what it can do. */
export function SwitchView({ state }: { readonly state: SwitchState }) {
  const [wanted, show] = useUrlParam('view');
  const setParams = useSetUrlParams();
  const views: Record<string, { title: string; view: ReactNode }> = {
    ...(state.program === undefined
      ? {
          rules: {
            title: 'Rules',
            view: (
              <RuleTable
                switchId={state.id}
                driver={state.description?.driver}
                onSelect={(rule) => setParams({ rule, view: 'entries' })}
              />
            ),
          },
          entries: { title: 'Entries', view: <EntryTable switchId={state.id} /> },
        }
      : { program: { title: 'Program', view: <ProgramView state={state} name={state.program} /> } }),
    traces: { title: 'Packet traces', view: <PacketTraces state={state} /> },
    abilities: { title: 'Abilities and ports', view: <Abilities state={state} /> },
  };
  const first = state.program === undefined ? 'rules' : 'program';
  const counted = state.counted_ms !== null && (
    <span className="muted">
      counted <RelativeTime t_ms={state.counted_ms} />
    </span>
  );
  return (
    <Panel title={state.id} actions={counted}>
      <PageTabs
        label={`Views of ${state.id}`}
        tabs={views}
        shown={wanted in views ? wanted : first}
        onShow={(next) => show(next === first ? null : next)}
      />
    </Panel>
  );
}
