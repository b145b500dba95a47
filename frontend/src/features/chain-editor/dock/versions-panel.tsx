import { Button, SegmentedControl, TextInput } from '@mantine/core';
import type { ChainVersion } from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { type Difference, diffDefinitions } from '../../../editor-model/diff.js';
import { withPositions } from '../../../editor-model/edit.js';
import { call } from '../../../shared/api/client.js';
import { useChainVersions } from '../../../shared/api/queries.js';
import { useMay } from '../../../shared/api/session.js';
import { useDerived, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { useSaver } from '../../../shared/chain-draft/saver-context.js';
import { notifyError } from '../../../shared/ui/notify.js';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { EmptyState, QueryBoundary } from '../../../shared/ui/states.js';
import { refuse } from '../actions/use-editor-actions.js';
import classes from './versions-panel.module.css';

/** Published versions, and how the draft differs from one of them. */
export function VersionsPanel() {
  const { store, chain, readOnly } = useEditorContext();
  const versions = useChainVersions(chain.id);
  const items = versions.data?.items ?? [];
  const [chosen, setChosen] = useState<number | null>(null);
  const version =
    items.find((each) => each.version === chosen) ??
    items.find((each) => each.version === chain.deployed_version) ??
    items[0];
  return (
    <div className={classes.panel}>
      <div className={classes.versions}>
        <PublishForm />
        <QueryBoundary query={versions} rows={2}>
          <ul className={classes.list} aria-label="Published versions">
            {items.map((each) => (
              <li key={each.version} data-chosen={each === version || undefined}>
                <button type="button" className={classes.version} onClick={() => setChosen(each.version)}>
                  <strong>v{each.version}</strong>
                  {each.version === chain.deployed_version && <span className={classes.deployed}>deployed</span>}
                  <span className={classes.note}>{each.note || 'no note'}</span>
                  <span className="muted">
                    {each.by}, <RelativeTime t_ms={each.at_ms} />
                  </span>
                </button>
                {!readOnly && (
                  <Button
                    variant="subtle"
                    size="compact-xs"
                    onClick={() => store.apply((before) => withPositions({ ...each.definition, name: before.name }))}
                  >
                    Restore
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </QueryBoundary>
      </div>
      <Changes version={version} />
    </div>
  );
}

function PublishForm() {
  const { chain } = useEditorContext();
  const errors = useDerived((derived) => derived.problems.errors);
  const saver = useSaver();
  const queries = useQueryClient();
  const mayDesign = useMay('designer');
  const [note, setNote] = useState('');
  const [busy, setBusy] = useState(false);
  if (!mayDesign) return null;
  const publish = async () => {
    setBusy(true);
    try {
      if (await saver.flush()) {
        await call(
          'publishChain',
          { params: { id: chain.id }, body: { note } },
          { idempotencyKey: crypto.randomUUID() },
        );
        setNote('');
        await queries.invalidateQueries({ queryKey: ['chains'] });
      } else refuse('The draft is not saved yet, so it cannot be published.');
    } catch (error) {
      notifyError('Not published', error);
    }
    setBusy(false);
  };
  return (
    <form
      className={classes.publish}
      onSubmit={(event) => {
        event.preventDefault();
        void publish();
      }}
    >
      <TextInput
        aria-label="Note of the version"
        placeholder="What changed"
        maxLength={200}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <Button type="submit" variant="default" loading={busy} disabled={errors > 0}>
        Publish
      </Button>
    </form>
  );
}

const SIGNS = { added: '+', removed: '−', changed: '~' } as const;

function Changes({ version }: { readonly version: ChainVersion | undefined }) {
  const { store } = useEditorContext();
  const definition = useEditor((state) => state.definition);
  const [filter, setFilter] = useState('all');
  const differences = useMemo(
    () => (version ? diffDefinitions(version.definition, definition) : []),
    [version, definition],
  );
  if (!version) {
    return <EmptyState title="Nothing is published yet">Deploying publishes the draft too.</EmptyState>;
  }
  const shown = differences.filter((each) => filter === 'all' || each.change === filter);
  const jump = ({ part, id, change }: Difference) => {
    if (change === 'removed') return;
    const target = part === 'node' ? { node: id } : part === 'edge' ? { edge: id } : null;
    store.select(part === 'node' ? { nodes: [id] } : part === 'edge' ? { edges: [id] } : {});
    if (target) store.setState({ reveal: { ...target, at: Date.now() } });
  };
  return (
    <div className={classes.changes}>
      <div className={classes.changesHead}>
        <strong>Draft against v{version.version}</strong>
        <SegmentedControl
          aria-label="Kind of change"
          value={filter}
          onChange={setFilter}
          data={[
            { value: 'all', label: 'All' },
            { value: 'added', label: 'Added' },
            { value: 'changed', label: 'Changed' },
            { value: 'removed', label: 'Removed' },
          ]}
        />
      </div>
      {shown.length === 0 && (
        <p className="muted">{differences.length === 0 ? 'No difference.' : 'No difference of this kind.'}</p>
      )}
      <ul className={classes.list} aria-label="Changes">
        {shown.map((each) => (
          <li key={`${each.part}${each.id}${each.change}`}>
            <button type="button" className={classes.change} data-change={each.change} onClick={() => jump(each)}>
              <span className={classes.sign}>{SIGNS[each.change]}</span>
              <span className="sr-only">{each.change}</span>
              <span className={classes.part}>{each.part === 'edge' ? 'connection' : each.part}</span>
              {each.summary}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
