import { Button, TextInput, Tooltip } from '@mantine/core';
import type { ChainNode } from '@orrery/contract';
import { IconCopy, IconTrash } from '@tabler/icons-react';
import { useMemo } from 'react';
import { canRename, renameNode, retitleNode, updateConfig } from '../../../editor-model/edit.js';
import { nodeLabel } from '../../../editor-model/graph.js';
import { problemsAt } from '../../../editor-model/problems.js';
import { useDerived, useDescriptor, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { SchemaFields } from '../../../shared/form/schema-fields.js';
import { TextEntry } from '../../../shared/form/text-entry.js';
import { NfIcon } from '../../../shared/ui/nf-icon.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import classes from './inspector.module.css';
import { configFields, shownConfig, storedConfig } from './nf-config.js';
import { ProblemNotes } from './problem-notes.js';
import { RunsOn } from './runs-on.js';
import { Section } from './section.js';

export function NodeInspector({ node, actions }: { readonly node: ChainNode; readonly actions: EditorActions }) {
  const { readOnly } = useEditorContext();
  const { problems, placed } = useDerived((derived) => derived);
  const descriptor = useDescriptor(node.kind === 'nf' ? node.nf : undefined);
  const instances = placed.get(node.id) ?? [];
  return (
    <>
      <header className={classes.head}>
        <NfIcon icon={node.kind === 'nf' ? descriptor?.icon : 'transfer'} />
        <h2>{nodeLabel(node)}</h2>
        {!readOnly && (
          <span className={classes.headActions}>
            <Tooltip label="Duplicate">
              <Button variant="default" size="compact-xs" onClick={actions.duplicateSelected} aria-label="Duplicate">
                <IconCopy size={13} aria-hidden />
              </Button>
            </Tooltip>
            <Tooltip label="Delete">
              <Button
                variant="default"
                size="compact-xs"
                onClick={() => actions.removeSelected(false)}
                aria-label="Delete"
              >
                <IconTrash size={13} aria-hidden />
              </Button>
            </Tooltip>
          </span>
        )}
      </header>
      {descriptor && <p className={classes.summary}>{descriptor.summary}</p>}
      <ProblemNotes problems={problems.byNode.get(node.id) ?? []} />
      <Section title="Node">
        <TitleInput node={node} />
        <IdInput key={node.id} node={node} />
      </Section>
      {instances.length > 0 && <RunsOn instances={instances} />}
      {node.kind === 'nf' && <NfConfig key={node.id} node={node} />}
      {node.kind === 'nf' && descriptor && descriptor.attributes.length > 0 && (
        <Section title="Tags packets with">
          <dl className={classes.facts}>
            {descriptor.attributes.map((attribute) => (
              <div key={attribute.name}>
                <dt>
                  <code>
                    {node.id}.{attribute.name}
                  </code>
                </dt>
                <dd>{attribute.values.map((each) => each.value).join(', ')}</dd>
              </div>
            ))}
          </dl>
        </Section>
      )}
    </>
  );
}

function TitleInput({ node }: { readonly node: ChainNode }) {
  const { store, readOnly } = useEditorContext();
  return (
    <TextInput
      label="Title"
      placeholder={node.id}
      maxLength={60}
      value={node.title ?? ''}
      disabled={readOnly}
      onChange={(event) => {
        const title = event.currentTarget.value;
        store.apply((definition) => retitleNode(definition, node.id, title), `title:${node.id}`);
      }}
    />
  );
}

/** The id changes on blur or Enter, because filters and samples depend on it. */
function IdInput({ node }: { readonly node: ChainNode }) {
  const { store, readOnly } = useEditorContext();
  const definition = useEditor((state) => state.definition);
  return (
    <TextEntry
      label="Id"
      description="Used in filters and in the names of measurements."
      value={node.id}
      disabled={readOnly}
      problemOf={(id) => {
        const verdict = canRename(definition, node.id, id);
        return verdict.ok ? null : verdict.reason;
      }}
      onCommit={(id) => {
        store.apply((before) => renameNode(before, node.id, id));
        store.select({ nodes: [id] });
      }}
    />
  );
}

function NfConfig({ node }: { readonly node: Extract<ChainNode, { kind: 'nf' }> }) {
  const { store, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  const descriptor = useDescriptor(node.nf);
  const fields = useMemo(() => (descriptor ? configFields(descriptor) : []), [descriptor]);
  const own = problems.byNode.get(node.id) ?? [];
  if (!descriptor) return null;
  const depthOf = (pointer: string) => pointer.split('/').length - 4;
  return (
    <Section title="Configuration">
      {fields.length === 0 && <p className={classes.note}>This NF has nothing to configure.</p>}
      <SchemaFields
        fields={fields}
        values={shownConfig(descriptor, node.config)}
        path={[]}
        form={{
          readOnly,
          onChange: (path, next) =>
            store.apply(
              (before) => updateConfig(before, node.id, storedConfig(descriptor, next)),
              `config:${node.id}:${path.join('/')}`,
            ),
          problemAt: (path) =>
            problemsAt(definition, own, node.id, path).find((each) => depthOf(each.pointer) === path.length)?.message ??
            null,
        }}
      />
    </Section>
  );
}
