import { useMediaQuery } from '@mantine/hooks';
import type { Operation } from '@orrery/contract';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useOperations } from '../../../shared/api/queries.js';
import { useDocumentTitle } from '../../../shared/ui/page-header.js';
import { LoadingRows } from '../../../shared/ui/states.js';
import { Inspector } from '../inspector/inspector.js';
import { Canvas } from './canvas.js';
import { ConflictNotice } from './conflict-notice.js';
import { useEditor, useEditorContext } from './context.js';
import { Dock, type DockTab } from './dock.js';
import { EditorHeader } from './editor-header.js';
import { Palette } from './palette.js';
import { QuickAdd } from './quick-add.js';
import { useClipboard } from './use-clipboard.js';
import { useEditorActions } from './use-editor-actions.js';
import { useEditorCommands } from './use-editor-commands.js';
import classes from './workbench.module.css';

const YamlPane = lazy(() => import('./yaml-pane.js'));
const PlanDrawer = lazy(() => import('../plan/plan-drawer.js'));

export type View = 'canvas' | 'split' | 'yaml';

/** The editor's frame: header, palette, canvas and text, inspector, dock. */
export function Workbench() {
  const { pipeline } = useEditorContext();
  const title = useEditor((state) => state.definition.title);
  const selected = useEditor(({ selection }) => selection.nodes.length + selection.edges.length > 0);
  const actions = useEditorActions();
  const [view, setView] = useState<View>('canvas');
  const [tab, setTab] = useState<DockTab | null>(null);
  const [planning, setPlanning] = useState(false);
  const [chainOpen, setChainOpen] = useState(false);
  const wide = useMediaQuery('(min-width: 1180px)', true, { getInitialValueInEffect: false });
  const operation = useLatestOperation(pipeline.id);
  useDocumentTitle(title);
  useClipboard(actions);
  useEditorCommands({ actions, view, setView, plan: () => setPlanning(true) });

  // The dock comes up by itself once for what the operator has just started.
  const shown = useRef<string | null>(operation?.id ?? null);
  useEffect(() => {
    if (!operation || operation.id === shown.current) return;
    shown.current = operation.id;
    setTab('operation');
  }, [operation]);

  // The canvas has another size in each view and above an open dock. A chain that can be seen whole stays whole.
  const docked = tab !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the size changes
  useEffect(() => {
    const frame = requestAnimationFrame(actions.refit);
    return () => cancelAnimationFrame(frame);
  }, [view, docked]);

  const inspector = wide || selected || chainOpen;
  return (
    <div className={classes.workbench} data-inspector={inspector || undefined} data-view={view}>
      <EditorHeader
        actions={actions}
        view={view}
        setView={setView}
        plan={() => setPlanning(true)}
        showTab={setTab}
        inspector={wide ? null : { open: chainOpen, toggle: () => setChainOpen(!chainOpen) }}
      />
      <ConflictNotice />
      <div className={classes.stage}>
        {view !== 'yaml' && <Palette actions={actions} />}
        <div className={classes.panes}>
          {view !== 'yaml' && (
            <section className={classes.canvas} aria-label="Canvas">
              <Canvas actions={actions} minimap={wide && view === 'canvas'} />
            </section>
          )}
          {view !== 'canvas' && (
            <section className={classes.yaml} aria-label="YAML">
              <Suspense fallback={<LoadingRows />}>
                <YamlPane />
              </Suspense>
            </section>
          )}
        </div>
        {inspector && <Inspector actions={actions} />}
      </div>
      <Dock tab={tab} setTab={setTab} operation={operation} />
      <QuickAdd actions={actions} />
      {planning && (
        <Suspense fallback={null}>
          <PlanDrawer onClose={() => setPlanning(false)} />
        </Suspense>
      )}
    </div>
  );
}

function useLatestOperation(pipelineId: string): Operation | null {
  const { data } = useOperations();
  return data?.items.find((operation) => operation.subject === pipelineId) ?? null;
}
