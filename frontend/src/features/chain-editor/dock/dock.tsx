import { ActionIcon } from '@mantine/core';
import type { Operation } from '@orrery/contract';
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { type KeyboardEvent, lazy, Suspense } from 'react';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { operationNote } from '../../../shared/format/operation.js';
import { LoadingRows } from '../../../shared/ui/states.js';
import { OperationPanel } from '../live/operation-panel.js';
import classes from './dock.module.css';
import { ProblemsPanel } from './problems-panel.js';
import { VersionsPanel } from './versions-panel.js';

const LivePanel = lazy(() => import('../live/live-panel.js'));

export const DOCK_TABS = ['problems', 'live', 'versions', 'operation'] as const;
export type DockTab = (typeof DOCK_TABS)[number];

interface DockProps {
  readonly tab: DockTab | null;
  readonly setTab: (tab: DockTab | null) => void;
  readonly operation: Operation | null;
}

/** Lists below the canvas; folded to its tabs when none is open. */
export function Dock({ tab, setTab, operation }: DockProps) {
  const { chain } = useEditorContext();
  const { problems, untouched, differences } = useDerived((derived) => derived);
  const tabs: { id: DockTab; title: string; note: string; tone?: string }[] = [
    {
      id: 'problems',
      title: 'Problems',
      note: problems.all.length > 0 ? `${problems.all.length}` : '',
      tone: untouched ? undefined : problems.errors > 0 ? 'error' : problems.warnings > 0 ? 'warning' : undefined,
    },
    { id: 'live', title: 'Live', note: '' },
    { id: 'versions', title: 'Versions', note: differences.length > 0 ? `${differences.length} changed` : '' },
    { id: 'operation', title: 'Operation', note: operationNote(operation) },
  ];
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const now = tabs.findIndex((each) => each.id === tab);
    const next = tabs[(now + step + tabs.length) % tabs.length]!;
    setTab(next.id);
    document.getElementById(`dock-${next.id}`)?.focus();
  };
  return (
    <section className={classes.dock} aria-label="Panels" data-open={tab !== null || undefined}>
      <div className={classes.head}>
        <div className={classes.tabs} role="tablist" aria-label="Panels" onKeyDown={onKeyDown}>
          {tabs.map(({ id, title, note, tone }, index) => (
            <button
              key={id}
              id={`dock-${id}`}
              type="button"
              role="tab"
              aria-selected={tab === id}
              aria-controls="dock-panel"
              tabIndex={tab === id || (tab === null && index === 0) ? 0 : -1}
              className={classes.tab}
              onClick={() => setTab(tab === id ? null : id)}
            >
              {title}
              {note && (
                <span className={classes.note} data-tone={tone}>
                  {note}
                </span>
              )}
            </button>
          ))}
        </div>
        <ActionIcon
          className={classes.fold}
          aria-label={tab ? 'Fold the details' : 'Unfold the details'}
          onClick={() => setTab(tab ? null : chain.deployed_version ? 'live' : 'problems')}
        >
          {tab ? <IconChevronDown size={14} aria-hidden /> : <IconChevronUp size={14} aria-hidden />}
        </ActionIcon>
      </div>
      {tab && (
        <div id="dock-panel" role="tabpanel" aria-labelledby={`dock-${tab}`} className={classes.panel}>
          {tab === 'problems' && <ProblemsPanel />}
          {tab === 'live' && (
            <Suspense fallback={<LoadingRows rows={3} />}>
              <LivePanel />
            </Suspense>
          )}
          {tab === 'versions' && <VersionsPanel />}
          {tab === 'operation' && <OperationPanel operation={operation} />}
        </div>
      )}
    </section>
  );
}
