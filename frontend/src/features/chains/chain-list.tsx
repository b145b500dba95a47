import { ActionIcon, Button, Menu, TextInput } from '@mantine/core';
import type { Pipeline } from '@orrery/contract';
import {
  IconCopy,
  IconDots,
  IconHierarchy2,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlus,
  IconSearch,
  IconTrash,
} from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { usePipelines } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useWantSamples } from '../../shared/stream/hooks.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import { useCommands } from '../../shared/ui/commands.js';
import { PageBody, PageHeader, Panel } from '../../shared/ui/page-header.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './chain-list.module.css';
import { filterTermsText } from './class-text.js';
import { ConfirmDialog, type Question } from './confirm-dialog.js';
import { STATE_WORDS } from './state-words.js';
import { useChainActions } from './use-chain-actions.js';

const NewChain = lazy(() => import('./new-chain.js'));

export function ChainList() {
  const pipelines = usePipelines();
  const mayDesign = useMay('designer');
  const [query, setQuery] = useState('');
  const [creating, setCreating] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  useWantSamples(['pipeline/']);
  useCommands(
    mayDesign
      ? [{ id: 'chains.new', title: 'New chain', group: 'Chains', keys: 'n', run: () => setCreating(true) }]
      : [],
  );
  const all = pipelines.data ?? [];
  const found = all.filter(({ draft }) =>
    `${draft.title} ${draft.name} ${draft.description}`.toLowerCase().includes(query.trim().toLowerCase()),
  );
  const newButton = mayDesign && (
    <Button leftSection={<IconPlus size={14} aria-hidden />} onClick={() => setCreating(true)}>
      New chain
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Chains"
        description="Service chains: whose traffic passes which network functions, in which order."
        actions={newButton}
      >
        {all.length > 0 && (
          <TextInput
            type="search"
            aria-label="Search chains"
            placeholder="Search chains"
            leftSection={<IconSearch size={14} aria-hidden />}
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
        )}
      </PageHeader>
      <PageBody>
        <Panel flush>
          <QueryBoundary query={pipelines}>
            {all.length === 0 ? (
              <EmptyState icon={IconHierarchy2} title="No chains yet" action={newButton}>
                Start from a template and see it run in the twin a few seconds later, or draw your own.
              </EmptyState>
            ) : (
              <ChainTable pipelines={found} ask={setQuestion} />
            )}
            {all.length > 0 && found.length === 0 && (
              <EmptyState title={`No chain matches “${query}”`}>
                Titles, names and descriptions are searched.
              </EmptyState>
            )}
          </QueryBoundary>
        </Panel>
      </PageBody>
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
      {creating && (
        <Suspense fallback={null}>
          <NewChain names={new Set(all.map(({ draft }) => draft.name))} onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </>
  );
}

interface ChainTableProps {
  readonly pipelines: readonly Pipeline[];
  readonly ask: (question: Question) => void;
}

function ChainTable({ pipelines, ask }: ChainTableProps) {
  if (pipelines.length === 0) return null;
  return (
    <table className="table" aria-label="Chains">
      <thead>
        <tr>
          <th>Chain</th>
          <th>Traffic class</th>
          <th>State</th>
          <th>Version</th>
          <th>Rate</th>
          <th>Objectives</th>
          <th className={classes.changed}>Changed</th>
          <th>
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {pipelines.map((pipeline) => (
          <ChainRow key={pipeline.id} pipeline={pipeline} ask={ask} />
        ))}
      </tbody>
    </table>
  );
}

function countText({ nodes }: Pipeline['draft']): string {
  const count = nodes.filter((node) => node.kind === 'nf').length;
  return count === 1 ? '1 NF' : `${count} NFs`;
}

function ChainRow({ pipeline, ask }: { readonly pipeline: Pipeline; readonly ask: ChainTableProps['ask'] }) {
  const { draft } = pipeline;
  const newest = pipeline.versions.reduce((most, { version }) => Math.max(most, version), 0);
  const active = pipeline.deployment_state !== 'none';
  return (
    <tr data-chain={draft.name}>
      <td className={classes.name}>
        <Link to={chainPath(pipeline.id)}>{draft.title}</Link>
        <span className="muted">
          {draft.name} · {countText(draft)}
        </span>
      </td>
      <td className={classes.class}>
        <span>from {draft.traffic_class.from.join(', ')}</span>
        <span className="muted">{filterTermsText(draft.traffic_class.match) || 'all traffic'}</span>
      </td>
      <td>
        <StatusBadge state={pipeline.deployment_state} label={STATE_WORDS[pipeline.deployment_state]} />
      </td>
      <td className={classes.version}>
        <span>
          {pipeline.deployed_version ? `v${pipeline.deployed_version} deployed` : newest ? `v${newest}` : 'draft'}
        </span>
        {pipeline.draft_differs && newest > 0 && <span className="muted">draft has changes</span>}
      </td>
      <td>
        {active ? (
          <span className={classes.rate}>
            <Sparkline
              sampleKey={`pipeline/${pipeline.id}/pps`}
              quantity="pps"
              label={`${draft.title}, packets a second`}
            />
            <LiveRate sampleKey={`pipeline/${pipeline.id}/pps`} quantity="pps" />
          </span>
        ) : (
          <span className="muted">–</span>
        )}
      </td>
      <td>
        <SloSummary pipeline={pipeline} />
      </td>
      <td className={`muted ${classes.changed}`}>
        <RelativeTime t_ms={pipeline.updated_ms} />
      </td>
      <td>
        <RowActions pipeline={pipeline} ask={ask} />
      </td>
    </tr>
  );
}

function SloSummary({ pipeline }: { readonly pipeline: Pipeline }) {
  const { rows } = useSloRows();
  const count = pipeline.draft.slos.length;
  if (count === 0) return <span className="muted">none</span>;
  if (pipeline.deployed_version === null) return <span className="muted">{count} set</span>;
  const slos = rows.filter((slo) => slo.pipeline_id === pipeline.id);
  const violated = slos.filter(({ state }) => state === 'violated').length;
  const met = slos.filter(({ state }) => state === 'met').length;
  const [status, label]: [Status, string] =
    violated > 0
      ? ['failed', `${violated} of ${slos.length} violated`]
      : slos.length > 0 && met === slos.length
        ? ['healthy', met === 1 ? 'met' : `all ${met} met`]
        : ['stale', 'no data'];
  return <StatusBadge state={status} status={status} label={label} />;
}

function RowActions({ pipeline, ask }: { readonly pipeline: Pipeline; readonly ask: ChainTableProps['ask'] }) {
  const actions = useChainActions();
  const navigate = useNavigate();
  const { data: all } = usePipelines();
  const mayDesign = useMay('designer');
  const mayOperate = useMay('operator');
  const { draft } = pipeline;
  const active = pipeline.deployment_state !== 'none';

  const duplicate = async () => {
    const { instantiate } = await import('../../editor-model/templates.js');
    const names = new Set((all ?? []).map((each) => each.draft.name));
    const copy = await actions.create(instantiate(draft, `${draft.title} copy`.slice(0, 80), names));
    if (copy) void navigate(chainPath(copy.id));
  };
  return (
    <span className={classes.actions}>
      {mayOperate &&
        (active ? (
          <ActionIcon
            aria-label={`Undeploy ${draft.title}`}
            title="Undeploy"
            onClick={() =>
              ask({
                title: `Take ${draft.title} down?`,
                message: 'Its NFs stop and the traffic of its class passes untreated.',
                confirm: 'Undeploy',
                run: () => void actions.undeploy(pipeline.id),
              })
            }
          >
            <IconPlayerStop size={16} stroke={1.6} aria-hidden />
          </ActionIcon>
        ) : (
          <ActionIcon
            aria-label={`Deploy ${draft.title}`}
            title="Deploy"
            onClick={() => void actions.deploy({ pipeline_id: pipeline.id })}
          >
            <IconPlayerPlay size={16} stroke={1.6} aria-hidden />
          </ActionIcon>
        ))}
      {mayDesign && (
        <Menu position="bottom-end" width={180}>
          <Menu.Target>
            <ActionIcon aria-label={`More for ${draft.title}`}>
              <IconDots size={16} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => void duplicate()}>
              Duplicate
            </Menu.Item>
            <Menu.Item
              leftSection={<IconTrash size={14} />}
              color="red"
              disabled={active}
              onClick={() =>
                ask({
                  title: `Delete ${draft.title}?`,
                  message: 'The draft and every published version are deleted. This cannot be undone.',
                  confirm: 'Delete',
                  run: () => void actions.remove(pipeline.id),
                })
              }
            >
              {active ? 'Delete (undeploy first)' : 'Delete'}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
    </span>
  );
}
