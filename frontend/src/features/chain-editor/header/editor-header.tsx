import { Button, SegmentedControl } from '@mantine/core';
import {
  IconAdjustmentsHorizontal,
  IconArrowBackUp,
  IconArrowForwardUp,
  IconChevronRight,
  IconLayoutDistributeHorizontal,
  IconLayoutSidebar,
  IconMap2,
} from '@tabler/icons-react';
import { Link } from 'react-router';
import { useStore } from 'zustand';
import { useMay } from '../../../shared/api/session.js';
import { ChainState } from '../../../shared/chain/chain-state.js';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import { useHindrance } from '../actions/use-hindrance.js';
import type { View } from '../actions/views.js';
import type { DockTab } from '../dock/dock.js';
import { DeployButton } from './deploy-button.js';
import classes from './editor-header.module.css';
import { MoreMenu } from './more-menu.js';
import { SaveState } from './save-state.js';
import { SendTraffic } from './send-traffic.js';
import { Tool } from './tool.js';
import { VersionText } from './version-text.js';

interface EditorHeaderProps {
  readonly actions: EditorActions;
  readonly view: View;
  readonly setView: (view: View) => void;
  readonly plan: () => void;
  readonly showTab: (tab: DockTab) => void;
  /** The panels at the sides of the canvas; null where there is none. */
  readonly palette: SidePanel | null;
  readonly inspector: SidePanel;
}

interface SidePanel {
  readonly open: boolean;
  readonly toggle: () => void;
}

export function EditorHeader({ actions, view, setView, plan, showTab, palette, inspector }: EditorHeaderProps) {
  const { store, chain, readOnly } = useEditorContext();
  const title = useEditor((state) => state.definition.title);
  const mayOperate = useMay('operator');
  const hindrance = useHindrance();
  const canUndo = useStore(store.temporal, (state) => state.pastStates.length > 0);
  const canRedo = useStore(store.temporal, (state) => state.futureStates.length > 0);
  return (
    <header className={classes.header}>
      <div className={classes.title}>
        <nav aria-label="Breadcrumb" className={classes.crumbs}>
          <Link to="/chains">Chains</Link>
          <IconChevronRight size={12} aria-hidden />
          <h1 id="page-title" tabIndex={-1}>
            {title}
          </h1>
        </nav>
        <span className={classes.states}>
          <ChainState chainId={chain.id} state={chain.deployment_state} />
          <VersionText />
          <SaveState />
        </span>
      </div>
      <div className={classes.tools} role="toolbar" aria-label="Editing">
        <Tool label="Undo (Ctrl+Z)" disabled={!canUndo || readOnly} onClick={store.undo} icon={IconArrowBackUp} />
        <Tool
          label="Redo (Ctrl+Shift+Z)"
          disabled={!canRedo || readOnly}
          onClick={store.redo}
          icon={IconArrowForwardUp}
        />
        <Tool
          label="Arrange (L)"
          disabled={readOnly}
          onClick={() => void actions.arrange()}
          icon={IconLayoutDistributeHorizontal}
        />
        <SegmentedControl
          aria-label="View"
          value={view}
          onChange={(value) => setView(value as View)}
          data={[
            { value: 'canvas', label: 'Canvas' },
            { value: 'split', label: 'Split' },
            { value: 'yaml', label: 'YAML' },
          ]}
        />
        {palette && (
          <Tool label="Palette (K)" expanded={palette.open} onClick={palette.toggle} icon={IconLayoutSidebar} />
        )}
        <Tool
          label="Chain settings (O)"
          expanded={inspector.open}
          onClick={inspector.toggle}
          icon={IconAdjustmentsHorizontal}
        />
        <MoreMenu showTab={showTab} />
        <Button
          variant="default"
          leftSection={<IconMap2 size={14} aria-hidden />}
          disabled={!mayOperate || hindrance !== null}
          title={mayOperate ? (hindrance ?? undefined) : 'Planning needs the role operator.'}
          onClick={plan}
        >
          Plan
        </Button>
        <SendTraffic />
        <DeployButton showTab={showTab} />
      </div>
    </header>
  );
}
