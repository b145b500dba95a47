import { useMediaQuery } from '@mantine/hooks';
import type { Operation } from '@orrery/contract';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { parseSelection, pruneSelection, selectionText } from '../../editor-model/graph.js';
import { planPath } from '../../shared/api/chains.js';
import { useOperations } from '../../shared/api/queries.js';
import { ConflictNotice } from '../../shared/chain-draft/conflict-notice.js';
import { useEditor, useEditorContext } from '../../shared/chain-draft/context.js';
import { useSaver } from '../../shared/chain-draft/saver-context.js';
import { useDocumentTitle } from '../../shared/page/page-header.js';
import { ConfirmDialog, type Question } from '../../shared/ui/confirm-dialog.js';
import { useRemembered } from '../../shared/ui/remembered.js';
import { LoadingRows } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { useClipboard } from './actions/use-clipboard.js';
import { refuse, useEditorActions } from './actions/use-editor-actions.js';
import { useEditorCommands } from './actions/use-editor-commands.js';
import { useHindrance } from './actions/use-hindrance.js';
import { VIEWS, type View } from './actions/views.js';
import { Canvas } from './canvas/canvas.js';
import { Palette } from './canvas/palette.js';
import { QuickAdd } from './canvas/quick-add.js';
import { DOCK_TABS, Dock } from './dock/dock.js';
import { EditorHeader } from './header/editor-header.js';
import { Inspector } from './inspector/inspector.js';
import classes from './workbench.module.css';
import { dropText } from './yaml/kept-text.js';

const YamlPane = lazy(() => import('./yaml/yaml-pane.js'));

/** The editor's frame: header, palette, canvas and text, inspector, dock. */
export function Workbench() {
  const { chain, store } = useEditorContext();
  const title = useEditor((state) => state.definition.title);
  const selected = useEditor(({ selection }) => selection.nodes.length + selection.edges.length > 0);
  const actions = useEditorActions();
  const [viewParam, setViewParam] = useUrlParam('view');
  const view = VIEWS.find((each) => each === viewParam) ?? 'canvas';
  const [question, setQuestion] = useState<Question | null>(null);
  const setView = (next: View) => {
    const { unapplied } = store.getState();
    const go = () => setViewParam(next === 'canvas' ? null : next);
    if (next !== 'canvas' || unapplied === null) go();
    else
      setQuestion({
        title: 'Discard the text?',
        message: `It is not applied: ${unapplied}. The canvas shows the chain as it was before the error.`,
        confirm: 'Discard the text',
        run: () => {
          dropText(chain.id);
          go();
        },
      });
  };
  const [tabParam, setTab] = useUrlParam('panel');
  const tab = DOCK_TABS.find((each) => each === tabParam) ?? null;
  useSelectionInUrl();
  const [chainOpen, setChainOpen] = useState(false);
  const wide = useMediaQuery('(min-width: 1180px)', true, { getInitialValueInEffect: false });
  const operation = useLatestOperation(chain.id);
  useDocumentTitle(title);
  useClipboard(actions);
  const hindrance = useHindrance();
  const saver = useSaver();
  const navigate = useNavigate();
  const plan = async () => {
    if (hindrance) refuse(hindrance);
    else if (await saver.flush()) await navigate(planPath(chain.id));
    else refuse('The draft is not saved yet, so it cannot be planned.');
  };
  const [paletteOpen, togglePalette] = useRemembered('editor.palette', true);
  const [inspectorOpen, toggleInspector] = useRemembered('editor.inspector', true);
  const settings = wide
    ? { open: inspectorOpen, toggle: toggleInspector }
    : { open: chainOpen, toggle: () => setChainOpen(!chainOpen) };
  const palette = { open: paletteOpen, toggle: togglePalette };
  useEditorCommands({ actions, view, setView, plan: () => void plan(), palette, toggleSettings: settings.toggle });

  useNewOperation(operation, () => setTab('operation'));

  // The size of the canvas depends on the view and the dock. A chain that was fully in view stays in view.
  const docked = tab !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the size changes
  useEffect(() => {
    const frame = requestAnimationFrame(actions.refit);
    return () => cancelAnimationFrame(frame);
  }, [view, docked, paletteOpen, inspectorOpen]);

  const inspector = wide ? inspectorOpen : selected || chainOpen;
  const hasPalette = view !== 'yaml' && paletteOpen;
  return (
    <div className={classes.workbench} data-inspector={inspector || undefined} data-palette={hasPalette || undefined}>
      <EditorHeader
        actions={actions}
        view={view}
        setView={setView}
        plan={() => void plan()}
        showTab={setTab}
        palette={view === 'yaml' ? null : palette}
        inspector={settings}
      />
      <ConflictNotice />
      <div className={classes.stage}>
        {hasPalette && <Palette actions={actions} />}
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
      <Dock tab={tab} setTab={setTab} operation={operation ?? null} />
      <QuickAdd actions={actions} />
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
    </div>
  );
}

/** Keeps the selection in the URL, and restores it from the URL when the page opens. */
function useSelectionInUrl(): void {
  const { store } = useEditorContext();
  const [selected, setSelected] = useUrlParam('select');
  const opened = useRef(selected);
  const latest = useRef(setSelected);
  useEffect(() => {
    latest.current = setSelected;
  });
  useEffect(() => {
    const selection = parseSelection(opened.current);
    if (selection) {
      store.select(pruneSelection(store.getState().definition, selection));
      store.setState({ reveal: { node: selection.nodes[0], edge: selection.edges[0], at: Date.now() } });
    }
    return store.subscribe((state, before) => {
      if (state.selection !== before.selection) latest.current(selectionText(state.selection) || null);
    });
  }, [store]);
}

/** The newest operation on the chain; undefined until the server has answered. */
function useLatestOperation(chainId: string): Operation | null | undefined {
  const { data } = useOperations();
  return data && (data.items.find((operation) => operation.subject === chainId) ?? null);
}

/** Calls back once for each operation that begins while the page is open. */
function useNewOperation(operation: Operation | null | undefined, onBegin: () => void): void {
  const known = useRef<string | null | undefined>(undefined);
  const latest = useRef(onBegin);
  useEffect(() => {
    latest.current = onBegin;
  });
  useEffect(() => {
    if (operation === undefined) return;
    const id = operation?.id ?? null;
    if (known.current !== undefined && id !== null && id !== known.current) latest.current();
    known.current = id;
  }, [operation]);
}
