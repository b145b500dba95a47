import { ActionIcon, Button, Menu, SegmentedControl, Tooltip } from '@mantine/core';
import {
  IconAdjustmentsHorizontal,
  IconArrowBackUp,
  IconArrowForwardUp,
  IconChevronRight,
  IconDots,
  IconDownload,
  IconHistory,
  IconLayoutDistributeHorizontal,
  IconMap2,
  IconPlayerStop,
  IconRocket,
  IconUpload,
} from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { Link } from 'react-router';
import { useStore } from 'zustand';
import { withPositions } from '../../../editor-model/edit.js';
import { fromYaml, toYaml } from '../../../editor-model/pipeline-yaml.js';
import { useMay } from '../../../shared/api/session.js';
import { download } from '../../../shared/charts/csv.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { ConfirmDialog, type Question } from '../confirm-dialog.js';
import { STATE_WORDS } from '../state-words.js';
import { useChainActions } from '../use-chain-actions.js';
import { useDerived, useEditor, useEditorContext } from './context.js';
import type { DockTab } from './dock.js';
import classes from './editor-header.module.css';
import { SaveState } from './save-state.js';
import { useSaver } from './saver-context.js';
import { type EditorActions, refuse } from './use-editor-actions.js';
import { useHindrance } from './use-hindrance.js';
import type { View } from './views.js';

interface EditorHeaderProps {
  readonly actions: EditorActions;
  readonly view: View;
  readonly setView: (view: View) => void;
  readonly plan: () => void;
  readonly showTab: (tab: DockTab) => void;
  /** Where the inspector is not always there: whether the chain's own settings are open. */
  readonly inspector: { readonly open: boolean; readonly toggle: () => void } | null;
}

export function EditorHeader({ actions, view, setView, plan, showTab, inspector }: EditorHeaderProps) {
  const { store, pipeline, readOnly } = useEditorContext();
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
          <StatusBadge state={pipeline.deployment_state} label={STATE_WORDS[pipeline.deployment_state]} />
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
        {inspector && (
          <Tool
            label="Chain settings"
            pressed={inspector.open}
            onClick={inspector.toggle}
            icon={IconAdjustmentsHorizontal}
          />
        )}
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
        <DeployButton showTab={showTab} />
      </div>
    </header>
  );
}

interface ToolProps {
  readonly label: string;
  readonly icon: typeof IconMap2;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
}

function Tool({ label, icon: Icon, onClick, disabled, pressed }: ToolProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        aria-label={label.replace(/ \(.*\)$/, '')}
        aria-pressed={pressed}
        size={28}
        disabled={disabled}
        variant={pressed ? 'light' : 'subtle'}
        onClick={onClick}
      >
        <Icon size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

function VersionText() {
  const { pipeline } = useEditorContext();
  const differences = useDerived((derived) => derived.differences);
  const newest = pipeline.versions.reduce((most, { version }) => Math.max(most, version), 0);
  const deployed = pipeline.deployed_version;
  const text = deployed ? `v${deployed}` : newest ? `v${newest} published` : 'draft';
  const changes = deployed && differences.length > 0 ? `, ${differences.length} undeployed` : '';
  return <span className={classes.version}>{text + changes}</span>;
}

function MoreMenu({ showTab }: { readonly showTab: (tab: DockTab) => void }) {
  const { store, pipeline, readOnly } = useEditorContext();
  const mayOperate = useMay('operator');
  const chain = useChainActions();
  const [question, setQuestion] = useState<Question | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const active = pipeline.deployment_state !== 'none';

  const save = () => {
    const { definition } = store.getState();
    download(`${definition.name}.yaml`, toYaml(definition), 'application/yaml');
  };
  const load = async (chosen: File | undefined) => {
    if (!chosen) return;
    const result = fromYaml(await chosen.text());
    if (!result.ok) {
      const [first] = result.problems;
      refuse(`${chosen.name}, line ${first?.line}: ${first?.message}`);
      return;
    }
    // The chain keeps its own name: two chains of one name cannot be.
    store.apply((before) => withPositions({ ...result.definition, name: before.name }));
  };
  return (
    <>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <ActionIcon aria-label="More" size={28}>
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconHistory size={14} />} onClick={() => showTab('versions')}>
            Versions
          </Menu.Item>
          <Menu.Item leftSection={<IconDownload size={14} />} onClick={save}>
            Export as YAML
          </Menu.Item>
          <Menu.Item leftSection={<IconUpload size={14} />} disabled={readOnly} onClick={() => file.current?.click()}>
            Import YAML or JSON
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item
            color="red"
            leftSection={<IconPlayerStop size={14} />}
            disabled={!active || !mayOperate}
            onClick={() =>
              setQuestion({
                title: `Take ${pipeline.draft.title} down?`,
                message: 'Its NFs stop and the traffic of its class passes untreated.',
                confirm: 'Undeploy',
                run: () => void chain.undeploy(pipeline.id),
              })
            }
          >
            Undeploy
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <input
        ref={file}
        type="file"
        accept=".yaml,.yml,.json"
        hidden
        aria-label="Chain file"
        onChange={(event) => {
          void load(event.currentTarget.files?.[0]);
          event.currentTarget.value = '';
        }}
      />
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
    </>
  );
}

function DeployButton({ showTab }: { readonly showTab: (tab: DockTab) => void }) {
  const saver = useSaver();
  const { pipeline } = useEditorContext();
  const { problems, differences, deployed } = useDerived((derived) => derived);
  const mayOperate = useMay('operator');
  const hindrance = useHindrance();
  const chain = useChainActions();
  const [busy, setBusy] = useState(false);
  const working = pipeline.deployment_state === 'deploying' || pipeline.deployment_state === 'undeploying';
  const unchanged = deployed !== null && differences.length === 0 && pipeline.deployment_state === 'running';
  const why = !mayOperate
    ? 'Deploying needs the role operator.'
    : (hindrance ??
      (problems.errors > 0
        ? `${problems.errors === 1 ? 'One error has' : `${problems.errors} errors have`} to be mended first.`
        : unchanged
          ? 'What you see is what runs.'
          : null));
  const deploy = async () => {
    setBusy(true);
    if (await saver.flush()) await chain.deploy({ pipeline_id: pipeline.id });
    else refuse('The draft is not saved yet, so that it cannot be deployed.');
    setBusy(false);
  };
  return (
    <Tooltip label={why} disabled={why === null}>
      <Button
        leftSection={<IconRocket size={14} aria-hidden />}
        loading={busy || working}
        aria-disabled={why !== null || undefined}
        data-disabled={why !== null || undefined}
        onClick={() => {
          if (why === null) void deploy();
          else if (problems.errors > 0) showTab('problems');
        }}
      >
        {deployed && !unchanged ? 'Deploy changes' : 'Deploy'}
      </Button>
    </Tooltip>
  );
}
