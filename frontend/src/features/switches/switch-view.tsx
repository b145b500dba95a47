import { Tabs } from '@mantine/core';
import type { SwitchState } from '@orrery/contract';
import { Panel } from '../../shared/page/page-header.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { useSetUrlParams, useUrlParam } from '../../shared/ui/url-state.js';
import { Abilities } from './abilities.js';
import { EntryTable } from './entry-table.js';
import { RuleTable } from './rule-table.js';

const TABS = { rules: 'Rules', entries: 'Entries', abilities: 'Abilities and ports' } as const;
type Tab = keyof typeof TABS;

/** One switch: rules and entries with their counters, and what it can do. */
export function SwitchView({ state }: { readonly state: SwitchState }) {
  const [shown, show] = useUrlParam('view');
  const setParams = useSetUrlParams();
  const tab: Tab = shown in TABS ? (shown as Tab) : 'rules';
  const views: Readonly<Record<Tab, () => React.ReactNode>> = {
    rules: () => <RuleTable switchId={state.id} onSelect={(rule) => setParams({ rule, view: 'entries' })} />,
    entries: () => <EntryTable switchId={state.id} />,
    abilities: () => <Abilities state={state} />,
  };
  const counted = state.counted_ms !== null && (
    <span className="muted">
      counted <RelativeTime t_ms={state.counted_ms} />
    </span>
  );
  return (
    <Panel title={state.id} actions={counted}>
      <Tabs value={tab} onChange={(next) => show(next === 'rules' ? null : next)} keepMounted={false}>
        <Tabs.List aria-label={`Views of ${state.id}`}>
          {Object.entries(TABS).map(([each, title]) => (
            <Tabs.Tab key={each} value={each}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          {views[tab]()}
        </Tabs.Panel>
      </Tabs>
    </Panel>
  );
}
